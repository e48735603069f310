"""Supervises the ranks of a job: takes their records, and notices if one dies."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from halftrip.control.protocol import (
    Abort,
    Ack,
    Assignment,
    Bye,
    Channel,
    Closed,
    Hello,
    Listener,
    Progress,
    RecordLine,
)
from halftrip.errors import HalftripError, Interrupted
from halftrip.job import shm_cleanup
from halftrip.job.processes import LOOK_SECONDS, Started, job_processes
from halftrip.job.signals import catching
from halftrip.job.spec import Job
from halftrip.job.view import View
from halftrip.plan.plan import Plan

# How long all ranks may take to start and connect. Large jobs wait for slow file systems.
_START_SECONDS = 60.0
# After the first death others follow; how long to wait for reports before naming one.
_REPORTS_SECONDS = 0.2
# Ranks leave within a second of being told, see watch.GRACE_SECONDS; then they are made to.
_LEAVE_SECONDS = 1.5
_TERMINATE_SECONDS = 0.7
# How an mpiexec says that a signal ended a rank: Open MPI as shells do, MPICH by its bare number.
_KILLED_STATUSES = {
    9: signal.SIGKILL,
    128 + signal.SIGKILL: signal.SIGKILL,
    128 + signal.SIGTERM: signal.SIGTERM,
}


class LaunchFailed(HalftripError):
    """The ranks did not start; the reason is the launcher's own."""


class Records(Protocol):
    """Where the lines of a run file go; `last` is its end."""

    def append(self, line: bytes, last: bool = False) -> None: ...


@dataclass
class ConnectedRank:
    """A rank that has connected. `finished`: it has said that its work is done."""

    hello: Hello
    control: Channel
    finished: bool = False

    @property
    def name(self) -> str:
        return f"rank {self.hello.rank} (process {self.hello.pid})"


