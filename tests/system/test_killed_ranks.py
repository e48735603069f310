"""Processes that are killed while they measure: the command ends within five seconds, names them,
and leaves nothing behind but a file that holds all that was measured."""

import os
import signal
import threading
from pathlib import Path

import pytest

from halftrip.registry import SIMULATED, TRANSPORTS, needing
from harness.choice import drawn, extended
from harness.mpi import ONE_HOST, chosen, job, mpiexec, quick_start
from harness.victim import LOCAL, UNSAID, WITH_MPI, Victim


@pytest.mark.parametrize("rank", [0, *extended(1)])
def test_a_killed_rank_is_named_and_what_was_measured_is_shown(shell, rank):
    victim = Victim(shell, *LOCAL)
    victim.await_measurements(3)
    ended = victim.kill_rank(rank)
    assert f"interrupted: {ended.run.interrupted}" in ended.out
    assert "latency" in ended.out


# How the ranks of each transport that needs nothing can wait.
WAITS = [
    (name, wait)
    for name in needing("")
    if name != SIMULATED
    for wait in TRANSPORTS.load(name).capabilities.waits
]
ALWAYS = [("shm", "spin"), ("tcp", "block"), ("mp-queue", "block")]


@pytest.mark.parametrize(
    ("transport", "wait"),
    [ALWAYS[0], *extended(*ALWAYS[1:], *drawn([each for each in WAITS if each not in ALWAYS], 4))],
)
def test_a_rank_notices_whatever_it_waits_in(shell, transport, wait):
    size = "32K" if transport == "udp" else "1M"
    victim = Victim(
        shell, "--ci", "none", "--time", "60s", "-s", size, "-t", transport, "--wait", wait
    )
    victim.await_work(0)
    victim.kill_rank(1)


@pytest.mark.parametrize(
    ("name", "rank", "transports", "number"),
    [
        ("wheel", 0, "mpi,shm", signal.SIGKILL),
        *extended(
            ("wheel", 1, "mpi4py", signal.SIGKILL),
            ("wheel", 0, "mpi4py-object", signal.SIGINT),
            # UCX would wait for a debugger.
            ("mpich", 1, "mpi", signal.SIGHUP),
        ),
    ],
)
def test_a_killed_rank_of_mpi_is_named(shell, name, rank, transports, number):
    victim = Victim(shell, *WITH_MPI, "-t", transports, *chosen(name), **quick_start(name))
    victim.await_measurements(2)
    pid = victim.rank(rank)
    ended = victim.kill(pid, number)
    assert (ended.status, ended.err) == (1, f"halftrip: rank {rank} (process {pid}) died\n")
    assert ended.run.interrupted == f"rank {rank} (process {pid}) died"


@pytest.mark.parametrize("name", extended("wheel", *drawn(["openmpi", "mpich"], 1)))
def test_a_killed_mpiexec_is_named(shell, name):
    victim = Victim(shell, *WITH_MPI, *chosen(name), **quick_start(name))
    victim.await_measurements(2)
    pid = victim.launcher()
    ended = victim.kill(pid)
    program = Path(mpiexec(name)).name
    said = f"halftrip: {program} (process {pid}) was killed by SIGKILL\n"
    assert (ended.status, ended.err) == (1, said)


@pytest.mark.parametrize("arguments", [LOCAL, *extended((WITH_MPI,))], ids=["local", "mpiexec"])
def test_the_ranks_of_a_killed_command_say_so_and_end(shell, arguments):
    victim = Victim(shell, *arguments, **ONE_HOST)
    victim.await_measurements(2)
    ended = victim.kill(victim.process.pid)
    assert ended.status == -signal.SIGKILL
    assert ended.err == f"halftrip: the launcher (process {victim.process.pid}) died\n"
    assert ended.run.interrupted == UNSAID


# Jobs that an mpiexec has started and halftrip has joined.


@pytest.mark.parametrize(
    ("name", "rank"),
    extended(("wheel", 1), ("wheel", 0), *drawn([("openmpi", 0), ("openmpi", 1)], 1)),
)
def test_a_killed_rank_of_a_joined_job_is_named(shell, name, rank):
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
def test_an_mpiexec_that_looks_late_prints_who_died(shell):
    """Open MPI's may lose what ranks wrote that have ended by themselves before it looks."""
    victim = Victim(shell, *LOCAL, prefix=job("wheel"), **quick_start("wheel"))
    victim.await_measurements(2)
    pid, mpiexec_pid = victim.rank(0), victim.process.pid
    os.kill(mpiexec_pid, signal.SIGSTOP)
    threading.Timer(0.2, os.kill, (mpiexec_pid, signal.SIGCONT)).start()
    ended = victim.kill(pid)
    # It has seen one rank end, and has killed the other.
    assert ended.status == 128 + signal.SIGKILL
    assert "halftrip: rank 0 died\n" in ended.err


@pytest.mark.parametrize(
    ("name", "number"),
    extended(
        ("wheel", signal.SIGTERM),
        *drawn(
            [
                ("wheel", signal.SIGKILL),
                *(("openmpi", number) for number in (signal.SIGINT, signal.SIGKILL)),
                *(("mpich", number) for number in (signal.SIGINT, signal.SIGKILL)),
            ],
            2,
        ),
    ),
)
def test_nothing_is_left_of_a_job_whose_mpiexec_is_stopped(shell, name, number):
    victim = Victim(shell, *WITH_MPI, prefix=job(name), **quick_start(name))
    victim.await_measurements(2)
    victim.kill(victim.process.pid, number)


# Rank 0 is slow to print.
_SLOWLY = """
import os, time
from halftrip.cli import run

def slowly(*rest, shown=run._print_run):
    time.sleep(1)
    shown(*rest)

if os.environ.get("OMPI_COMM_WORLD_RANK") == "0":
    run._print_run = slowly
"""


def test_other_ranks_of_a_job_stay_until_rank_0_has_printed_what_there_is(shell):
    """An mpiexec ends all ranks as soon as the first has ended."""
    environment = ONE_HOST | shell.patched(_SLOWLY)
    victim = Victim(shell, *WITH_MPI, prefix=job("wheel"), **environment)
    victim.await_measurements(2)
    ended = victim.kill(victim.rank(0), signal.SIGTERM)
    assert ended.err.count("halftrip: stopped by SIGTERM\n") == 1
    assert "interrupted: stopped by SIGTERM" in ended.out
