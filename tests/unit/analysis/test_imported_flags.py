"""What the figures of other tools are judged by: their digits, a first row without a warm-up, and
one launch that is unlike the others."""

import pytest

from halftrip.analysis.flags import evidences, flags_of
from halftrip.report.document import document
from harness import runs
from harness.flags import noise, pingpong
from harness.imports import causes, imported_run

HEADING = "# OSU MPI Latency Test v7.4\n# Size          Latency (us)\n"


def osu(*rows):
    return imported_run(HEADING + "".join(f"{size:<10d}{us:>20s}\n" for size, us in rows))


def of_mpi4py_ve(*rows):
    rule = "|" + "|".join("-" * width for width in (15, 23, 18)) + "|"
    made = [f"|{size:>15d}|{us / 1e6:23.9f}|{size / us * 1e6 / 2**30:18.9f}|" for size, us in rows]
    return imported_run("\n".join([
        f"{{'dev1': 'vh', 'dev2': 'vh', 'n': {len(rows)}, 'loop_count': 10}}",
        "| Data Size (B) | Avg Transfer Time (s) | Bandwidth (GB/s) |",
        rule, *made, rule, "",
    ]))  # fmt: skip


@pytest.mark.parametrize(("us", "is_coarse"), [
    # Half of the last digit is 5 ns: 1 % of 0.5 us.
    ("0.50", False), ("0.49", True), ("0.16", True), ("12.00", False),
])  # fmt: skip
def test_digits_that_say_too_little(us, is_coarse):
    (row,) = evidences(osu((8, us)))
    flags = {flag.name: flag.seen for flag in flags_of(row, [])}
    assert ("coarse-clock" in flags) == is_coarse
    if is_coarse:
        assert "in steps of 0.0100 us" in flags["coarse-clock"]


@pytest.mark.parametrize("rows", [
    # Not slower than what is larger, or hardly.
    [(8, 4.0), (16, 4.1), (32, 4.2)],
    [(8, 4.8), (16, 4.0), (32, 4.2)],
    # Nothing to compare it with.
    [(8, 50.0)],
    # Not the first row.
    [(8, 4.0), (16, 4.1), (32, 4.2), (64, 4.5)],
])  # fmt: skip
def test_a_first_row_that_is_as_others_is_no_cold_start(rows):
    assert "cold start" not in {cause.name for cause in causes(of_mpi4py_ve(*rows)).values()}


def test_a_tool_that_warms_up_has_no_cold_start():
    """Nothing says that OSU's first row is cold: it contradicts the others."""
    found = causes(osu((8, "50.00"), (16, "4.00"), (32, "4.10")))
    assert found[(), 8].name == "contradicted"


def launches(*levels):
    """A row of so many launches, whose medians are these factors apart."""
    return runs.run(*(
        pingpong(noise(seed=10 * n + k, middle=1000.0 * level), 1000.0, launch=n, slice=k)
        for n, level in enumerate(levels)
        for k in range(3)
    ))  # fmt: skip


@pytest.mark.parametrize(("levels", "odd"), [
    ((0.4, 1.0, 1.01, 0.99, 1.0, 1.02), "launch 0"),
    ((1.0, 1.01, 0.99, 1.0, 1.02, 2.0), "launch 5"),
    # Two halves, or launches that are all apart: no single one is odd.
    ((1.0, 1.0, 1.0, 2.0, 2.0, 2.0), None),
    ((1.0, 1.3, 1.6, 1.9, 2.2, 2.5), None),
])  # fmt: skip
def test_one_launch_in_another_mode(levels, odd):
    (row,) = document(launches(*levels)).rows
    assert row.verdict.word == "no"
    assert (row.verdict.cause.name == "another mode") == (odd is not None)
    if odd is not None:
        assert row.verdict.cause.seen.startswith(f"{odd} took ")
