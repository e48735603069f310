"""Ranks as forks of one process: it gives its forks away, and ends whatever happens."""

import contextlib
import os
import signal
import socket
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import psutil
import pytest

from halftrip.control.protocol import Address
from halftrip.errors import Stopped
from halftrip.job import forks
from halftrip.job.launchers.local import LocalLauncher
from halftrip.job.processes import Started
from halftrip.job.spec import RANK_VARIABLE, Job
from halftrip.plan.plan import Plan
from harness.limits import until

TOKEN = "0" * 32


NAME = f"halftrip-test-{os.getpid()}"


def environment():
    """That of a job whose launcher does not listen: its ranks end at once, with status 1."""
    job = Job(address=Address(unix=NAME), token=TOKEN, launcher=os.getpid(), ranks=2)
    return job.environment()


@contextlib.contextmanager
def silent_launcher():
    """One that listens, and says nothing: the ranks of such a job wait for it."""
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(f"\0{NAME}")
        listener.listen()
        yield


def await_end(rank):
    until(lambda: rank.poll() is not None)
    return rank.returncode


@pytest.fixture
def children():
    """The processes that a test has started; a test before it may have left others."""
    before = set(psutil.Process().children())
    return lambda: [each.pid for each in psutil.Process().children() if each not in before]


@pytest.fixture
def server(children):
    started = forks.ForkServer(TOKEN)
    yield started
    started.end()


def test_forks_are_children_of_whoever_asked_and_how_they_end_is_known(server):
    with silent_launcher():
        ranks = first, second = server.fork(environment(), 2, lambda: True)
        for rank in ranks:
            assert psutil.Process(rank.pid).ppid() == os.getpid()
            assert TOKEN.encode() in Path(f"/proc/{rank.pid}/environ").read_bytes()
        os.kill(first.pid, signal.SIGSTOP)
        second.terminate()
        first.kill()
        assert await_end(first) == -signal.SIGKILL
        assert await_end(second) in (-signal.SIGTERM, 1)
    # What has ended is not signalled: its number may be another process's.
    first.kill()


def test_a_run_that_is_over_gets_no_forks(server, children):
    # Else it might be ready, and fork, before it is ended.
    os.kill(server.pid, signal.SIGSTOP)
    assert server.fork(environment(), 2, lambda: False) == []
    assert children() == []


def test_a_signal_while_ranks_are_forked_leaves_the_server_to_the_end_of_the_run(monkeypatch):
    """What ends the ranks waits for every other process of the job."""
    started = Started()

    def fork(*_):
        started.stop_reason = "stopped by SIGINT"
        return [Mock(pid=number) for number in (8, 9)]

    server = SimpleNamespace(pid=7, fork=fork)
    monkeypatch.setattr(forks, "server", lambda token: server)
    job = Job(address=Address(), token=TOKEN, launcher=os.getpid(), ranks=2)
    launcher = LocalLauncher(Plan())
    launcher.may_fork = True
    with pytest.raises(Stopped):
        launcher.start(job, started)
    assert (len(started.processes), started.lasting) == (2, {7})


def test_a_server_serves_launch_after_launch_with_the_environment_of_each(server, children):
    found = []
    for number in range(3):
        variables = environment() | {"HALFTRIP_TEST": str(number)}
        ranks = server.fork(variables, 2, lambda: True)
        assert [await_end(rank) for rank in ranks] == [1, 1]
        found += [rank.pid for rank in ranks]
    assert len(set(found)) == 6
    assert children() == [server.pid]


@pytest.mark.parametrize("launches", [0, 1])
def test_a_killed_server_is_named(server, launches):
    """Before the first launch, and between two."""
    for _ in range(launches):
        for rank in server.fork(environment(), 2, lambda: True):
            await_end(rank)
    os.kill(server.pid, signal.SIGKILL)
    with pytest.raises(forks.Killed) as raised:
        server.fork(environment(), 2, lambda: True)
    assert (raised.value.pid, raised.value.number) == (server.pid, signal.SIGKILL)


def test_a_server_serves_the_environment_that_it_was_started_in(monkeypatch, children):
    monkeypatch.setattr(forks, "_current", [forks.ForkServer(TOKEN)])
    assert forks.token() == TOKEN
    first = forks.server(TOKEN)
    assert forks.server(TOKEN) is first
    monkeypatch.setenv(RANK_VARIABLE, "7")
    assert forks.server(TOKEN) is not first
    assert forks.token() == TOKEN
    forks.end()
    assert forks.token() is None
    assert children() == []


def test_without_processes_there_are_no_forks(monkeypatch):
    def fail(*_, **__):
        raise BlockingIOError

    before = os.listdir("/proc/self/fd")
    monkeypatch.setattr(forks.subprocess, "Popen", fail)
    assert forks.server(TOKEN) is None
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(
    ("words", "is_begun"),
    [
        ("-t shm", True),
        ("-s 8 --transport=shm,mp-pipe --time 0.1s", True),
        ("", False),
        ("-t shm,mpi", False),
        ("-t shm --launches 2", True),
        ("-t shm --launcher=ssh", False),
        ("-t shm --vary window=1,2", False),
        ("-t shm --help", False),
    ],
)
def test_a_server_is_begun_for_a_run_that_will_want_it(monkeypatch, words, is_begun):
    begun = []
    monkeypatch.setattr(forks, "_current", [])
    monkeypatch.setattr(forks, "ForkServer", lambda token: begun.append(token))
    forks.begin(words.split())
    assert len(begun) == is_begun
