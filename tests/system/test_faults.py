"""Processes that are really killed, at any moment: the command ends, says who died, leaves nothing
behind but a file that holds all that was measured."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from halftrip.results.run_file import load
from harness.shell import mpiexec, shared_memory

# Much to measure: the fault comes in its midst, never after it.
WORK = ("-s", "8,64K,1M", "--ci", "none", "--time", "200ms", "-r", "20")
LOCAL = (*WORK, "-t", "shm,tcp,pipe,unix")
WITH_MPI = (*WORK, "-t", "mpi,shm,tcp")
END_SECONDS = 5.0


class Victims:
    """A run that goes on, and the processes of which it consists."""

    def __init__(self, shell, *arguments, prefix=()):
        self.shell = shell
        self.path = shell.directory / "run.jsonl"
        self.before = shared_memory()
        self.process = subprocess.Popen(
            shell.command("run", "-o", self.path, *arguments, prefix=prefix),
            cwd=shell.directory,
            env=shell.environment | (shell.as_root if prefix else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def await_measurements(self, count, seconds=60.0):
        """Waits until the file holds so many, so that the fault comes while they are made."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.communicate()
            if self.path.exists() and self.path.read_bytes().count(b'"measurement"') >= count:
                return
            time.sleep(0.02)
        pytest.fail("nothing is measured")

    def catches(self, number):
        """Whether the command has a handler of its own, or of Python's, for a signal."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = re.findall(r"SigCgt:\s*(\w+)", status)
        return bool(int(line, 16) >> (number - 1) & 1)

    def await_our_first_line(self):
        """Waits until Python has come to it: of what comes before, SIGTERM is caught by nobody."""
        deadline = time.monotonic() + 20
        while not self.catches(signal.SIGTERM):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def await_file(self):
        """Waits until there is a run file; then the ranks are being started."""
        deadline = time.monotonic() + 20
        while not (self.path.exists() and self.path.stat().st_size):
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def rank(self, number):
        """The process of a rank, as the file has it."""
        return load(self.path).environments[number].pid

    def launcher(self):
        """The mpiexec that halftrip has started."""
        (child,) = psutil.Process(self.process.pid).children()
        return child.pid

    def left_behind(self):
        segments = shared_memory() - self.before
        return [*self.shell.left_behind(), *segments, *abstract_sockets()]

    def kill(self, pid, number=signal.SIGKILL):
        """Sends a signal, and waits for the command to end."""
        measured = self.path.read_bytes().count(b'"measurement"') if self.path.exists() else 0
        began = time.monotonic()
        os.kill(pid, number)
        out, err = self.process.communicate(timeout=20)
        assert time.monotonic() - began < END_SECONDS
        while self.left_behind() and time.monotonic() - began < END_SECONDS:
            time.sleep(0.02)
        assert self.left_behind() == []
        assert "Traceback" not in err
        if self.path.exists():
            run = load(self.path)
            assert len(run.measurements) >= measured
            assert run.interrupted is not None
            assert run.problems == ()
        return Ended(self.process.returncode, out, err, self.path)


def await_end(left_behind):
    deadline = time.monotonic() + END_SECONDS
    while left_behind() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left_behind() == []


class Ended:
    def __init__(self, status, out, err, path):
        self.status, self.out, self.err, self.path = status, out, err, path

    @property
    def reason(self):
        return load(self.path).interrupted


def abstract_sockets():
    return [line for line in Path("/proc/net/unix").read_text().splitlines() if "@halftrip" in line]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_local_rank_is_killed(shell, rank):
    victims = Victims(shell, *LOCAL)
    victims.await_measurements(3)
    pid = victims.rank(rank)
    ended = victims.kill(pid)
    said = f"rank {rank} (process {pid}) was killed by SIGKILL"
    assert ended.status == 1
    assert ended.err == f"halftrip: {said}\n"
    assert ended.reason == said
    # What was measured is shown all the same.
    assert f"interrupted: {said}" in ended.out
    assert "latency" in ended.out


@pytest.mark.parametrize("transport", ["shm", "pipe", "unix", "tcp", "udp"])
@pytest.mark.parametrize("wait", ["block", "spin"])
def test_whatever_a_rank_is_waiting_in(shell, transport, wait):
    if transport == "shm" and wait == "block":
        wait = "spin"
    size = "32K" if transport == "udp" else "1M"
    work = ("--ci", "none", "--time", "60s", "-s", size, "-t", transport, "--wait", wait)
    victims = Victims(shell, *work)
    deadline = time.monotonic() + 30
    while not (victims.path.exists() and victims.path.read_bytes().count(b'"environment"') == 2):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(0.3)
    ended = victims.kill(victims.rank(1))
    assert re.fullmatch(r"halftrip: rank 1 \(process \d+\) was killed by SIGKILL\n", ended.err)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
def test_a_rank_of_mpi_is_killed(shell, name, rank):
    victims = Victims(shell, *WITH_MPI, "--mpiexec", mpiexec(name))
    victims.await_measurements(2)
    pid = victims.rank(rank)
    ended = victims.kill(pid)
    assert ended.status == 1
    assert ended.err == f"halftrip: rank {rank} (process {pid}) died\n"
    assert ended.reason == f"rank {rank} (process {pid}) died"


@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
def test_the_mpiexec_is_killed(shell, name):
    victims = Victims(shell, *WITH_MPI, "--mpiexec", mpiexec(name))
    victims.await_measurements(2)
    pid = victims.launcher()
    ended = victims.kill(pid)
    assert ended.status == 1
    program = Path(mpiexec(name)).name
    assert ended.err == f"halftrip: {program} (process {pid}) was killed by SIGKILL\n"


@pytest.mark.parametrize("arguments", [LOCAL, WITH_MPI], ids=["local", "mpiexec"])
def test_the_launcher_is_killed(shell, arguments):
    victims = Victims(shell, *arguments)
    victims.await_measurements(2)
    ended = victims.kill(victims.process.pid)
    assert ended.err == f"halftrip: the launcher (process {victims.process.pid}) died\n"
    assert ended.reason == "the run ended without saying why"
    assert list(shell.directory.glob("halftrip-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", [LOCAL, WITH_MPI], ids=["local", "mpiexec"])
def test_the_user_stops_it(shell, arguments, number):
    victims = Victims(shell, *arguments)
    victims.await_measurements(2)
    ended = victims.kill(victims.process.pid, number)
    assert ended.status == 128 + number
    assert ended.err == f"halftrip: stopped by {number.name}\n"
    assert ended.reason == f"stopped by {number.name}"


@pytest.mark.parametrize("seconds", [0.05, 0.15, 0.3, 0.5, 0.7, 0.9, 1.1, 1.4, 1.8, 2.3])
@pytest.mark.parametrize("arguments", [LOCAL, WITH_MPI], ids=["local", "mpiexec"])
def test_the_user_stops_it_at_any_moment(shell, arguments, seconds):
    victims = Victims(shell, *arguments)
    victims.await_our_first_line()
    time.sleep(seconds)
    ended = victims.kill(victims.process.pid, signal.SIGINT)
    assert ended.status == 130
    assert ended.err == "halftrip: stopped by SIGINT\n"


def test_an_interrupt_at_any_moment_after_the_start_of_python(shell):
    """Held still while it is looked at, the process has one of three states. While Python itself
    starts it catches interrupts and runs nothing of ours yet: there it prints what it likes, and
    nobody but Python could change that."""
    states = {"nothing caught": 0, "Python's own": 0, "ours": 0}
    for milliseconds in range(0, 201, 5):
        victims = Victims(shell, "-t", "shm", "-s", "8", "--ci", "none", "--time", "60s")
        time.sleep(milliseconds / 1000)
        pid = victims.process.pid
        os.kill(pid, signal.SIGSTOP)
        os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
        ours, caught = victims.catches(signal.SIGTERM), victims.catches(signal.SIGINT)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGCONT)
        out, err = victims.process.communicate(timeout=20)
        if ours:
            states["ours"] += 1
            assert (victims.process.returncode, err) == (130, "halftrip: stopped by SIGINT\n")
        elif caught:
            states["Python's own"] += 1
            assert victims.process.returncode != 0
            assert not re.search(r'File "[^"]*/halftrip/(?!__init__|__main__)', err)
        else:
            states["nothing caught"] += 1
            assert (victims.process.returncode, out, err) == (-signal.SIGINT, "", "")
        await_end(victims.left_behind)
        victims.path.unlink(missing_ok=True)
    assert states["ours"] >= 20, states


def test_many_ranks_are_stopped_while_they_start(shell):
    for seconds in (0.0, 0.1, 0.3, 0.8):
        victims = Victims(shell, "-t", "shm", "--launcher", "local", "-n", "24", "-s", "8")
        victims.await_file()
        time.sleep(seconds)
        ended = victims.kill(victims.process.pid, signal.SIGINT)
        assert ended.status == 130
        assert ended.err == "halftrip: stopped by SIGINT\n"
        assert ended.reason == "stopped by SIGINT"
        victims.path.unlink()


@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.7, 1.0, 1.4, 1.8])
def test_somebody_is_killed_at_any_moment_of_the_start(shell, seconds):
    victims = Victims(shell, *WITH_MPI)
    deadline = time.monotonic() + 30
    while not (children := psutil.Process(victims.process.pid).children(recursive=True)):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    time.sleep(seconds)
    children = psutil.Process(victims.process.pid).children(recursive=True) or children
    ended = victims.kill(children[-1].pid)
    assert ended.status == 1
    assert re.search(r"halftrip: .*(died|was killed by SIGKILL)\n", ended.err)


@pytest.mark.parametrize("name", ["wheel", "openmpi"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_a_job_that_was_joined_is_killed(shell, name, rank):
    victims = Victims(shell, *WITH_MPI, prefix=(mpiexec(name), "-n", "2"))
    victims.await_measurements(2)
    pid = victims.rank(rank)
    ended = victims.kill(pid)
    assert ended.status != 0
    named = "rank 0 died" if rank == 0 else f"rank 1 (process {pid}) died"
    assert f"halftrip: {named}\n" in ended.err
    # Rank 0 writes the file; if it is the one that died, the file just stops.
    expected = "the run ended without saying why" if rank == 0 else named
    assert ended.reason == expected


def test_a_rank_of_a_job_that_mpich_started_is_killed(shell):
    """MPICH's launcher says itself who died. It sends the other rank SIGKILL within the millisecond
    in which it learns of the death, so what that rank has said and written by then is a race that
    it cannot win for certain: the file says who died, or just stops."""
    victims = Victims(shell, *WITH_MPI, prefix=(mpiexec("mpich"), "-n", "2"))
    victims.await_measurements(2)
    pid = victims.rank(1)
    ended = victims.kill(pid)
    assert ended.status != 0
    assert f"PID {pid}" in ended.out
    named = f"rank 1 (process {pid}) died"
    assert ended.reason in (named, "the run ended without saying why")


@pytest.mark.parametrize("name", ["wheel", "openmpi", "mpich"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_launcher_of_a_job_that_was_joined_is_stopped(shell, name, number):
    victims = Victims(shell, *WITH_MPI, prefix=(mpiexec(name), "-n", "2"))
    victims.await_measurements(2)
    victims.kill(victims.process.pid, number)


def test_a_stranger_at_the_door_is_not_let_in(shell):
    """Whoever finds the launcher's socket but has no token learns nothing and breaks nothing."""
    victims = Victims(shell, *LOCAL)
    victims.await_measurements(1)
    names = {line.split("@")[1] for line in abstract_sockets()}
    for name in names:
        with socket.socket(socket.AF_UNIX) as stranger:
            try:
                stranger.connect(f"\0{name}")
                stranger.sendall(b"\0\0\0\5hello")
                assert stranger.recv(100) == b""
            except (ConnectionError, FileNotFoundError):
                continue
    victims.await_measurements(4)
    victims.kill(victims.process.pid, signal.SIGINT)


def test_an_interrupted_run_is_an_exception_in_python(shell):
    program = (
        "import os, signal, threading, halftrip\n"
        "threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGTERM)).start()\n"
        "try:\n"
        "    halftrip.run(transport='shm', sizes='8', ci='none', time='60s', output='run.jsonl')\n"
        "except halftrip.errors.Interrupted as error:\n"
        "    print(error, halftrip.load('run.jsonl').interrupted, sep='; ')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        cwd=shell.directory,
        env=shell.environment,
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert result.stdout == "stopped by SIGTERM; stopped by SIGTERM\n"
