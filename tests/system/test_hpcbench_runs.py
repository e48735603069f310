"""The experiments of Hpcbench's mpitest, measured and printed as it prints them."""

import re

import pytest

from halftrip.results.records import Measurement
from halftrip.results.reported import Source
from halftrip.tools.importing import imported
from harness.choice import drawn, extended
from harness.mpi import ONE_HOST, chosen, quick_start

STYLE = ("--style", "hpcbench")
FEW = ("-s", "1..64", "--window", "10", "--time", "20ms")
# Each experiment: its recipe and options, how many tests it has, and rows at most.
BOTH_AT_ONCE = ("--mode", "nonblocking")
STREAM = (*BOTH_AT_ONCE, "--window", "16", "--slices", "6")
SHORT = {
    "fixed": ("fixed", ("-s", "1K", "--window", "10", "--time", "50ms"), 1, 5),
    "fixed-nonblocking": ("fixed", (*STREAM, "-s", "1K", "--time", "60ms"), 1, 6),
    "fixed-pingpong": ("fixed-pingpong", ("-t", "shm", "-s", "1K", "--time", "60ms"), 1, 6),
    "fixed-pingpong-nonblocking": (
        "fixed-pingpong", (*BOTH_AT_ONCE, "-s", "1K", "--time", "60ms"), 1, 6,
    ),
    "exponential": ("exponential", FEW, 1, 7),
    "exponential-pingpong-nonblocking": (
        "fixed-pingpong", (*BOTH_AT_ONCE, "-s", "1..64", "--slices", "1", "--time", "20ms"), 1, 7,
    ),
    "round-trip": (
        "fixed-pingpong", ("-s", "64,1K", "--rtt", "--slices", "5", "--time", "50ms"), 2, 10,
    ),
}  # fmt: skip


def read_again(result):
    """The sources and the measurements of what was printed; what halftrip says goes elsewhere."""
    assert (result.status, result.err) == (0, "run file: run.jsonl\n")
    found = imported(result.out.encode(), "a.txt")
    return (
        [each for each in found if isinstance(each, Source)],
        [each for each in found if isinstance(each, Measurement)],
    )


@pytest.mark.parametrize("mpi", extended("wheel", "mpich"))
def test_sizes_that_grow_with_the_log_of_the_system(shell, mpi):
    options = (*FEW, "--system-log", *STYLE, *chosen(mpi))
    result = shell.run("hpcbench-exponential", *options, **quick_start(mpi))
    (source,), rows = read_again(result)
    assert [row.configuration.size for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    assert {row.configuration.pattern for row in rows} == {"stream"}
    counted = {
        each.size: sum(m.samples.size * m.iterations * 10 for m in measurements)
        for each, measurements in result.run.by_configuration.items()
    }
    assert {row.configuration.size: row.iterations for row in rows} == counted
    titles = {listing.title.split()[0] for listing in source.listings}
    assert titles == {"m_log", "s_log"}
    # What ran is in the log, which begins and ends with a second of rest.
    watches = [int(log.rows[0][2]) for log in source.listings if log.title in titles]
    assert min(watches) >= 3


@pytest.mark.parametrize("experiment", ["fixed-pingpong", *extended(*drawn(SHORT, 3))])
def test_every_experiment_prints_what_can_be_imported(shell, experiment):
    """Shared memory is no MPI, and it says so."""
    recipe, options, tests, rows = SHORT[experiment]
    result = shell.run(f"hpcbench-{recipe}", *options, *STYLE, **ONE_HOST)
    sources, measurements = read_again(result)
    assert len(sources) == tests
    # Beside other work, a configuration may be late, and have fewer slices.
    assert 0 < len(measurements) == len(result.run.measurements) <= rows
    assert re.search("^(# MPI communication test -- |MPI communicaiton )", result.out, re.MULTILINE)
    if "shm" in options:
        assert "# Blocking communication (shm)\n" in result.out
        assert {row.configuration.transport for row in measurements} == {"shm"}
