"""The end of a job: no process of it is left on this host, and no shared memory."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import time

from halftrip.job import shm_cleanup
from halftrip.job.processes import POLL_SECONDS, Started, descendants, job_processes
from halftrip.job.spec import Job

# How often ranks that start are looked at, at most.
_LOOK_SECONDS = 0.005
_SPARE_FILES = 4
# How long processes may take to end after SIGTERM.
_TERMINATE_SECONDS = 0.7
_MOST_KILLS = 20


class CleanUp:
    """Ends the processes of `job`, those that were `started` and what they started."""

    def __init__(self, job: Job, started: Started) -> None:
        self._job = job
        self._started = started
        self._segments = shm_cleanup.Segments()
        # To look at processes in the end, where no more can be had by then.
        self._spare = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(_SPARE_FILES)]

    def note_segments(self) -> float:
        """Notes which segments of MPI the ranks have now, and which processes a Dragon runtime on
        several nodes has here, of which each may make pools. Returns after how many seconds to do
        that again: MPICH's segments are there for a few milliseconds."""
        if not (self._job.mpi or self._started.spans_nodes):
            return math.inf
        began = time.monotonic()
        for process in self._started.processes:
            self._segments.note(descendants(process.pid))
        if self._started.spans_nodes:
            # A workload manager has started those that are no descendants.
            self._started.pool_makers.update(job_processes(self._job.token))
        return max(_LOOK_SECONDS, 5 * (time.monotonic() - began))

    def prepare(self) -> None:
        """Before ranks are told to leave."""
        self.close()
        self.note_segments()

    def end(self, leave: bool) -> None:
        """Returns when no process is left; with `leave`, they have their time to leave by
        themselves."""
        if not (leave and self.await_end(self._started.leave_seconds)):
            for process in self._started.processes:
                process.terminate()
            if not self.await_end(_TERMINATE_SECONDS):
                self._kill()
        shm_cleanup.remove(self._segments.orphans())

    def _kill(self) -> None:
        """Kills every process of the job, those that are started meanwhile, too. Thousands of them
        take some seconds to end."""
        for process in self._started.processes:
            process.kill()
        for _ in range(_MOST_KILLS):
            for pid in job_processes(self._job.token):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if self.await_end(_TERMINATE_SECONDS):
                return

    def await_end(self, seconds: float) -> bool:
        """Waits until no process of the job is left, at most `seconds`. Returns whether none is."""
        deadline = time.monotonic() + seconds
        while True:
            # The end of the last child is noticed at once.
            if self._started.wait(POLL_SECONDS):
                # The ranks of an mpiexec are not children of this process, and can outlive it.
                if not job_processes(self._job.token):
                    return True
                time.sleep(POLL_SECONDS)
            if time.monotonic() > deadline:
                return False

    def close(self) -> None:
        """Closes what was kept open for the end."""
        while self._spare:
            os.close(self._spare.pop())
