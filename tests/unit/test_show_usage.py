"""What ``show --usage`` and ``show --system-log`` print."""

import io

import msgspec
import pytest
from rich.console import Console

from halftrip.report.system_log import render_system_log
from halftrip.report.table import render
from halftrip.report.usage import render_usage
from halftrip.results.records import Notice, System
from harness import runs


def printed(view, run):
    console = Console(file=io.StringIO(), width=400, highlight=False)
    console.print(view(run))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def cells(lines, column):
    """The cells of a column of the first table, by its heading; the figures are under its end."""
    heading = next(line for line in lines if column in line)
    end = heading.index(column) + len(column)
    begin = len(lines[: lines.index(heading)]) + 3
    table = []
    for line in lines[begin:]:
        if not line:
            break
        table.append(line[:end].split()[-1] if line[:end].strip() else "")
    return table


SPINS = runs.usage(1.0, 0.0, voluntary=0)
WORKS = runs.usage(0.5, 0.375, waited=0.01, core={"others": 0.25, "hertz": 3.1e9, "joules": 12.5})


def test_each_end_of_a_row_has_a_line():
    run = runs.run(runs.measurement(size=1000, usage=(SPINS, WORKS)))
    lines = printed(render_usage, run)
    (initiator,) = (line for line in lines if "initiator 0" in line)
    (responder,) = (line for line in lines if "responder 1" in line)
    assert initiator.split()[-1] == "busy-poll"
    assert "busy-poll" not in responder
    assert initiator.split()[:3] == ["shm", "spin", "1000"]
    assert responder.split()[:2] == ["responder", "1"]
    assert cells(lines, " load") == ["100.0", "50.0"]
    assert cells(lines, "system") == ["0.0", "37.5"]
    assert cells(lines, "in kernel") == ["0.0", "75.0"]
    # Half a second, or a whole one, for 4000 round trips of 1000 bytes.
    assert cells(lines, " CPU") == ["125", "62.5"]
    assert cells(lines, "frequency") == ["-", "3.10"]
    assert cells(lines, "energy") == ["-", "12.5"]
    assert any(line.startswith("energy:") for line in lines)


def test_what_is_known_of_no_end_has_no_column():
    lines = printed(render_usage, runs.run(runs.measurement(usage=(SPINS, SPINS))))
    heading = " ".join(lines[1].split())
    for column in ("waited", "others", "stolen", "frequency", "instructions", "energy", "core"):
        assert column not in heading
    assert "load user system" in heading
    missing = "frequency GHz, instructions per cycle, energy J"
    assert f"not known here: core, waited, others, stolen, {missing}" in lines
    assert "all 0: major faults" in lines
    assert not any(line.startswith("energy:") for line in lines)


def test_repetitions_are_added_and_marked_samples_counted():
    run = runs.run(
        runs.measurement(usage=(WORKS, WORKS), blocks=[400], preemptions=[(2, 1)]),
        runs.measurement(usage=(WORKS, WORKS), repetition=1, blocks=[400], preemptions=[(0, 2)]),
    )
    lines = printed(render_usage, run)
    assert cells(lines, "elapsed") == ["2.00", "2.00"]
    assert cells(lines, "others") == ["25.0", "25.0"]
    assert cells(lines, "marked")[0] == "5"


def test_a_run_without_usage_or_log_says_so():
    (said,) = printed(render_usage, runs.run(runs.measurement()))
    assert said.startswith("no usage: ")
    (said,) = printed(render_system_log, runs.run(runs.measurement()))
    assert said == "no system log: this run has none; measure with --system-log"


CPU = {"user": 0.2, "nice": 0.1, "system": 0.1, "idle": 0.5, "iowait": 0.0, "irq": 0.0,
       "softirq": 0.1, "steal": 0.0}  # fmt: skip
TRAFFIC = {"packets_in": 1500, "packets_out": 20, "bytes_in": 3_000_000, "bytes_out": 40,
           "drops_in": 7, "drops_out": 0, "errors_in": 0, "errors_out": 0}  # fmt: skip


def system(**changes):
    values = {
        "host": "node1",
        "rank": 0,
        "phase": "case",
        "cases": [runs.measurement("tcp", 64).case],
        "repetitions": [0],
        "at": 1.5,
        "seconds": 2.0,
        "cpus": {"all": CPU, "0": CPU},
        "memory_used": 3 << 30,
        "counts": {"interrupts": 5000, "context_switches": 200, "tcp_retransmits": 3},
        "interfaces": {"lo": TRAFFIC, "ifb0": dict.fromkeys(TRAFFIC, 0)},
        "interrupts": {"lo": {"0": 1234, "1": 0}},
        "softnet": {"0": {"processed": 9, "dropped": 0, "squeezed": 1}},
    }
    return System(**(values | changes))


def idle(phase, **changes):
    return system(phase=phase, cases=[], repetitions=[], **changes)


