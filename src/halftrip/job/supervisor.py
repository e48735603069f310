"""What a launcher does while its ranks run: takes their records, and notices who dies."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import msgspec

from halftrip.control.protocol import (
    Abort,
    Ack,
    Assignment,
    Bye,
    Channel,
    Closed,
    Hello,
    Line,
    Listener,
    Progress,
)
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job import shm_cleanup
from halftrip.job.signals import catching
from halftrip.job.spec import Job
from halftrip.plan.plan import Plan

# How long all ranks may take to start and connect. Large jobs wait for slow file systems.
_START_SECONDS = 60.0
# After the first death others follow; this is how long to wait for the facts before naming one.
_FACTS_SECONDS = 0.2
# Ranks leave within a second of being told, see watch.GRACE_SECONDS; then they are made to.
_LEAVE_SECONDS = 1.5
_TERMINATE_SECONDS = 0.7
_LOOK_SECONDS = 0.02
# How an mpiexec says that a signal ended a rank: Open MPI as shells do, MPICH by its bare number.
_KILLED_STATUSES = {
    9: signal.SIGKILL,
    128 + signal.SIGKILL: signal.SIGKILL,
    128 + signal.SIGTERM: signal.SIGTERM,
}


class LaunchFailed(HalftripError):
    """The ranks did not start; the reason is the launcher's own."""


class View(Protocol):
    """Where progress is shown, and what else there is to say."""

    visible: bool

    def update(self, done: int, total: int, what: str) -> None: ...

    def quote(self, who: str, lines: list[str]) -> None:
        """What an mpiexec, called `who`, and its ranks have printed in a run that went well."""


class Records(Protocol):
    """Where the lines of a run file go; `last` is its end."""

    def append(self, line: bytes, last: bool = False) -> None: ...


