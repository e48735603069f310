"""Our own runs as other tools print theirs: the same columns, widths, headings and units; those of
mpitest with the system log."""

import re

import msgspec
import numpy as np
import pytest

from halftrip.errors import UsageError
from halftrip.plan.plan import Plan, plan_record
from halftrip.report.document import document
from halftrip.tools.hpcbench import files, render
from harness import runs
from harness.imports import imported, imported_run, in_style, reference
from harness.runs import measurement, run


def made(pattern, size, half_ns, iterations=10, **changes):
    window = 64 if pattern in ("stream", "bidirectional") else 1
    values = {"pattern": pattern, "iterations": iterations, "window": window} | changes
    ns = half_ns * iterations * values["window"] * (2 if pattern == "pingpong" else 1)
    samples = [max(1, round(ns * factor)) for factor in (0.9, 1.0, 1.3)]
    return measurement("mpi", size, samples=samples, **values)


def test_the_layout_of_imb():
    lines = in_style(run(made("pingpong", 8, 330.0)), "imb").splitlines()
    at = lines.index("# Benchmarking PingPong ")
    assert lines[at + 3 : at + 5] == [
        "       #bytes #repetitions      t[usec]   Mbytes/sec",
        "            8           30         0.35        22.73",
    ]
    assert lines[-2] == "# All processes entering MPI_Finalize"
    lines = in_style(run(made("bidirectional", 1000, 100.0)), "imb").splitlines()
    at = lines.index("# Benchmarking Biband ")
    # The sum of both directions: 1.0667 times 100 ns, the mean of the samples.
    assert lines[at + 4] == "         1000           30     18750.00     18750000"
    two = run(made("pingpong", 8, 100.0), made("pingpong", 8, 100.0, memory="cuda"))
    assert in_style(two, "imb").count("Intel(R) MPI Benchmarks") == 2
    # Figures that fill their columns stay apart.
    row = in_style(run(made("bidirectional", 10_666_667, 20.0)), "imb").splitlines()[-5]
    assert row.split()[:2] == ["10666667", "30"]


def test_the_layout_of_osu():
    lines = in_style(run(made("pingpong", 8, 380.0, 1)), "osu").splitlines()
    assert lines[:2] == ["# OSU MPI Latency Test v7.4", "# Datatype: MPI_CHAR."]
    assert lines[-2:] == [
        "# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)",
        "8                       0.41              0.38              0.47              0.49",
    ]
    alone = in_style(run(made("pingpong", 8, 380.0)), "osu").splitlines()
    assert alone[-2:] == [f"{'# Size':<10s}{'Avg Latency(us)':>20s}", f"{8:<10d}{0.41:20.2f}"]
    # What ReFrame looks for.
    validated = in_style(run(made("pingpong", 8, 380.0, verify=True)), "osu")
    assert re.search(r"^8\s+(\S+).*Pass", validated, re.MULTILINE)[1] == "0.41"
    # A window that is not the usual one is said.
    assert "[ window size: 16 ]" in in_style(run(made("stream", 8, 100.0, window=16)), "osu")
    assert "window size" not in in_style(run(made("stream", 8, 100.0)), "osu")


def test_what_the_tools_do_not_have():
    with pytest.raises(UsageError, match="of 64 messages"):
        in_style(run(made("stream", 8, 100.0, window=32)), "imb")
    with pytest.raises(UsageError, match="the run has no ping-pong, stream"):
        in_style(run(made("pingping", 8, 100.0)), "osu")


SIZES = (8, 16, 1 << 20)


