"""``show --system-log``: what the counters of every host counted."""

import re

import msgspec

from halftrip.views.system_log import system_log
from harness import runs
from harness.screens import cells, printed

CPU = {"user": 0.2, "nice": 0.1, "system": 0.1, "idle": 0.5, "iowait": 0.0, "irq": 0.0,
       "softirq": 0.1, "steal": 0.0}  # fmt: skip
TRAFFIC = {"packets_in": 1500, "packets_out": 20, "bytes_in": 3_000_000, "bytes_out": 40,
           "drops_in": 7, "drops_out": 0, "errors_in": 0, "errors_out": 0}  # fmt: skip


HOSTS = ["host node1", "host node2"]


def system(**changes):
    values = {
        "phase": "during", "configurations": [runs.configuration("tcp", 64)], "slices": [0],
        "at": 1.5, "cpus": {"all": CPU, "0": CPU}, "memory_used": 3 << 30,
        "counts": {"interrupts": 5000, "context_switches": 200, "tcp_retransmits": 3},
        "interfaces": {"lo": TRAFFIC, "ifb0": dict.fromkeys(TRAFFIC, 0)},
        "interrupts": {"lo": {"0": 1234, "1": 0}},
        "softnet": {"0": {"processed": 9, "dropped": 0, "squeezed": 1}},
    }  # fmt: skip
    return runs.counters(**(values | changes))


def log_of(*records, **changes):
    """What is printed of a run with these records; `changes` are its other fields."""
    return printed(system_log, runs.run(host_counters=records, **changes))


def idle(phase, **changes):
    return system(phase=phase, configurations=[], slices=[], **changes)


def test_the_log_is_in_the_order_of_time():
    """Its columns are those of tests/golden/formats/1.system-log.txt."""
    lines = log_of(idle("after", at=9.0), system(), idle("before", at=0.0))
    assert lines[0] == "host node1"
    assert cells(lines, "slice") == ["-", "1", "-"]
    assert cells(lines, "what") == ["before, idle", "tcp 64 B", "after, idle"]


def test_each_host_has_its_tables_and_the_cost_is_told():
    end = msgspec.structs.replace(runs.run().end, logged=0.05)
    others = system(host="node2", rank=1), idle("after", host="node2", rank=1)
    lines = log_of(system(), idle("before"), *others, end=end)
    assert [line for line in lines if re.fullmatch("host node.", line)] == HOSTS
    same = log_of(system(), system(rank=1))
    assert "host node1 (rank 0)" in same
    assert "host node1 (rank 1): interfaces" in same
    sizes = [runs.configuration("tcp", size) for size in (1, 2, 4, 8, 16)]
    assert "tcp 1 B, tcp 2 B and 3 more " in "\n".join(log_of(system(configurations=sizes)))
    # Ten seconds, two of them of rest.
    assert lines[-1] == (
        "the log took 0.0500 s, 0.62 % of the run's 10.0 s without the 2.0 s of rest that belong "
        "to it"
    )


def test_launches_are_numbered_where_there_are_several():
    one = log_of(system())
    two = log_of(system(launch=1, at=0.1), system())
    assert "launch" not in one[1]
    assert list(zip(cells(two, "launch"), cells(two, "at"), strict=True)) == [
        ("1", "1.50"), ("2", "0.10"),
    ]  # fmt: skip
    # With other ranks on a host, it is another host.
    first = system(), system(host="node2", rank=1)
    lines = log_of(*first, system(host="node2", launch=1), system(rank=1, launch=1))
    hosts = [line for line in lines if line.startswith("host ") and ": " not in line]
    assert len(hosts) == len(set(hosts)) == 4


def test_idle_processors_and_interfaces_have_no_lines():
    asleep = dict.fromkeys(CPU, 0.0) | {"idle": 2.0}
    cpus = {"all": CPU, **dict.fromkeys(("0", "1", "2", "17"), asleep), "5": CPU}
    lines = log_of(system(cpus=cpus))
    # Ranks have cores 0 and 1.
    assert "never at a load of 5%: CPU 2, 17" in lines
    assert "nothing went through ifb0" in lines
    assert "all 0: iowait, irq, steal" in lines
    assert "all 0: iowait, irq, steal, dropped packets" in lines
    busy = log_of(system(cpus={"all": CPU | {"irq": 0.1}}))
    assert "all 0: iowait, steal" in busy
    # Incomplete times of a processor have no shares.
    cpus = {"all": {kind: CPU[kind] for kind in CPU if kind != "idle"}, "0": CPU}
    lines = log_of(system(cpus=cpus))
    assert any(line.startswith("not known here: load, user, system, idle") for line in lines)
    assert cells(lines[lines.index("host node1: each processor") :], "load") == ["50.0"]


def test_a_run_without_a_log_says_why():
    assert log_of() == ["no system log: this run has none; measure with --system-log"]
    asked = runs.planned(system_log=True)
    assert log_of(header=asked) == ["no system log: nothing was measured"]
    simulated = runs.run(runs.measurement("simulated"), header=asked)
    said = "no system log: what is simulated is on no host"
    assert printed(system_log, simulated) == [said]
