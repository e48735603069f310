"""--style hpcbench: what halftrip has measured, in the layout of mpitest."""

import re

import msgspec
import pytest

from halftrip.errors import UsageError
from halftrip.plan.plan import Plan, plan_record
from halftrip.report.document import document
from halftrip.tools.hpcbench import files, render
from halftrip.tools.importing import imported
from harness import runs

USAGE = tuple(
    runs.usage(elapsed=5.016, user=user, system=system)
    for user, system in ((0.11, 1.59), (0.70, 3.00))
)


def sample(size, seconds, **changes):
    values = {"mode": "blocking", "usage": USAGE, "samples": [round(1e9 * seconds)]}
    return runs.measurement("mpi", size, **(values | changes))


def stream(size=1 << 20, window=492, seconds=5.016, **changes):
    """One window of messages."""
    values = {"pattern": "stream", "window": window, "iterations": 1}
    return sample(size, seconds, **(values | changes))


def pingpong(size, count, seconds, mode="blocking", **changes):
    return sample(size, seconds, mode=mode, iterations=count, **changes)


def printed(*measurements, plan=None, **changes):
    made = runs.run(*measurements, **changes)
    header = msgspec.structs.replace(made.header, plan=plan_record(plan or Plan()))
    return document(msgspec.structs.replace(made, header=header))


def text(*measurements, **changes):
    return render(printed(*measurements, **changes))


def test_a_test_of_one_size():
    plan = Plan(time=10.0, slices=2)
    found = text(stream(), stream(launch=1, seconds=5.5), plan=plan).split("\n")
    assert found == [
        f"# MPI communication test -- {found[0].split(' -- ')[1]}",
        "# Test mode: Fixed-size stream (unidirectional) test",
        "# Hosts: node1 <----> node1",
        "# Blocking communication (MPI_Send/MPI_Recv)",
        "# Total data size of each test (Bytes): 515899392",
        "# Message size (Bytes): 1048576",
        "# Iteration : 492",
        "# Test time: 5.000000",
        "# Test repetition: 2",
        # Below headings that its importer demands.
        *found[9:13],
        "1     822.8061         5.02        0.11       1.59        5.02        0.70        3.00",
        "2     750.3991         5.02        0.11       1.59        5.02        0.70        3.00",
        "",
    ]
    assert re.fullmatch(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}", found[0].split(" -- ")[1])


def test_sizes_that_grow():
    found = text(stream(2048, 10_000, 0.63), stream(1024, 10_000, 0.33)).split("\n")
    assert found[1] == "# Test mode: Exponential stream (unidirectional) test"
    assert found[-3].split()[:3] == ["1024", "248.2425", "10000"]
    assert found[-2].split()[:3] == ["2048", "260.0635", "10000"]
    # Windows that have no size in common are one test; figures never run into each other.
    apart = [stream(1, 5, 1.0), stream(1 << 22, 500, 0.001)]
    assert text(*apart).count("# Test mode: Exponential") == 1
    assert [line.split()[:3] for line in text(*apart).split("\n")[-3:-1]] == [
        ["1", "0.0001", "5"],
        ["4194304", "16777216.0160", "500"],
    ]
    assert text(*apart, stream(1 << 22, 5, 0.3)).count("# Test mode: ") == 2
    # Both ways at once are a sum; in turn, the rate is that of one way.
    found = text(pingpong(1 << 20, 242, 4.63, "nonblocking"))
    assert "\n# Non-blocking communication (MPI_Isend/MPI_Irecv)\n" in found
    assert "\n1     876.9085 " in found
    assert "\n1     876.9085 " in text(pingpong(1 << 20, 242, 4.63))


def test_round_trips_where_the_run_is_shown_by_them():
    taken = [pingpong(64, 10, 10 * us / 1e6, slice=n) for n, us in enumerate((72.694, 72.716))]
    found = text(*taken, plan=Plan(rtt=True))
    assert found == (
        "node1(Master-node) <--> node1(Secondary-node)\n"
        "MPI communicaiton Round Trip Time (latency) test\n"
        "MPI Round Trip Time (1) : 72.694 usec\n"
        "MPI Round Trip Time (2) : 72.716 usec\n"
        "Message size (Bytes) : 64\n"
        "MPI RTT min/avg/max = 72.694/72.705/72.716 usec\n"
    )
    slow = text(pingpong(64, 10, 0.02), plan=Plan(rtt=True))
    assert "MPI RTT min/avg/max = 2.000/2.000/2.000 msec\n" in slow


