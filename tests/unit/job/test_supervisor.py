"""The launcher's end of a job, with ranks that are threads and an mpiexec that is a shell."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time

import msgspec
import pytest

from halftrip.control.calling import connect, open_connection
from halftrip.control.greeting import introduce
from halftrip.control.listener import Listener
from halftrip.control.protocol import (
    Abort,
    Assignment,
    Bye,
    Closed,
    RecordLines,
)
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job.connected import guests
from halftrip.job.deaths import LaunchFailed
from halftrip.job.processes import Output
from halftrip.job.spec import Job
from halftrip.job.supervisor import Supervisor
from halftrip.job.view import NoView
from halftrip.plan.plan import Plan
from halftrip.results.run_file import RunFile
from harness.need import need_root
from harness.strangers import as_nobody
from harness.threads import in_thread

TOKEN = "a token of this test alone"


class SupervisedJob:
    """A job of one rank, whose supervisor writes into `path`. `end_seen` is set as soon as the
    supervisor notices the end."""

    def __init__(self, path):
        self.path = path
        self.end_seen = threading.Event()
        self._listener = Listener(TOKEN, guests(1))
        self.address = self._listener.address
        # The mpiexec's standard input: it runs until the write end is closed.
        self._read_end, self._write_end = os.pipe()

    def end_mpiexec(self):
        os.close(self._write_end)

    def run(self, status=0):
        """Supervises an mpiexec that ends with this status once `end_mpiexec` has been called."""
        job = Job(address=self.address, token=TOKEN, launcher=os.getpid(), ranks=1, mpi=True)
        script = f"read line; exit {status}"

        def start(job, started):
            process = subprocess.Popen(["sh", "-c", script], stdin=self._read_end)
            started.add(process, "mpiexec")

        run_file = RunFile(self.path)
        supervisor = self.supervisor = Supervisor(job, self._listener, run_file, NoView())
        end_early = supervisor._end_early

        def note_end():
            self.end_seen.set()
            end_early()

        supervisor._end_early = note_end
        try:
            supervisor.run(Plan(), start)
        finally:
            run_file.close()

    def connect(self, purpose):
        return connect(self.address, TOKEN, introduce(purpose, 0))

    def join(self):
        """The rank's connection, once it has its assignment."""
        channel = self.connect("control")
        assert isinstance(channel.receive(), Assignment)
        return channel

    def close(self):
        os.close(self._read_end)


@pytest.fixture
def job(tmp_path):
    job = SupervisedJob(tmp_path / "run.jsonl")
    with contextlib.closing(job):
        yield job


@contextlib.contextmanager
def beside(work):
    """Does `work` in a thread, and waits for its end."""
    finish = in_thread(work)
    yield
    assert finish() is None


def test_an_mpiexec_that_ends_before_its_ranks_connect_has_not_started_them(job):
    job.end_mpiexec()
    with pytest.raises(LaunchFailed, match="mpiexec ended with status 3"):
        job.run(status=3)


def test_a_rank_that_exits_before_another_has_said_bye_has_not_died(tmp_path):
    """The ranks are two processes; the first has ended before the second says Bye."""
    listener = Listener(TOKEN, guests(2))
    job = Job(address=listener.address, token=TOKEN, launcher=os.getpid(), ranks=2, mpi=False)
    children, gone = [], threading.Event()

    def start(job, started):
        for rank in (0, 1):
            children.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))
            started.add(children[-1], f"rank {rank}", ranks=(rank,))

    def ranks():
        hello = [introduce("control", rank) for rank in (0, 1)]
        channels = [
            connect(listener.address, TOKEN, msgspec.structs.replace(each, pid=child.pid))
            for each, child in zip(hello, children, strict=True)
        ]
        for channel in channels:
            assert isinstance(channel.receive(), Assignment)
        channels[0].send(Bye())
        children[0].stdin.close()
        gone.wait(5.0)
        channels[1].send(Bye())
        children[1].stdin.close()
        for channel in channels:
            channel.close()

    run_file = RunFile(tmp_path / "run.jsonl")
    supervisor = Supervisor(job, listener, run_file, NoView())
    on_exit = supervisor._on_exit

    def note_exit(descriptor):
        on_exit(descriptor)
        gone.set()

    supervisor._on_exit = note_exit

    def start_both(job, started):
        start(job, started)
        finish.append(in_thread(ranks))

    finish = []
    supervisor.run(Plan(), start_both)
    assert finish[0]() is None
    run_file.close()
    assert gone.is_set()
    assert [child.returncode for child in children] == [0, 0]


