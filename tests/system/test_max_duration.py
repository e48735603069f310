"""``--max-duration``: real runs end in time, with all rows or with a reason. Without a limit, each
of these takes longer than any test may."""

import re

import pytest

from harness.choice import extended
from harness.mpi import ONE_HOST, job

LONG = ("-t", "shm,tcp", "-s", "8,1K", "--ci", "none", "--time", "60s")


@pytest.mark.extended
@pytest.mark.parametrize(("prefix", "seconds"), [((), 12), (job("wheel"), 20)])
def test_a_run_ends_in_time_with_every_row(shell, prefix, seconds):
    """On a busy machine, an mpiexec takes much of it to start ranks."""
    run = shell.measure(
        *LONG, "--max-duration", f"{seconds}s", prefix=prefix, **ONE_HOST, silent=True
    ).run
    assert run.interrupted is None
    assert run.header.plan["max_duration"] == seconds
    assert len(run.by_configuration) == 4
    # Each launch ends after whole rounds of all rows, or within one.
    for launch in {measurement.launch for measurement in run.measurements}:
        counts = [
            sum(measurement.launch == launch for measurement in found)
            for found in run.by_configuration.values()
        ]
        assert max(counts) - min(counts) <= 1
    # It is used, too: what was cut is the time of slices.
    assert run.end.timed > 0.05 * seconds


@pytest.mark.parametrize(
    ("prefix", "seconds"), extended(((), 5), (job("wheel"), 8)), ids=["launched", "joined"]
)
def test_what_does_not_end_by_itself_is_stopped(shell, prefix, seconds):
    """A fixed count takes as long as it takes: here far longer than it may, and some of its
    slices are made however busy the machine is."""
    count = ("-t", "shm", "-s", "8", "-i", "10000000", "-r", "10000")
    result = shell.run(*count, "--max-duration", f"{seconds}s", prefix=prefix, **ONE_HOST)
    assert result.status == 1
    assert result.run.interrupted.startswith(f"--max-duration: {seconds} s ")
    assert result.err.count(f"halftrip: {result.run.interrupted}\n") == 1
    assert "Traceback" not in result.err
    # What was measured is kept, and shown.
    assert result.run.measurements
    assert f"interrupted: --max-duration: {seconds} s " in result.out
    said = " ".join(result.out.split())
    assert re.search(rf"halftrip run --resume \S*run\.jsonl --max-duration {seconds}0s", said)


def test_too_little_time_for_anything_is_one_line(shell):
    result = shell.run(*LONG, "--max-duration", "10ms")
    assert result.status == 1
    assert result.err == "halftrip: --max-duration: 0.01 s are over\n"
