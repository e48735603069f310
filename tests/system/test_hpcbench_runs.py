"""The experiments of Hpcbench's mpitest, measured and printed as it prints them."""

import re

import pytest

from halftrip.convert.importing import imported
from halftrip.results.records import Measurement
from halftrip.results.reported import Source
from harness.mpi import EVERY_MPI, ONE_HOST, chosen

STYLE = ("--style", "hpcbench")
FEW = ("-s", "1..64", "--window", "10", "--time", "20ms")
# Each experiment by its recipe, with how many tests it has, and rows at most.
SHORT = {
    "fixed": (("-s", "1K", "--window", "10", "--time", "50ms"), 1, 5),
    "fixed-nonblocking": (("-s", "1K", "--time", "60ms"), 1, 6),
    "fixed-pingpong": (("-s", "1K", "--time", "60ms"), 1, 6),
    "fixed-pingpong-nonblocking": (("-s", "1K", "--time", "60ms"), 1, 6),
    "exponential": (FEW, 1, 7),
    "exponential-pingpong-nonblocking": (("-s", "1..64", "--time", "20ms"), 1, 7),
    "round-trip": (("--time", "50ms"), 2, 10),
    "system-log": (("-s", "1K", "--window", "10", "--time", "50ms"), 1, 5),
}


def printed(result):
    """What the tool would have printed; what halftrip says goes elsewhere."""
    assert (result.status, result.err) == (0, "run file: run.jsonl\n")
    return result.out


def read_again(result):
    """The sources and the measurements of what was printed."""
    found = imported(printed(result).encode(), "a.txt")
    return (
        [each for each in found if isinstance(each, Source)],
        [each for each in found if isinstance(each, Measurement)],
    )


@pytest.mark.parametrize("mpi", EVERY_MPI)
def test_sizes_that_grow_with_the_log_of_the_system(shell, mpi):
    environment = ONE_HOST if mpi == "wheel" else {}
    options = (*FEW, "--system-log", *STYLE, *chosen(mpi))
    result = shell.run("hpcbench-exponential", *options, **environment)
    (source,), rows = read_again(result)
    assert [row.configuration.size for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    assert {row.configuration.pattern for row in rows} == {"stream"}
    counted = {
        size: sum(each.samples.size * each.iterations * 10 for each in measurements)
        for size, measurements in by_size(result.run).items()
    }
    assert {row.configuration.size: row.iterations for row in rows} == counted
    titles = {listing.title.split()[0] for listing in source.listings}
    assert titles == {"m_log", "s_log"}
    # What ran is in the log, which begins and ends with a second of rest.
    watches = [int(log.rows[0][2]) for log in source.listings if log.title in titles]
    assert min(watches) >= 3


def by_size(run):
    found = {}
    for each in run.measurements:
        found.setdefault(each.configuration.size, []).append(each)
    return found


@pytest.mark.parametrize("experiment", SHORT)
def test_every_experiment_prints_what_can_be_imported(shell, experiment):
    options, tests, rows = SHORT[experiment]
    result = shell.run(f"hpcbench-{experiment}", *options, *STYLE, **ONE_HOST)
    sources, measurements = read_again(result)
    assert len(sources) == tests
    # Beside other work, a configuration may be late, and have fewer slices.
    assert 0 < len(measurements) == len(result.run.measurements) <= rows
    assert re.search("^(# MPI communication test -- |MPI communicaiton )", result.out, re.MULTILINE)
    assert bool(sources[0].listings) == (experiment == "system-log")


def test_shared_memory_is_no_mpi(shell):
    result = shell.run("hpcbench-fixed-pingpong", "-t", "shm", "-s", "8", "--time", "60ms", *STYLE)
    assert "# Blocking communication (shm)\n" in printed(result)
    _, rows = read_again(result)
    assert {row.configuration.transport for row in rows} == {"shm"}