@dataclass
class Started:
    """The processes that a launcher has started, each with what to call it.

    `output` is what an mpiexec and its ranks print. `directory` is where they keep temporary files.
    `stopped` says why the run is over before all have been started.
    """

    processes: dict[subprocess.Popen[bytes], str] = field(default_factory=dict)
    output: IO[bytes] | None = None
    directory: tempfile.TemporaryDirectory[str] | None = None
    stopped: str | None = None

    def add(self, process: subprocess.Popen[bytes], name: str) -> None:
        """Notes a process that has just been started. Raises Interrupted if it is the last."""
        self.processes[process] = name
        if self.stopped is not None:
            raise Interrupted(self.stopped)

    def lines(self) -> list[str]:
        """What has been printed, without lines that say nothing and such as are there already."""
        if self.output is None:
            return []
        self.output.seek(0)
        printed = self.output.read().decode(errors="replace").splitlines()
        telling = (line.rstrip() for line in printed if re.search(r"[A-Za-z]{3}", line))
        return list(dict.fromkeys(telling))

    def said(self) -> str | None:
        """The first line of the output that says something, None if there is none."""
        return next((line.strip() for line in self.lines()), None)

    def exited(self) -> dict[str, int]:
        """Those that have ended, by what they are called, and how."""
        codes = {name: process.poll() for process, name in self.processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def wait(self, seconds: float) -> bool:
        """Waits until all have ended, at most so long; whether they have."""
        deadline = time.monotonic() + seconds
        while len(self.exited()) < len(self.processes):
            if time.monotonic() > deadline:
                return False
            time.sleep(_LOOK_SECONDS)
        return True


@dataclass
class Member:
    """A rank that has connected."""

    hello: Hello
    control: Channel
    said_bye: bool = False

    @property
    def name(self) -> str:
        return f"rank {self.hello.rank} (process {self.hello.pid})"


class Control:
    """The launcher's end of all connections of one job."""

    def __init__(self, job: Job, listener: Listener, records: Records, view: View) -> None:
        self._job = job
        self._listener = listener
        self._started = Started()
        self._records = records
        self._view = view
        self._members: dict[int, Member] = {}
        self._events: list[Channel] = []
        # What ranks have said, or not said, of the end, in the order in which it was noticed.
        self._facts: list[HalftripError] = []
        self._blaming = False
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
            self._selector.register(self._listener, selectors.EVENT_READ, self._greet)
            for process in self._started.processes:
                descriptor = os.pidfd_open(process.pid)
                self._selector.register(descriptor, selectors.EVENT_READ, self._note_exit)
            self._gather_ranks()
            self._assign(plan, launch)
            while not all(member.said_bye for member in self._members.values()):
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

    def _gather_ranks(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while len(self._members) < self._job.ranks:
            left = deadline - time.monotonic()
            if left < 0:
                there = len(self._members)
                raise LaunchFailed(
                    f"only {there} of {self._job.ranks} ranks came within {_START_SECONDS:.0f} s"
                )
            self._serve(left)

    def _greet(self, listener: Listener) -> None:
        accepted = listener.accept()
        if accepted is None:
            return
        channel, hello = accepted
        if hello.purpose == "control":
            member = Member(hello, channel)
            if hello.rank >= 0:
                self._members[hello.rank] = member
            self._selector.register(
                channel, selectors.EVENT_READ, lambda _: self._hear_control(member)
            )
        else:
            self._events.append(channel)
            self._selector.register(channel, selectors.EVENT_READ, self._hear_events)
        if self._events and len(self._members) == self._job.ranks:
            # Nobody else has any business here.
            self._selector.unregister(listener)
            listener.close()

    def _assign(self, plan: Plan, launch: int) -> None:
        self._assigned = True
        for member in self._members.values():
            assignment = Assignment(
                plan=msgspec.json.encode(plan),
                group=self._members[0].hello.group,
                progress=self._view.visible,
                launch=launch,
            )
            with contextlib.suppress(Closed):  # it is noticed as a death
                member.control.send(assignment)

    # Serving.

    def _hear_control(self, member: Member) -> None:
        try:
            message = member.control.receive()
        except Closed:
            self._selector.unregister(member.control)
            self._facts.append(Interrupted(f"{member.name} died"))
            self._blame()
            return
        if isinstance(message, Bye):
            member.said_bye = True
            self._selector.unregister(member.control)
        elif isinstance(message, Abort):
            self._selector.unregister(member.control)
            kind: type[HalftripError] = UsageError if message.usage else HalftripError
            fact = (LaunchFailed if member.hello.rank < 0 else kind)(message.reason)
            if not self._blaming:
                raise fact
            self._facts.append(fact)

    def _hear_events(self, channel: Channel) -> None:
        try:
            message = channel.receive()
        except Closed:
            self._selector.unregister(channel)
            return
        if isinstance(message, Line):
            self._records.append(message.line, last=message.last)
        elif isinstance(message, Progress):
            self._view.update(message.done, message.total, message.what)
        with contextlib.suppress(Closed):  # it is noticed as a death
            channel.send(Ack())

    def _note_exit(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if not all(member.said_bye for member in self._members.values()) or not self._members:
            self._blame()

    def _blame(self) -> None:
        """Raises who died first; others follow at once, so it takes all facts of a moment."""
        if self._blaming:
            return
        self._blaming = True
        deadline = time.monotonic() + _FACTS_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            self._serve(left)
        raise self._first_death()

    def _first_death(self) -> HalftripError:
        codes = self._started.exited()
        for name, code in codes.items():
            if code < 0:
                return Interrupted(f"{name} was killed by {signal.Signals(-code).name}")
        if self._facts:
            return self._facts[0]
        all_came = len(self._members) == self._job.ranks
        for name, code in codes.items():
            if code in _KILLED_STATUSES and not all_came:
                return Interrupted(f"a rank was killed by {_KILLED_STATUSES[code].name}")
            said = self._started.said()
            reason = f"{name} ended with status {code}" + (f": {said}" if said else "")
            # Once all have come it is no longer the launcher that is to be doubted.
            return Interrupted(reason) if all_came else LaunchFailed(reason)
        return Interrupted("a rank died")

    # Ending.

    def _clear_away(self, reason: str) -> None:
        """Ends every process of the job on this host, and removes what they cannot any more."""
        self._leaving = True
        for member in self._members.values():
            with contextlib.suppress(Closed):
                member.control.send(Abort(reason))
        # Ranks that have nothing yet have nothing to finish, and those that are still on their way
        # here hear nobody.
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
            time.sleep(_LOOK_SECONDS)
        return True

    def _close(self) -> None:
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, int):
                os.close(key.fileobj)
        self._selector.close()
        self._listener.close()
        for channel in (*self._events, *(member.control for member in self._members.values())):
            channel.close()
        if self._started.output is not None:
            self._started.output.close()
        if self._started.directory is not None:
            self._started.directory.cleanup()


def job_processes(token: str, proc: Path = Path("/proc")) -> list[int]:
    """The processes on this host that have the job's token in their environment, this one not."""
    found = []
    for directory in proc.iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                environ = (directory / "environ").read_bytes()
            except OSError:
                continue
            if token.encode() in environ:
                found.append(int(directory.name))
    return found
