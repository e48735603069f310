"""A command that goes on until a test does something to it."""

import contextlib
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from halftrip.results.run_file import load
from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.mpi import AS_ROOT
from harness.shell import HALFTRIP, Result

# Much to measure, in one launch: what happens to it happens in its midst.
_WORK = ("-s", "8,64K,1M", "--ci", "none", "--time", "2s", "-r", "100", "--launches", "1")
LOCAL = (*_WORK, "-t", "shm,tcp,pipe,unix")
WITH_MPI = (*_WORK, "-t", "mpi,shm,tcp")
# Why a run ended whose first rank could not write it down.
UNSAID = "the run ended without saying why"
_LOOK_SECONDS = 0.005
# What a rank runs.
_RANK = "halftrip.job.worker"
# What a rank is called that is a fork of the process that runs this.
_FORKED, _FORKS = "halftrip:", "halftrip.job.fork_server"


def _is_runtime(words):
    return "dragon" in words and "-s" in words


class Victim:
    """``halftrip run ARGUMENTS``, after `prefix`, and the processes of which it consists. `ignored`
    are signals that it is started with ignored."""

    def __init__(self, shell, *arguments, prefix=(), ignored=(), **environment):
        self.shell = shell
        self.path = shell.path
        self.process = shell.start(
            *(*prefix, HALFTRIP, "run", "-o", self.path, *arguments),
            environment=environment | (AS_ROOT if prefix else {}),
            start_new_session=True,
            ignored=ignored,
        )

    # States that can be seen from outside, in the order in which they come.

    def await_reset(self):
        """Until the command does not ignore interrupts, whatever the tests do."""
        self._await(lambda: not self.ignores(signal.SIGINT), "they are ignored")

    def await_handler(self):
        """Until the command has a handler for SIGTERM: halftrip's first line. What comes before is
        Python's own."""
        self._await(lambda: self.catches(signal.SIGTERM), "no handler")

    def await_file(self):
        """Until there is a run file. Then the ranks are being started."""
        self._await(lambda: self.count(b"\n"), "no run file")

    def await_process(self):
        """Until the command has started a rank, the process that forks them, or the mpiexec."""
        self._await(lambda: self._started(lambda words: {_RANK, _FORKS} & {*words}), "no process")

    def await_runtime(self):
        """Until the command has started a runtime of Dragon."""
        self._await(lambda: self._started(_is_runtime), "no runtime")

    def await_rank(self):
        """Until there are processes of ranks; the first of them."""
        found = []

        def is_there():
            found.extend(self._started(lambda words: words[-2:] == ["-m", _RANK]))
            forks = self._started(lambda words: _FORKS in words)
            found.extend(each for each in forks if each.name().startswith(_FORKED))
            return found

        self._await(is_there, "no rank")
        return found[0].pid

    def await_connection(self):
        """Until a rank has connected to the launcher."""
        self._await(lambda: any(self.shell.marked.sockets().values()), "no connection")

    def await_ranks(self):
        """Until the ranks have said where they are: their set-up is done."""
        self._await(lambda: self.count(b'"record":"environment"') >= 2, "no set-up")

    def await_measurements(self, count=1):
        """Until the file holds so many: what happens now, happens while others are made."""
        self._await(lambda: self.count(b'"record":"measurement"') >= count, "no measurement")

    def await_work(self, number, seconds=0.2):
        """Until that rank has computed for so long since its set-up: it is in a timed loop, or
        waits in one."""
        self.await_ranks()
        process = psutil.Process(self.rank(number))

        def computed():
            times = process.cpu_times()
            return times.user + times.system

        before = computed()
        self._await(lambda: computed() >= before + seconds, "nothing is computed")

    def _await(self, is_there, said):
        deadline = time.monotonic() + AMPLE_SECONDS
        while not is_there():
            if self.process.poll() is not None:
                out, err = self.process.communicate()
                pytest.fail(f"{said}: it has ended: {out}{err}")
            assert time.monotonic() < deadline, said
            self.shell.marked.note_segments()
            time.sleep(_LOOK_SECONDS)

    def count(self, part):
        """How often the file has it."""
        return self.path.read_bytes().count(part) if self.path.exists() else 0

    # The processes.

    def _command(self):
        return psutil.Process(self.process.pid)

    def _started(self, is_wanted):
        """The processes that the command has started whose words are wanted."""
        found = []
        for child in self._command().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                found += [child] * bool(is_wanted(child.cmdline()))
        return found

    def youngest(self):
        """The process of the run that was started last."""
        processes = self._command().children(recursive=True)
        return max(processes, key=lambda process: (process.create_time(), process.pid)).pid

    def rank(self, number):
        """The process of a rank, as the file has it."""
        return load(self.path).environments[number].pid

    def launcher(self):
        """The mpiexec that halftrip has started."""
        (child,) = self._command().children()
        return child.pid

    def runtime(self):
        """The runtime of Dragon that halftrip has started."""
        found = self._started(_is_runtime)
        return min(found, key=lambda process: process.create_time()).pid

    def catches(self, number):
        """Whether the command has a handler, its own or Python's, for a signal."""
        return self._has("SigCgt", number)

    def ignores(self, number):
        return self._has("SigIgn", number)

    def _has(self, mask, number):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (found,) = re.findall(rf"{mask}:\s*(\w+)", status)
        return bool(int(found, 16) >> (number - 1) & 1)

    # What is done to them.

    def kill(self, pid, number=signal.SIGKILL, seconds=END_SECONDS):
        """Sends a signal; the command ends within what is promised, and nothing is left of it but a
        file that holds all that was measured, and why no more was."""
        marked = self.shell.marked
        marked.note_segments()
        marked.note_sockets()
        measured = self.count(b'"record":"measurement"')
        began = time.monotonic()
        os.kill(pid, number)
        ended = self.wait(seconds)
        assert marked.await_end(began + seconds - time.monotonic()) == []
        assert "Traceback" not in ended.err, ended.err
        # A file that has just been created is still empty.
        if self.count(b"\n"):
            assert len(ended.run.measurements) >= measured
            assert ended.run.interrupted is not None, (ended.status, ended.out, ended.err)
            assert ended.run.problems == ()
        return ended

    def kill_rank(self, number):
        """Kills a rank that a launcher of this host has started: the command names it alone."""
        pid = self.rank(number)
        ended = self.kill(pid)
        said = f"rank {number} (process {pid}) was killed by SIGKILL"
        assert (ended.status, ended.err) == (1, f"halftrip: {said}\n")
        assert ended.run.interrupted == said
        return ended

    def interrupt(self):
        """Sends SIGINT to the command, as a terminal does."""
        return self.kill(self.process.pid, signal.SIGINT)

    def wait(self, seconds=AMPLE_SECONDS):
        """How the command ends, within so many seconds."""
        try:
            out, err = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.shell.marked.end()
            out, err = self.process.communicate()
            pytest.fail(f"it has not ended after {seconds:.1f} s: {out}{err}")
        return Result(self.process.returncode, out, err, self.path)
