"""The launcher's end of a job, with ranks that are threads and an mpiexec that is a shell."""

import os
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from halftrip.control.protocol import Abort, Assignment, Bye, Line, Listener, connect, introduce
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job.spec import Job
from halftrip.job.supervisor import Control, LaunchFailed
from halftrip.plan.plan import Plan
from halftrip.results.run_file import RunFile

TOKEN = "a token of this test alone"


class NoView:
    visible = False

    def update(self, done, total, what):
        pass


@pytest.fixture
def job(tmp_path):
    listener = Listener(TOKEN)
    job = Job(address=listener.address, token=TOKEN, launcher=os.getpid(), ranks=1, mpi=True)
    run_file = RunFile(tmp_path / "run.jsonl")

    def control(script):
        def start(job, started):
            started.add(subprocess.Popen(["sh", "-c", script]), "mpiexec")

        return Control(job, listener, run_file, NoView()).run(Plan(), start)

    yield SimpleNamespace(job=job, control=control)
    run_file.close()


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def join_job(job):
    channel = connect(job.address, introduce(TOKEN, "control", 0))
    assert isinstance(channel.receive(), Assignment)
    return channel


def test_an_mpiexec_that_ends_before_its_ranks_come_has_not_started_them(job):
    with pytest.raises(LaunchFailed, match="mpiexec ended with status 3"):
        job.control("exit 3")


def test_an_mpiexec_that_ends_while_its_ranks_are_there_is_a_death(job):
    """Nothing is to be measured once more by other means."""
    channels = []
    rank = in_thread(lambda: channels.append(join_job(job.job)))
    with pytest.raises(Interrupted, match="mpiexec ended with status 3"):
        job.control("sleep 0.5; exit 3")
    rank.join()
    channels[0].close()


@pytest.mark.parametrize(("usage", "kind"), [(False, HalftripError), (True, UsageError)])
def test_what_a_rank_says_counts_even_if_its_end_is_noticed_first(job, usage, kind):
    channels = []

    def rank():
        channel = join_job(job.job)
        channels.append(channel)
        time.sleep(0.6)
        channel.send(Abort("no space left", usage=usage))
        channel.close()

    thread = in_thread(rank)
    with pytest.raises(kind, match="no space left") as caught:
        job.control("sleep 0.5; exit 3")
    assert type(caught.value) is kind
    thread.join()


def test_a_rank_that_dies_before_it_hears_that_its_line_is_written_is_named(job):
    """And what it has handed over is in the file."""

    def rank():
        control = join_job(job.job)
        events = connect(job.job.address, introduce(TOKEN, "events", 0))
        for number in range(100):
            events.send(Line(b"%d\n" % number))
        events.close()
        time.sleep(0.1)
        control.close()

    thread = in_thread(rank)
    with pytest.raises(Interrupted, match=r"rank 0 \(process \d+\) died"):
        job.control("sleep 0.8")
    thread.join()


def test_nobody_is_let_in_once_all_are_there(job):
    def rank():
        control = join_job(job.job)
        events = connect(job.job.address, introduce(TOKEN, "events", 0))
        events.send(Line(b"x\n"))
        events.receive()
        with pytest.raises(ConnectionRefusedError):
            connect(job.job.address, introduce(TOKEN, "control", 0))
        refused.append(True)
        control.send(Bye())
        for channel in (control, events):
            channel.close()

    refused = []
    thread = in_thread(rank)
    job.control("sleep 0.5")
    thread.join()
    assert refused