def test_a_rank_is_named_by_the_launcher_that_saw_it_die(tmp_path):
    """Rank 0's connection is the first that is closed."""
    listener = Listener(TOKEN, guests(2))
    job = Job(address=listener.address, token=TOKEN, launcher=os.getpid(), ranks=2, mpi=True)
    children = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in (0, 1)]
    finish = []

    def ranks():
        channels = [
            connect(
                listener.address,
                TOKEN,
                msgspec.structs.replace(introduce("control", each), pid=child.pid),
            )
            for each, child in enumerate(children)
        ]
        for channel in channels:
            assert isinstance(channel.receive(), Assignment)
        for child, channel in zip(children, channels, strict=True):
            channel.close()
            child.stdin.close()

    def start(job, started):
        output = Output()
        output.file.write(f"=   PID {children[1].pid} RUNNING AT host".encode())
        output.file.flush()
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        started.add(process, "mpiexec", output)
        started.until_finished.callback(process.stdin.close)
        finish.append(in_thread(ranks))

    run_file = RunFile(tmp_path / "run.jsonl")
    died = rf"rank 1 \(process {children[1].pid}\) died"
    with pytest.raises(Interrupted, match=died):
        Supervisor(job, listener, run_file, NoView()).run(Plan(), start)
    assert finish[0]() is None
    run_file.close()
    for child in children:
        child.wait()


def test_a_signal_while_the_processes_of_a_run_leave_is_not_lost(job):
    """Else the next launch would begin."""

    def rank():
        channel = job.join()
        channel.send(Bye())
        channel.close()
        while not job.supervisor._leaving:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
        job.end_mpiexec()

    with beside(rank), pytest.raises(Interrupted, match="stopped by SIGTERM"):
        job.run()


def test_an_mpiexec_that_ends_while_its_ranks_are_there_has_died(job):
    """Not a failed launch, after which the plan would be measured by other means."""
    channels = []

    def rank():
        channels.append(job.join())
        job.end_mpiexec()

    with beside(rank), pytest.raises(Interrupted, match="mpiexec ended with status 3"):
        job.run(status=3)
    channels[0].close()


@pytest.mark.parametrize(("usage", "kind"), [(False, HalftripError), (True, UsageError)])
def test_a_rank_s_own_reason_counts_even_if_an_end_is_noticed_first(job, usage, kind):
    def rank():
        channel = job.join()
        job.end_mpiexec()
        job.end_seen.wait()
        channel.send(Abort("no space left", usage=usage))
        channel.close()

    with beside(rank), pytest.raises(kind, match="no space left") as caught:
        job.run(status=3)
    assert type(caught.value) is kind


def test_a_rank_that_dies_before_its_lines_are_acknowledged_is_named(job):
    """The lines that it sent are in the file."""
    lines = [b"%d\n" % number for number in range(100)]

    def rank():
        control = job.join()
        events = job.connect("events")
        for line in lines:
            events.send(RecordLines(line))
        events.close()
        control.close()
        job.end_seen.wait()
        job.end_mpiexec()

    with beside(rank), pytest.raises(Interrupted, match=r"rank 0 \(process \d+\) died"):
        job.run()
    assert job.path.read_bytes() == b"".join(lines)


def test_nobody_else_may_connect_once_all_ranks_have(job):
    refused = []

    def rank():
        control = job.join()
        events = job.connect("events")
        events.send(RecordLines(b"x\n"))
        events.receive()
        with pytest.raises(ConnectionRefusedError):
            job.connect("control")
        refused.append(True)
        control.send(Bye())
        job.end_mpiexec()
        for channel in (control, events):
            channel.close()

    with beside(rank):
        job.run()
    assert refused


def test_strangers_and_second_greetings_do_not_disturb_a_start(job):
    """100 silent connections, a rank beyond the count, and one that is there already."""

    def rank():
        with contextlib.ExitStack() as silent:
            for _ in range(100):
                silent.enter_context(open_connection(job.address))
            began = time.monotonic()
            control = job.join()
            assert time.monotonic() - began < 5
            for number in (0, 1, 2**62, -2):
                with pytest.raises(Closed):
                    connect(job.address, TOKEN, introduce("control", number))
            events = job.connect("events")
            events.send(RecordLines(b"x\n"))
            events.receive()
            control.send(Bye())
            job.end_mpiexec()
            for channel in (control, events):
                channel.close()

    with beside(rank):
        job.run()
    assert job.path.read_bytes() == b"x\n"


def test_100_connections_of_another_user_do_not_disturb_a_start(job):
    need_root("to be another user")

    def rank():
        assert as_nobody(connect_100_times, job.address)
        channel = job.join()
        channel.send(Bye())
        channel.close()
        job.end_mpiexec()

    with beside(rank):
        job.run()


def connect_100_times(address):
    ends = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for end in ends:
        end.settimeout(10)
        end.connect(f"\0{address.unix}")
    return all(end.recv(1) == b"" for end in ends)
