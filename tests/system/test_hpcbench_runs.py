"""Experiments of Hpcbench's mpitest, measured and printed as it prints them."""

import pytest

from halftrip.results.records import Measurement
from halftrip.results.reported import Source
from harness.choice import extended
from harness.imports import imported
from harness.mpi import chosen, quick_start

STYLE = ("--style", "hpcbench")
FEW = ("-s", "1..64", "--window", "10", "--time", "20ms")


def read_again(result):
    """The sources and the measurements of what was printed; what halftrip says goes elsewhere."""
    assert (result.status, result.err) == (0, "run file: run.jsonl\n")
    found = imported(result.out.encode()).records
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


def test_shared_memory_is_no_mpi_and_it_says_so(shell):
    work = ("-t", "shm", "-s", "1K", "--time", "60ms")
    result = shell.run("hpcbench-fixed-pingpong", *work, *STYLE)
    (_,), rows = read_again(result)
    # Beside other work, a configuration may be late, and have fewer slices than six, or one without
    # a sample.
    sampled = [each for each in result.run.measurements if each.samples.size]
    assert 0 < len(rows) == len(sampled) <= 6
    assert result.out.startswith("# MPI communication test -- ")
    assert "# Blocking communication (shm)\n" in result.out
    assert {row.configuration.transport for row in rows} == {"shm"}