CPU = {"user": 0.48, "nice": 0.0, "system": 7.8, "irq": 0.2, "idle": 7.52, "steal": 0.0}
COUNTS = {
    "interrupts": 181_996, "kib_in": 60, "kib_out": 4, "swapped_in": 0, "swapped_out": 0,
    "context_switches": 90_028,
}  # fmt: skip
ETH0 = {
    "packets_in": 171_696, "bytes_in": 12_064_155, "packets_out": 343_253,
    "bytes_out": 519_623_902,
}  # fmt: skip


def system(phase="during", **changes):
    values = {
        "phase": phase, "at": 1.0, "seconds": 5.0,
        "cpus": {"all": CPU, "0": CPU, "1": CPU}, "memory_used": 12 << 30,
        "memory_total": 100 << 30, "counts": COUNTS,
        "interfaces": {"eth0": ETH0, "lo": dict.fromkeys(ETH0, 0)},
        "interrupts": {"eth0": {"0": 181_392, "1": 0}}, "softnet": {},
        "configurations": [stream().configuration] * (phase == "during"),
    }  # fmt: skip
    return runs.counters(**(values | changes))


LOG = (system("before", at=0.0), system(), system("after", at=9.0))


def test_a_log_is_printed_behind_its_test():
    found = files(printed(stream(), host_counters=LOG))
    assert list(found) == ["", ".m_log", ".s_log"]
    assert found[".m_log"] == found[".s_log"]
    lines = found[".m_log"].split("\n")
    assert re.fullmatch(r"# node1 syslog -- \w{3} \w{3} .*", lines[0])
    assert lines[1:4] == [
        "# Watch times: 3",
        "# Network devices (interface): 2 ( loop eth0 )",
        "# CPU number: 2",
    ]
    title = (
        "##### System info, statistics of network interface <eth0> and its interrupts to each CPU"
    )
    at = next(n for n, line in enumerate(lines) if line.startswith(title))
    assert lines[at + 4].split() == [
        "1", "53", "3", "50", "12", "181996", "64", "0", "90028", "171696", "12064155", "343253",
        "519623902", "181392", "0",
    ]  # fmt: skip
    at = lines.index("##         CPU1 workload (%)           Overall CPU workload (%)")
    assert lines[at + 3].split() == ["1", *["53.0", "3.0", "50.0", "47.0"] * 2]
    # Its lines are laid out as published ones are.
    assert imported((found[""] + found[".m_log"] + found[".s_log"]).encode(), "a")
    shown = render(printed(stream(), host_counters=LOG))
    assert shown == f"{found['']}\n" + "\n".join(
        f"==> output{name} <==\n{found[name]}" for name in (".m_log", ".s_log")
    )
    # A busy processor was not idle for less than no time.
    busy = {"user": 0.1, "nice": 0.2, "system": 0.0, "irq": 0.0, "idle": 0.0, "steal": 0.3}
    cpus = dict.fromkeys(("all", "0", "1"), busy)
    assert "-0.0" not in files(printed(stream(), host_counters=(system(cpus=cpus),)))[".m_log"]


def test_each_test_has_its_part_of_the_log_and_each_node_its_own():
    other = stream(mode="nonblocking")
    log = [*LOG, system(at=5.0, configurations=[other.configuration])]
    found = files(printed(stream(), other, host_counters=tuple(log)))
    logs = ["-1.m_log", "-1.s_log", "-2.m_log", "-2.s_log"]
    assert [name for name in found if "log" in name] == logs
    assert all("# Watch times: 3\n" in found[name] for name in logs)
    ranks = (runs.environment(0), runs.environment(1, host="node2"))
    log = [*LOG, *(msgspec.structs.replace(each, host="node2", rank=1) for each in LOG)]
    found = files(printed(stream(), environments=ranks, host_counters=tuple(log)))
    assert "# Hosts: node1 <----> node2\n" in found[""]
    assert found[".m_log"].startswith("# node1 syslog")
    assert found[".s_log"].startswith("# node2 syslog")
    with pytest.raises(UsageError, match="no system log of node2; measure it with --system-log"):
        files(printed(stream(), environments=ranks, host_counters=LOG))


def test_a_run_that_lacks_a_column_says_which():
    for measured, log, said in (
        ({}, {"memory_total": None}, "no memory of a host in its system log"),
        ({}, {"counts": {}}, "no interrupts in its system log"),
        ({}, {"interfaces": {}}, "no processors or interfaces in its system log"),
        ({"pattern": "bidirectional"}, {}, "no stream or ping-pong, blocking or not; measure it"),
        ({"usage": None}, {}, "no user and system time of both ends of mpi"),
    ):
        with pytest.raises(UsageError, match=f"--style hpcbench: the run has {said}"):
            render(printed(stream(**measured), host_counters=(system(**log),)))
