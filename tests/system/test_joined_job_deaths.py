"""Jobs that an mpiexec has started and halftrip has joined, of which something dies."""

import signal

import pytest

from harness.mpi import job, quick_start
from harness.victim import UNSAID, WITH_MPI, Victim


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("wheel", 1),
        *(
            pytest.param(name, rank, marks=pytest.mark.extended)
            for name, rank in (("wheel", 0), ("openmpi", 0), ("openmpi", 1))
        ),
    ],
)
def test_a_killed_rank_is_named(shell, name, rank):
    victim = Victim(shell, *WITH_MPI, prefix=job(name), **quick_start(name))
    victim.await_measurements(2)
    pid = victim.rank(rank)
    ended = victim.kill(pid)
    assert ended.status != 0
    named = "rank 0 died" if rank == 0 else f"rank 1 (process {pid}) died"
    assert f"halftrip: {named}\n" in ended.err
    # Rank 0 writes the file; if it is the one that died, the file just stops.
    assert ended.run.interrupted == (UNSAID if rank == 0 else named)


@pytest.mark.extended
def test_a_killed_rank_of_mpich_is_named_by_its_launcher(shell):
    """MPICH's launcher says itself who died. It sends the other rank SIGKILL within the millisecond
    in which it learns of the death, so what that rank has said and written by then is a race that
    it cannot win for certain: the file says who died, or just stops."""
    victim = Victim(shell, *WITH_MPI, prefix=job("mpich"))
    victim.await_measurements(2)
    pid = victim.rank(1)
    ended = victim.kill(pid)
    assert ended.status != 0
    assert f"PID {pid}" in ended.out
    assert ended.run.interrupted in (f"rank 1 (process {pid}) died", UNSAID)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        pytest.param(
            name,
            number,
            marks=() if (name, number) == ("wheel", signal.SIGTERM) else pytest.mark.extended,
        )
        for name in ("wheel", "openmpi", "mpich")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    ],
)
def test_nothing_is_left_of_a_job_whose_mpiexec_is_stopped(shell, name, number):
    victim = Victim(shell, *WITH_MPI, prefix=job(name), **quick_start(name))
    victim.await_measurements(2)
    victim.kill(victim.process.pid, number)
