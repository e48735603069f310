"""The launcher's end of a job, with ranks that are threads and an mpiexec that is a shell."""

import contextlib
import os
import signal
import subprocess
import threading
import time

import msgspec
import pytest

from halftrip.control.calling import connect
from halftrip.control.greeting import introduce
from halftrip.control.listener import Listener
from halftrip.control.protocol import Abort, Assignment, Bye, Closed, RecordLines
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job.connected import guests
from halftrip.job.processes import ProcessOutput
from halftrip.job.spec import Job
from halftrip.job.supervisor import Supervisor
from halftrip.job.view import NoView
from halftrip.plan.plan import Plan
from halftrip.results.run_file import RunFile
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


class TwoRanks:
    """A job whose ranks are two processes, and a supervisor of it."""

    def __init__(self, path, mpi):
        self._listener = Listener(TOKEN, guests(2))
        address = self._listener.address
        job = Job(address=address, token=TOKEN, launcher=os.getpid(), ranks=2, mpi=mpi)
        self.children = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in (0, 1)]
        self.run_file = RunFile(path)
        self.supervisor = Supervisor(job, self._listener, self.run_file, NoView())

    def join(self):
        """The connections of both, once they have their assignments."""
        channels = []
        for rank, child in enumerate(self.children):
            hello = msgspec.structs.replace(introduce("control", rank), pid=child.pid)
            channels.append(connect(self._listener.address, TOKEN, hello))
        for channel in channels:
            assert isinstance(channel.receive(), Assignment)
        return channels

    def run(self, start, ranks):
        """Supervises what `start(started)` starts, while `ranks` is done in a thread."""
        finish = []

        def begin(job, started):
            start(started)
            finish.append(in_thread(ranks))

        try:
            self.supervisor.run(Plan(), begin)
        finally:
            assert finish[0]() is None
            self.run_file.close()
            for child in self.children:
                child.wait()


@pytest.mark.parametrize("at_once", [False, True])
def test_a_rank_whose_end_is_seen_before_a_bye_has_not_died(tmp_path, at_once):
    """That of the other rank, or, on a busy machine, where both ends are seen at once, its own."""
    two, gone = TwoRanks(tmp_path / "run.jsonl", mpi=False), threading.Event()
    on_exit = two.supervisor._on_exit

    def note_exit(descriptor):
        for child in two.children if at_once else ():
            child.wait()
        on_exit(descriptor)
        gone.set()

    two.supervisor._on_exit = note_exit

    def start(started):
        for rank, child in enumerate(two.children):
            started.add(child, f"rank {rank}", ranks=(rank,))

    def ranks():
        channels = two.join()
        for child in two.children if at_once else ():
            child.stdin.close()
        for channel, child in zip(channels, two.children, strict=True):
            if at_once:
                gone.wait(5.0)
            channel.send(Bye())
            child.stdin.close()
            gone.wait(5.0)
            channel.close()

    two.run(start, ranks)
    assert gone.is_set()
    assert [child.returncode for child in two.children] == [0, 0]


def test_a_rank_is_named_by_the_launcher_that_saw_it_die(tmp_path):
    """Rank 0's connection is the first that is closed."""
    two = TwoRanks(tmp_path / "run.jsonl", mpi=True)
    died = two.children[1].pid

    def start(started):
        output = ProcessOutput()
        output.file.write(f"=   PID {died} RUNNING AT host".encode())
        output.file.flush()
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        started.add(process, "mpiexec", output)
        started.until_finished.callback(process.stdin.close)

    def ranks():
        for child, channel in zip(two.children, two.join(), strict=True):
            channel.close()
            child.stdin.close()

    with pytest.raises(Interrupted, match=rf"rank 1 \(process {died}\) died"):
        two.run(start, ranks)


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


def test_a_signal_as_an_error_is_noticed_leaves_no_process(tmp_path):
    class Signalled(HalftripError):
        def __str__(self):
            os.kill(os.getpid(), signal.SIGINT)
            return "it failed"

    started = []

    def start(job, found):
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        started.append(process)
        found.add(process, "cat")
        raise Signalled

    listener = Listener(TOKEN, guests(1))
    job = Job(address=listener.address, token=TOKEN, launcher=os.getpid(), ranks=1)
    run_file = RunFile(tmp_path / "run.jsonl")
    with contextlib.closing(run_file), pytest.raises(Signalled):
        Supervisor(job, listener, run_file, NoView()).run(Plan(), start)
    (process,) = started
    process.stdin.close()
    assert process.returncode is not None


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


def test_ranks_beyond_the_count_are_refused_and_anybody_once_all_are_there(job):
    def rank():
        control = job.join()
        for number in (0, 1, 2**62, -2):
            with pytest.raises(Closed):
                connect(job.address, TOKEN, introduce("control", number))
        events = job.connect("events")
        events.send(RecordLines(b"x\n"))
        events.receive()
        with pytest.raises(ConnectionRefusedError):
            job.connect("control")
        control.send(Bye())
        job.end_mpiexec()
        for channel in (control, events):
            channel.close()

    with beside(rank):
        job.run()
    assert job.path.read_bytes() == b"x\n"
