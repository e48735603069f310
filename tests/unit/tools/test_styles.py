"""Our own runs as other tools print theirs: the same columns, widths, headings and units."""

import re

import numpy as np
import pytest

from halftrip.errors import UsageError
from harness import runs
from harness.imports import imported_run, in_style, reference
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
