"""A run as CSV, JSON and a data frame; ``show --tails``, ``--cost``, ``--flags`` and the log."""

import csv
import io
import json
import re

import msgspec
import numpy as np
import pytest

from halftrip.report.frame import frame
from halftrip.results.counts import Delivery
from halftrip.results.records import Aggregate, Failure, WarmUp
from halftrip.views import cost as cost_view
from halftrip.views import details, why
from halftrip.views import tails as tails_view
from halftrip.views.system_log import system_log
from harness import runs
from harness.files import ROOT
from harness.screens import cells, printed, text


def a_run():
    return runs.run(
        runs.measurement("tcp", 8, "block", 10_000.0, stopped="time", warm_up=WarmUp(1, 9, False)),
        runs.measurement("shm", 4096, "spin", 1000.0, rtts=(150.0, 300.0)),
        runs.measurement("shm", 8),
    )


def from_json(run):
    return json.loads(text(details.json, run))


def from_csv(run):
    return list(csv.DictReader(io.StringIO(text(details.csv, run))))


def test_every_name_is_documented_and_what_does_not_exist_is_null_or_empty():
    """Their order is that of tests/golden/formats/1.csv."""
    heading = text(details.csv, a_run()).splitlines()[0].split(",")
    document = from_json(a_run())
    assert document["copies"] == [{"size_bytes": 65536, "ns": 2000.0, "by_kernel": False}]
    documented = (ROOT / "docs" / "run-file.md").read_text()
    assert [name for name in heading if f"`{name}`" not in documented] == []
    run = runs.run(runs.measurement(samples=[2000], rtts=None))
    (row,) = from_json(run)["rows"]
    assert row["low_ns"] is None
    assert row["core_to_core_low_ns"] is None
    (line,) = from_csv(run)
    assert line["low_ns"] == line["core_to_core_low_ns"] == ""
    assert text(details.csv, runs.run()) == ""


def test_settings_of_each_end_are_in_one_column():
    measured = runs.measurement("tcp", wait="spin:block", pages="4K:huge", memory="host:device")
    run = runs.run(measured, runs.measurement("shm"))
    for rows in (from_csv(run), from_json(run)["rows"], frame(run).to_dict("records")):
        settings = [(row["wait"], row["pages"], row["memory"]) for row in rows]
        assert settings == [("spin", "4K", "host"), ("spin:block", "4K:huge", "host:device")]
    assert frame(run, slices=True)["wait"].tolist() == ["spin:block", "spin"]


def test_json_has_aggregates_and_failures():
    configuration = runs.configuration(pair=(0, 2), concurrency=2)
    pairs = Aggregate(
        configuration=configuration, slice=0, pairs=[(0, 2), (1, 3)], spans=[1000], messages=[10.0]
    )
    never = Aggregate(configuration=configuration, slice=1, pairs=[(0, 2)], spans=[], messages=[])
    failure = Failure(configuration=configuration, slice=0, reason="rank 1: a wrong byte")
    document = from_json(runs.run(aggregates=(pairs, never), failures=(failure,)))
    other, one = document["aggregates"]
    assert one["pairs"] == ["0-2", "1-3"]
    assert one["messages_per_s"] == pytest.approx(10 / 1e-6)
    assert one["configuration"]["concurrency"] == 2
    assert one["bandwidth_bytes_per_s"] == pytest.approx(8 * 10 / 1e-6)
    assert other["bandwidth_bytes_per_s"] is None
    (failed,) = document["failed"]
    assert failed["reason"] == "rank 1: a wrong byte"
    assert failed["configuration"]["pair"] == "0-2"


def test_a_frame_says_where_its_rows_come_from_and_the_cpu_time_of_what_arrived():
    first = runs.environment(0, mpi="Open MPI v5.0.11")
    ranks = (first, runs.environment(1, host="n2"), runs.environment(0, launch=1))
    run = runs.run(runs.measurement("shm", 8), environments=ranks)
    for slices in (False, True):
        (row,) = frame(run, slices, "mine.jsonl").to_dict("records")
        origin = ("mine.jsonl", f"{first.host}:n2", "Open MPI v5.0.11")
        assert (row["run"], row["host"], row["mpi"]) == origin
        assert row["date"].isoformat() == run.header.started
    # A simulated run has no ranks.
    (row,) = frame(runs.run(runs.measurement("shm", 8), environments=())).to_dict("records")
    assert (row["run"], row["host"]) == (run.header.started, None)
    sent = [Delivery(sent=1000, lost=lost, reordered=0) for lost in (0, 500)]
    usage = (runs.usage(), runs.usage())
    slices = [runs.stream(slice=n, delivery=each, usage=usage) for n, each in enumerate(sent)]
    whole, half = frame(runs.run(*slices), slices=True)["initiator_cpu_s_per_gb"]
    assert half == pytest.approx(2 * whole)


def tails(*measurements, **changes):
    return printed(tails_view.tails, runs.run(*measurements, **changes))


