"""Processes that are killed while they measure: the command ends within five seconds, names them,
and leaves nothing behind but a file that holds all that was measured."""

import re
import signal
import socket
from pathlib import Path

import pytest

from harness.mpi import EVERY_MPI, ONE_HOST, chosen, mpiexec, quick_start
from harness.victim import LOCAL, UNSAID, WITH_MPI, Victim

MPI_RANKS = [
    pytest.param(name, rank, marks=() if (name, rank) == ("wheel", 0) else pytest.mark.extended)
    for name in ("wheel", "openmpi", "mpich")
    for rank in (0, 1)
]


@pytest.mark.parametrize("rank", [0, pytest.param(1, marks=pytest.mark.extended)])
def test_a_killed_rank_is_named_and_what_was_measured_is_shown(shell, rank):
    victim = Victim(shell, *LOCAL)
    victim.await_measurements(3)
    pid = victim.rank(rank)
    ended = victim.kill(pid)
    said = f"rank {rank} (process {pid}) was killed by SIGKILL"
    assert (ended.status, ended.err) == (1, f"halftrip: {said}\n")
    assert ended.run.interrupted == said
    assert f"interrupted: {said}" in ended.out
    assert "latency" in ended.out


@pytest.mark.parametrize(
    ("transport", "wait"),
    [
        ("shm", "spin"),
        ("tcp", "block"),
        ("mp-queue", "block"),
        *(
            pytest.param(transport, wait, marks=pytest.mark.extended)
            for transport, wait in (
                ("pipe", "spin"),
                ("udp", "block"),
                ("pipe", "block"),
                ("unix", "block"),
                ("unix", "spin"),
                ("tcp", "spin"),
                ("udp", "spin"),
                ("mp-pipe", "block"),
                ("mp-shm", "block"),
                ("zmq", "block"),
                ("zmq-ipc", "block"),
            )
        ),
    ],
)
def test_a_rank_notices_whatever_it_waits_in(shell, transport, wait):
    size = "32K" if transport == "udp" else "1M"
    victim = Victim(
        shell, "--ci", "none", "--time", "60s", "-s", size, "-t", transport, "--wait", wait
    )
    victim.await_work(0)
    ended = victim.kill(victim.rank(1))
    assert re.fullmatch(r"halftrip: rank 1 \(process \d+\) was killed by SIGKILL\n", ended.err)


@pytest.mark.parametrize(("name", "rank"), MPI_RANKS)
def test_a_killed_rank_of_mpi_is_named(shell, name, rank):
    victim = Victim(shell, *WITH_MPI, *chosen(name), **quick_start(name))
    victim.await_measurements(2)
    pid = victim.rank(rank)
    ended = victim.kill(pid)
    assert (ended.status, ended.err) == (1, f"halftrip: rank {rank} (process {pid}) died\n")
    assert ended.run.interrupted == f"rank {rank} (process {pid}) died"


@pytest.mark.parametrize(
    ("transport", "mode", "name"),
    [
        ("mpi4py", "blocking", "wheel"),
        *(
            pytest.param(transport, mode, name, marks=pytest.mark.extended)
            for transport, mode, name in (
                ("mpi4py", "persistent", "wheel"),
                ("mpi4py-object", "blocking", "wheel"),
                ("mpi4py-object", "nonblocking", "mpich"),
            )
        ),
    ],
)
def test_a_rank_notices_within_a_call_of_mpi4py(shell, transport, mode, name):
    work = ("--ci", "none", "--time", "60s", "-s", "1M", "-t", transport, "-c", mode)
    victim = Victim(shell, *work, *chosen(name), **quick_start(name))
    victim.await_work(0)
    pid = victim.rank(1)
    ended = victim.kill(pid)
    assert (ended.status, ended.err) == (1, f"halftrip: rank 1 (process {pid}) died\n")


@pytest.mark.extended
def test_a_rank_that_is_killed_in_the_midst_of_a_thousand_rounds_ends_all(shell):
    """Two pairs measure in every round: three rounds of all pairs, 34 sizes, ten slices."""
    rounds = ("--pairs", "all", "-s", "0..66+2", "--iterations", "200", "-t", "shm")
    victim = Victim(shell, "-n", "4", *rounds)
    measured = 2 * 500
    victim.await_measurements(measured)
    pid = victim.rank(3)
    ended = victim.kill(pid)
    said = f"rank 3 (process {pid}) was killed by SIGKILL"
    assert (ended.status, ended.err) == (1, f"halftrip: {said}\n")
    assert ended.run.interrupted == said
    assert measured <= len(ended.run.measurements) < 2 * 1020
    pairs = {measurement.configuration.pair for measurement in ended.run.measurements}
    assert len(pairs) == 6


@pytest.mark.parametrize("name", EVERY_MPI)
def test_a_killed_mpiexec_is_named(shell, name):
    victim = Victim(shell, *WITH_MPI, *chosen(name), **quick_start(name))
    victim.await_measurements(2)
    pid = victim.launcher()
    ended = victim.kill(pid)
    program = Path(mpiexec(name)).name
    said = f"halftrip: {program} (process {pid}) was killed by SIGKILL\n"
    assert (ended.status, ended.err) == (1, said)


@pytest.mark.parametrize(
    "arguments",
    [LOCAL, pytest.param(WITH_MPI, marks=pytest.mark.extended)],
    ids=["local", "mpiexec"],
)
def test_the_ranks_of_a_killed_command_say_so_and_end(shell, arguments):
    victim = Victim(shell, *arguments, **ONE_HOST)
    victim.await_measurements(2)
    ended = victim.kill(victim.process.pid)
    assert ended.status == -signal.SIGKILL
    assert ended.err == f"halftrip: the launcher (process {victim.process.pid}) died\n"
    assert ended.run.interrupted == UNSAID


def test_a_stranger_who_connects_is_not_let_in(shell):
    """Whoever finds the launcher's socket but has no token learns nothing and breaks nothing."""
    victim = Victim(shell, *LOCAL)
    victim.await_listener()
    connected = 0
    for name in shell.marked.sockets():
        with socket.socket(socket.AF_UNIX) as stranger:
            try:
                stranger.connect(name.replace("@", "\0"))
                connected += 1
                stranger.sendall(b"\0\0\0\5hello")
                assert stranger.recv(100) == b""
            except ConnectionError:
                continue
    assert connected
    victim.await_measurements(2)
    victim.interrupt()


@pytest.mark.parametrize("transport", ["tcp", pytest.param("zmq", marks=pytest.mark.extended)])
def test_an_interrupt_of_a_rank_alone_is_a_signal_like_others(shell, transport):
    victim = Victim(shell, "-t", transport, "-s", "8", "--ci", "none", "--time", "60s")
    victim.await_work(0)
    pid = victim.rank(0)
    ended = victim.kill(pid, signal.SIGINT)
    said = f"rank 0 (process {pid}) was killed by SIGINT"
    assert (ended.status, ended.err) == (1, f"halftrip: {said}\n")