def pingpongs(sizes, transport="mpi", **changes):
    """A row of each size, one way in 1 us and 0.5 ns a byte, exactly."""
    return [
        measurement(transport, size, samples=[2 * (1000 + size // 2) * 10] * 20, **changes)
        for size in sizes
    ]


def test_mpi4py_ve_has_the_time_and_the_rate_of_each_size():
    printed = in_style(run(*pingpongs(SIZES)), "mpi4py-ve").splitlines()
    assert printed[0] == "{'dev1': 'vh', 'dev2': 'vh', 'n': 3, 'loop_count': 200}"
    assert printed[3:6] == [
        "|              8|            0.000001004|       0.007420897|",
        "|             16|            0.000001008|       0.014782898|",
        "|        1048576|            0.000525288|       1.859099199|",
    ]


def test_mpi4py_ve_has_several_tables_with_the_host_first_and_then_devices():
    found = run(*pingpongs(SIZES), *pingpongs(SIZES, "shm"))
    printed = in_style(found, "mpi4py-ve")
    assert "Measured by halftrip 0.1.0 with mpi, wait spin, pattern pingpong::\n{'dev1'" in printed
    assert {each.variant for each in imported_run(printed).sources} == {
        (("between", "mpi, wait spin, pattern pingpong"),),
        (("between", "shm, wait spin, pattern pingpong"),),
    }
    memories = ("cuda@0:cuda@1", "ve", "host:cuda", "host")
    found = run(*(
        each for memory in memories for each in pingpongs(SIZES, "mpi4py", memory=memory)
    ))  # fmt: skip
    printed = in_style(found, "mpi4py-ve")
    devices = re.findall(r"'dev1': '(.*?)', 'dev2': '(.*?)'", printed)
    assert devices[:2] == [("vh", "vh"), ("vh", "cuda")]
    found = imported_run(printed).measurements
    assert {tuple(end.memory for end in each.configuration.ends) for each in found} == {
        ("cuda@0", "cuda@1"), ("ve", "ve"), ("host", "cuda"), ("host", "host"),
    }  # fmt: skip


def launches(count, sizes=(4, 8, 1024)):
    return [each for launch in range(count) for each in pingpongs(sizes, launch=launch)]


def test_eight_measurements_have_the_layout_of_their_reference():
    sizes = [4 << power for power in range(14)]
    printed = in_style(run(*launches(8, sizes)), "eight-measurements").splitlines()
    said = reference(1).decode().splitlines()
    titles = [line for line in said if line.startswith(("Table 1", "Table 2", "Size", "(Bytes)"))]
    # Table 4, which we have of our own, has the heading of Table 2.
    assert [line for line in printed if line in titles] == [*titles, titles[-1]]
    ours, theirs = (
        [re.sub(r"\d+", "0", line) for line in lines if re.match(r"\d+\t", line)]
        for lines in (printed, said)
    )
    assert ours[: len(theirs)] == theirs
    # 2 us and 1 ns a byte, 100,000 times, in ms.
    assert printed[printed.index(titles[2]) + 1].split("\t") == ["4", *["200.40"] * 11]


def test_the_line_of_least_squares_and_its_residuals_and_cold_exchanges():
    printed = in_style(run(*launches(2)), "eight-measurements")
    table = printed.partition("Table 3. ")[2].partition("Table 4")[0].splitlines()
    assert "s + r*Size" in table[0]
    # An exchange takes 2 us and 1 ns a byte: the line fits.
    assert table[3].split("\t")[:3] == ["Meas1", "2.000", "1.0000"]
    assert [float(cell) for cell in table[3].split("\t")[3:]] == pytest.approx([0, 0], abs=1e-3)
    assert table[4].startswith("Meas2\t")
    assert printed.partition("Table 4. ")[2].splitlines()[3] == "4\t0.00200\t0.00200"
    # Residuals are no share of times of zero.
    of_zero = measurement("mpi", 1 << 20, samples=[0] * 20)
    with np.errstate(all="raise"):
        printed = in_style(run(*pingpongs((4, 8)), of_zero), "eight-measurements")
    (line,) = re.findall(r"^Meas1\t.*", printed.partition("Table 3. ")[2], re.MULTILINE)
    assert line.endswith("\t-")


def both_ends(**changes):
    return [
        each
        for pair in ((0, 1), (1, 0))
        for each in pingpongs(SIZES, "dragon", pair=pair, **changes)
    ]


def test_dragon_begins_with_its_program_on_each_node():
    assert in_style(run(*both_ends()), "dragon").splitlines()[:3] == [
        "0: Starting ch_p2p_latency",
        "1: Starting ch_p2p_latency",
        "0-stdout: Iterations = 200 MsgSize = 8, Lat = 0.000001 seconds",
    ]


def test_one_box_has_the_sentence_of_its_reference():
    for hosts, boxes in ((("node1", "node1"), "One Box"), (("node1", "node2"), "Two Boxes")):
        ranks = tuple(runs.environment(rank, host=host) for rank, host in enumerate(hosts))
        found = run(*pingpongs((4, 2000, 4000)), environments=ranks)
        assert in_style(found, "one-box").splitlines() == [
            boxes,
            "",
            "Over mpi, integers take on average 1E-6 s for one int, and 3E-6 s for 1,000 ints.",
            "",
            *("ints\tseconds", "1\t1E-6", "500\t2E-6", "1000\t3E-6"),
        ]


@pytest.mark.parametrize(
    ("style", "measured", "said"),
    [
        ("eight-measurements", launches(2)[:-1], "the run has no complete set of launches"),
        ("dragon", both_ends()[:3], "the run has no ch_p2p_latency of both ends, only of rank 0; "),
        ("one-box", pingpongs((1, 2, 6)), "the run has no ping-pong of integers, 4 bytes each; "),
        *(
            (style, [measurement("mpi", 8, pattern="exchange")], "the run has no .* measure ")
            for style in ("mpi4py-ve", "eight-measurements", "dragon", "one-box")
        ),
    ],
)
def test_a_run_that_lacks_something_says_what_to_measure(style, measured, said):
    with pytest.raises(UsageError, match=f"^--style {style}: {said}"):
        in_style(run(*measured), style)


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


def test_a_repetition_of_more_iterations_that_was_held_up_is_read_again():
    """The heading says how many iterations each has: their mean, of which the times are."""
    short = [pingpong(1024, 8000, 0.004, slice=k) for k in range(5)]
    found = text(*short, pingpong(1024, 38_000, 0.25, slice=5))
    assert "# Iteration : 13000" in found
    rows = [line.split() for line in found.split("\n")[-7:-1]]
    assert {row[2] for row in rows[:5]} == {"0.01"}
    assert rows[5][:3] == ["6", "2490.3680", "0.09"]
    assert len(imported_run(found).measurements) == 6


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
    assert imported(found[""] + found[".m_log"] + found[".s_log"]).records
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