def test_the_log_has_hosts_processors_and_interfaces():
    run = runs.run(systems=(idle("after", at=9.0), system(), idle("before", at=0.0)))
    lines = printed(render_system_log, run)
    assert lines[0] == "host node1"
    whats = [line.split()[2:5] for line in lines[5:8]]
    assert [what[:2] for what in whats] == [["-", "before,"], ["1", "tcp"], ["-", "after,"]]
    assert cells(lines, " load") == ["50.0"] * 3
    assert cells(lines, " user") == ["30.0"] * 3
    assert cells(lines, "softirq") == ["10.0"] * 3
    assert cells(lines, "interrupts") == ["2,500"] * 3
    assert cells(lines, "memory") == ["3,072"] * 3
    assert cells(lines, "TCP resent") == ["3"] * 3
    text = "\n".join(lines)
    assert "swap in" not in "\n".join(lines[:3])
    assert "not known here: from disk KiB, to disk KiB, swap in pages" in text
    assert "lo " in text
    assert "0: 1,234, 1: 0" in text
    processors = lines[lines.index("host node1: each processor") + 1 :]
    assert cells(processors, "squeezed") == ["1"] * 3
    interfaces = lines[lines.index("host node1: interfaces") :]
    (first, *_) = (line.split() for line in interfaces if " lo " in line)
    figures = first[first.index("lo") + 1 :]
    assert figures[:6] == ["1,500", "20", "3,000,000", "40", "1.50", "0.0000200"]


def test_cases_that_share_a_record_are_named():
    cases = [runs.measurement("tcp", size).case for size in (1, 2, 4, 8, 16)]
    run = runs.run(systems=(system(cases=cases), system(cases=cases[:2], at=5.0)))
    text = "\n".join(printed(render_system_log, run))
    assert "tcp spin 1, tcp spin 2, tcp spin 4, tcp spin 8, tcp spin 16 " in text
    assert "tcp spin 1, tcp spin 2 " in text


def test_hosts_are_told_apart_and_the_cost_is_said():
    end = msgspec.structs.replace(runs.run().end, logged=0.05)
    others = system(host="node2", rank=1), idle("after", host="node2", rank=1)
    run = runs.run(systems=(system(), idle("before"), *others), end=end)
    lines = printed(render_system_log, run)
    assert [line for line in lines if line in ("host node1", "host node2")] == [
        "host node1",
        "host node2",
    ]
    # Ten seconds, two of them of rest.
    assert lines[-1] == (
        "the log took 0.0500 s, 0.62 % of the run's 10.0 s without the 2.0 s of rest that belong "
        "to it"
    )


def test_hosts_of_the_same_name_are_told_apart_by_their_ranks():
    lines = printed(render_system_log, runs.run(systems=(system(), system(rank=1))))
    assert "host node1 (rank 0)" in lines
    assert "host node1 (rank 1): interfaces" in lines


def test_launches_are_numbered_where_there_are_several():
    one = printed(render_system_log, runs.run(systems=(system(),)))
    two = printed(render_system_log, runs.run(systems=(system(launch=1, at=0.1), system())))
    assert "launch" not in one[2]
    assert "launch" in two[2]
    assert [line.split()[:2] for line in two[5:7]] == [["1", "1.50"], ["2", "0.10"]]


def test_processors_and_interfaces_that_do_nothing_are_named_only():
    asleep = dict.fromkeys(CPU, 0.0) | {"idle": 2.0}
    cpus = {"all": CPU, **dict.fromkeys(("0", "1", "2", "17"), asleep), "5": CPU}
    lines = printed(render_system_log, runs.run(systems=(system(cpus=cpus),)))
    # Ranks have cores 0 and 1.
    assert "never at a load of 5%: CPU 2, 17" in lines
    assert "nothing went through ifb0" in lines
    zero = "iowait, irq, steal"
    assert f"all 0: {zero}" in lines
    assert f"all 0: {zero}, dropped packets" in lines
    busy = printed(render_system_log, runs.run(systems=(system(cpus={"all": CPU | {"irq": 0.1}}),)))
    assert "all 0: iowait, steal" in busy


@pytest.mark.parametrize("kind", ["user", "system", "idle"])
def test_of_a_processor_that_lacks_most_of_its_time_there_are_no_shares(kind):
    cpus = {"all": {k: seconds for k, seconds in CPU.items() if k != kind}, "0": CPU}
    lines = printed(render_system_log, runs.run(systems=(system(cpus=cpus),)))
    assert any(line.startswith("not known here: load, user, system, idle") for line in lines)
    each = lines[lines.index("host node1: each processor") :]
    assert cells(each, " load") == ["50.0"]


def test_a_host_has_its_own_records_where_launches_differ_in_who_is_where():
    first = system(), system(host="node2", rank=1)
    second = system(host="node2", launch=1), system(rank=1, launch=1)
    lines = printed(render_system_log, runs.run(systems=(*first, *second)))
    hosts = [line for line in lines if line.startswith("host ") and ": " not in line]
    assert len(hosts) == len(set(hosts)) == 4
    for host in hosts:
        assert cells(lines[lines.index(host) :], " load") == ["50.0"]


def test_a_run_that_was_to_have_a_log_says_why_it_has_none():
    head = runs.run().head
    asked = msgspec.structs.replace(head, plan=head.plan | {"system_log": True})
    said = printed(render_system_log, runs.run(runs.measurement("simulated"), head=asked))
    assert said == ["no system log: what is simulated is on no host"]
    assert printed(render_system_log, runs.run(head=asked)) == [
        "no system log: nothing was measured"
    ]
    assert printed(render_usage, runs.run()) == ["no usage: nothing was measured"]


@pytest.mark.parametrize("view", [render_system_log, render])
def test_what_was_odd_is_told_once(view):
    notice = Notice(rank=0, host="node1", text="/proc/stat: ctxt is 'x', which is no number")
    run = runs.run(
        runs.measurement(), systems=(system(),),
        notices=(notice, msgspec.structs.replace(notice, launch=1)),
    )  # fmt: skip
    said = "left out: node1: /proc/stat: ctxt is 'x', which is no number"
    assert printed(view, run).count(said) == 1