def slices(n=2000, **changes):
    """Single round trips of 20 us and more, with an exponential tail of 2 us."""
    generator = np.random.default_rng(1)
    return [
        runs.measurement(
            samples=20_000 + generator.exponential(2000, n).astype(int),
            iterations=1, slice=k, **changes,
        )
        for k in range(10)
    ]  # fmt: skip


def quantile(lines, name):
    """The quantile of the first row, and the bounds that its share gives."""
    (cell, *_) = cells(lines, name)
    value, share = (float(word) for word in cell.rstrip(" %").split(" ± "))
    return [value, value * (1 - share / 100), value * (1 + share / 100)]


def test_quantiles_are_shown_with_their_intervals_of_whole_round_trips_and_windows():
    lines = tails(*slices())
    for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)):
        value, low, high = quantile(lines, name)
        true = 10 - np.log(1 - q)
        assert low < true < high
        assert low <= value <= high
    assert float(cells(lines, "max")[0]) >= quantile(lines, "p99.9")[0]
    # One that is not known is left out.
    lines = tails(*slices(200))
    assert "p99.9" not in lines[0]
    assert "not known here: p99.9 us" in lines
    several = tails(*[runs.measurement(slice=n) for n in range(10)])
    assert ("p50" in several[0], "p90" in several[0]) == (True, False)
    assert 20 < quantile(tails(*slices(), header=runs.planned(rtt=True)), "p50")[0] < 22
    of_window = slices(pattern="stream", window=10)
    assert 20 < quantile(tails(*of_window), "p50")[0] < 22


SPINS = runs.usage(1.0, 0.0, voluntary=0)
WORKS = runs.usage(0.5, 0.375, waited=0.01, core={"others": 0.25, "hertz": 3.1e9, "joules": 12.5})


def cost(*measurements):
    return printed(cost_view.cost, runs.run(*measurements))


def test_what_is_known_of_the_cost_of_all_slices_has_a_column():
    """All that may be known is in tests/golden/formats/1.cost.txt."""
    lines = cost(runs.measurement(usage=(SPINS, SPINS)))
    missing = "interrupts, unaccounted, throttled, steal, frequency GHz, energy J"
    assert f"not known here: core, waited, others, {missing}" in " ".join(" ".join(lines).split())
    assert "all 0: major faults" in lines
    assert not any(line.startswith("energy:") for line in lines)
    lines = cost(
        runs.measurement(usage=(WORKS, WORKS), preemptions=[(2, 1)]),
        runs.measurement(usage=(WORKS, WORKS), slice=1, preemptions=[(0, 2)]),
    )
    assert cells(lines, "elapsed") == ["2.00", "2.00"]
    assert cells(lines, "others") == ["25.0", "25.0"]
    assert cells(lines, "suspect")[0] == "4"


def test_rows_without_a_cost_are_left_out_and_others_named_as_in_the_table():
    (line,) = cost(runs.measurement())
    assert line.startswith("no cost: ")
    assert cost() == ["no cost: nothing was measured"]
    waits = ("spin:block", "spin")
    measured = [runs.measurement("tcp", wait=wait, usage=(SPINS, WORKS)) for wait in waits]
    lines = cost(runs.measurement("simulated"), *measured)
    assert not any("simulated" in line for line in lines)
    assert sorted(filter(None, cells(lines, "wait"))) == sorted(waits)


def flags(*measurements, **changes):
    return printed(why.flags, runs.run(*measurements, **changes))


def calm(transport="shm", **changes):
    return [runs.measurement(transport, slice=n, seed=n, **changes) for n in range(6)]


def test_rows_with_flags_are_named_by_the_fields_in_which_they_differ_none_says_so():
    """One with some is tests/golden/formats/1.flags.txt."""
    none = "no flags: none of the 2 rows gives a reason to doubt"
    assert flags(*calm(), *calm("tcp")) == [none]
    windows = flags(*(runs.measurement(pattern="stream", window=window) for window in (1, 64)))
    assert [line.split(":")[0] for line in windows[1:3]] == [
        "  shm window 1 8 B",
        "  shm window 64 8 B",
    ]
    puts = flags(*(
        runs.measurement(pattern="put", mode="onesided", window=64, places=places, touch=touch)
        for places in ("own", "same") for touch in ("none", "timed")
    ))  # fmt: skip
    assert [line.split(":")[0] for line in puts[1:3]] == [
        "  shm own none 8 B",
        "  shm own timed 8 B",
    ]
    # The name of an unknown transport is printed as it stands.
    odd = flags(runs.measurement("[bold]new[/bold]"))
    assert odd[1].startswith("  [bold]new[/bold] 8 B:")


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


def test_the_log_is_in_the_order_of_time_and_of_launches():
    """Its columns are those of tests/golden/formats/1.system-log.txt."""
    lines = log_of(idle("after", at=9.0), system(), idle("before", at=0.0))
    assert lines[0] == "host node1"
    assert cells(lines, "slice") == ["-", "1", "-"]
    assert cells(lines, "what") == ["before, idle", "tcp 64 B", "after, idle"]
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