class Supervisor:
    """The launcher's end of all connections of one job. `records` takes lines of the run file, and
    `view` shows progress."""

    def __init__(self, job: Job, listener: Listener, records: Records, view: View) -> None:
        self._job = job
        self._listener = listener
        self._started = Started()
        self._records = records
        self._view = view
        self._ranks: dict[int, ConnectedRank] = {}
        self._events: list[Channel] = []
        # What ranks have reported about the end, and which closed their connection without a word,
        # in the order in which that was noticed.
        self._reports: list[HalftripError] = []
        self._ending = False
        self._began = time.time()
        self._selector = selectors.DefaultSelector()
        self._starting = False
        self._assigned = False
        self._leaving = False

    def run(self, plan: Plan, start: Callable[[Job, Started], None], launch: int = 0) -> None:
        """Has `start` start the ranks and these walk through `plan`, as the launch of that number;
        returns when they are done and gone.

        Raises LaunchFailed if they did not start, UsageError or HalftripError if one of them gave
        up, Interrupted if somebody died or a signal came. No process is left in any case.
        """
        with catching(self._on_signal):
            self._run(plan, start, launch)

    def _run(self, plan: Plan, start: Callable[[Job, Started], None], launch: int) -> None:
        try:
            self._start(start)
            self._selector.register(self._listener, selectors.EVENT_READ, self._on_connection)
            for process in self._started.processes:
                descriptor = os.pidfd_open(process.pid)
                self._selector.register(descriptor, selectors.EVENT_READ, self._on_exit)
            self._await_ranks()
            self._assign(plan, launch)
            while not all(rank.finished for rank in self._ranks.values()):
                self._serve(None)
            self._leaving = True
            if not self._started.wait(_LEAVE_SECONDS):
                self._clear_away("the run is over")
            lines = self._started.lines()
            if lines:
                self._view.quote(", ".join(self._started.processes.values()), lines)
        except HalftripError as error:
            self._clear_away(str(error))
            raise
        except BaseException as error:
            self._clear_away(f"the launcher failed: {type(error).__name__}")
            raise
        finally:
            self._close()

    def _on_signal(self, reason: str) -> None:
        # Once: what comes after it must not keep us from clearing away.
        if self._starting:
            # A process that is just being started would not be noted.
            self._started.stopped = reason
        elif not self._leaving:
            self._leaving = True
            raise Interrupted(reason)

    def _serve(self, timeout: float | None) -> None:
        """Deals with whatever comes next. Raises what `run` does."""
        for key, _ in self._selector.select(timeout):
            key.data(key.fileobj)

    # Starting.

    def _start(self, start: Callable[[Job, Started], None]) -> None:
        self._starting = True
        try:
            start(self._job, self._started)
        except OSError as error:
            raise LaunchFailed(
                f"{error.filename}: {(error.strerror or str(error)).lower()}"
            ) from None
        finally:
            self._starting = False
        if self._started.stopped is not None:
            raise Interrupted(self._started.stopped)

    def _await_ranks(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while len(self._ranks) < self._job.ranks:
            left = deadline - time.monotonic()
            if left < 0:
                ranks = f"{len(self._ranks)} of {self._job.ranks} ranks"
                raise LaunchFailed(f"only {ranks} came within {_START_SECONDS:.0f} s")
            self._serve(left)

    def _on_connection(self, listener: Listener) -> None:
        accepted = listener.accept()
        if accepted is None:
            return
        channel, hello = accepted
        if hello.purpose == "control":
            rank = ConnectedRank(hello, channel)
            if hello.rank >= 0:
                self._ranks[hello.rank] = rank
            self._selector.register(channel, selectors.EVENT_READ, lambda _: self._on_control(rank))
        else:
            self._events.append(channel)
            self._selector.register(channel, selectors.EVENT_READ, self._on_event)
        if self._events and len(self._ranks) == self._job.ranks:
            # All are here: nobody else may connect.
            self._selector.unregister(listener)
            listener.close()

    def _assign(self, plan: Plan, launch: int) -> None:
        self._assigned = True
        for rank in self._ranks.values():
            assignment = Assignment(
                plan=msgspec.json.encode(plan),
                group=self._ranks[0].hello.group,
                progress=self._view.visible,
                launch=launch,
            )
            with contextlib.suppress(Closed):  # it is noticed as a death
                rank.control.send(assignment)

    # Serving.

    def _on_control(self, rank: ConnectedRank) -> None:
        try:
            message = rank.control.receive()
        except Closed:
            self._selector.unregister(rank.control)
            self._reports.append(Interrupted(f"{rank.name} died"))
            self._end_early()
            return
        if isinstance(message, Bye):
            rank.finished = True
            self._selector.unregister(rank.control)
        elif isinstance(message, Abort):
            self._selector.unregister(rank.control)
            has_started = rank.hello.rank >= 0
            report = message.error() if has_started else LaunchFailed(message.reason)
            if not self._ending:
                raise report
            self._reports.append(report)

    def _on_event(self, channel: Channel) -> None:
        try:
            message = channel.receive()
        except Closed:
            self._selector.unregister(channel)
            return
        if isinstance(message, RecordLine):
            self._records.append(message.line, last=message.last)
        elif isinstance(message, Progress):
            self._view.update(message.done, message.total, message.what)
        with contextlib.suppress(Closed):  # it is noticed as a death
            channel.send(Ack())

    def _on_exit(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if not all(rank.finished for rank in self._ranks.values()) or not self._ranks:
            self._end_early()

    def _end_early(self) -> None:
        """Raises the death that came first. Others follow at once, so it waits for all reports of a
        moment."""
        if self._ending:
            return
        self._ending = True
        deadline = time.monotonic() + _REPORTS_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            self._serve(left)
        raise self._first_death()

    def _first_death(self) -> HalftripError:
        codes = self._started.exited()
        for name, code in codes.items():
            if code < 0:
                return Interrupted(f"{name} was killed by {signal.Signals(-code).name}")
        if self._reports:
            return self._reports[0]
        all_connected = len(self._ranks) == self._job.ranks
        for name, code in codes.items():
            if code in _KILLED_STATUSES and not all_connected:
                return Interrupted(f"a rank was killed by {_KILLED_STATUSES[code].name}")
            said = self._started.first_line()
            reason = f"{name} ended with status {code}" + (f": {said}" if said else "")
            # Once all have connected, the launch itself has not failed.
            return Interrupted(reason) if all_connected else LaunchFailed(reason)
        return Interrupted("a rank died")

    # Ending.

    def _clear_away(self, reason: str) -> None:
        """Ends every process of the job on this host, and removes what they left behind."""
        self._leaving = True
        for rank in self._ranks.values():
            with contextlib.suppress(Closed):
                rank.control.send(Abort(reason))
        # Ranks without an assignment have nothing to finish, and those that have not connected yet
        # cannot be told.
        if not (self._assigned and self._all_gone(_LEAVE_SECONDS)):
            for process in self._started.processes:
                process.terminate()
            if not self._all_gone(_TERMINATE_SECONDS):
                for pid in job_processes(self._job.token):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                self._all_gone(_TERMINATE_SECONDS)
        shm_cleanup.remove(shm_cleanup.orphans(self._began))

    def _all_gone(self, seconds: float) -> bool:
        """Waits until no process of the job is left, at most so long; whether that is so."""
        deadline = time.monotonic() + seconds
        # Ranks of an mpiexec are not our children, and can outlive it.
        while not self._started.wait(0.0) or job_processes(self._job.token):
            if time.monotonic() > deadline:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, int):
                os.close(key.fileobj)
        self._selector.close()
        self._listener.close()
        for channel in (*self._events, *(rank.control for rank in self._ranks.values())):
            channel.close()
        if self._started.output is not None:
            self._started.output.close()
        if self._started.directory is not None:
            self._started.directory.cleanup()
