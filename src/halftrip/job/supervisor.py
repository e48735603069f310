"""Supervises the ranks of a job: takes their records, and notices if one dies."""

from __future__ import annotations

import contextlib
import os
import selectors
import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from halftrip.control.greeting import LONGEST_GREETING, Hello
from halftrip.control.listener import Listener
from halftrip.control.protocol import (
    Abort,
    Ack,
    Assignment,
    BeforeSlice,
    Bye,
    Channel,
    Closed,
    Malformed,
    Pong,
    Progress,
    RecordLines,
    decoded,
)
from halftrip.errors import HalftripError, Interrupted, Stopped, system_reason
from halftrip.job import deaths
from halftrip.job.connected import ConnectedRank, Heartbeat, longest_idle
from halftrip.job.limit import TimeLimit
from halftrip.job.own_cores import OwnCores
from halftrip.job.processes import CleanUp, Started
from halftrip.job.session import receive_answer
from halftrip.job.signals import catching
from halftrip.job.spec import Job
from halftrip.job.view import Records, RunView
from halftrip.measure.progress import Earlier
from halftrip.plan.plan import Plan
from halftrip.plan.served import for_server
from halftrip.results.configuration import Configuration
from halftrip.texts import printable

# After the first death others follow at once: how long to wait for reports before naming one.
_REPORTS_SECONDS = 0.2


class Supervisor:
    """The launcher's end of all connections of one job. `records` takes lines of the run file, and
    `view` shows progress."""

    def __init__(self, job: Job, listener: Listener, records: Records, view: RunView) -> None:
        self._job = job
        self._listener = listener
        self._started = Started()
        self._clean_up = CleanUp(job, self._started)
        self._records = records
        self._view = view
        self._own_cores = OwnCores()
        self._ranks: dict[int, ConnectedRank] = {}
        self._events: list[Channel] = []
        # The reasons that ranks have sent, and the ranks that closed their connection without one,
        # in the order in which these were noticed; and the numbers of the latter.
        self._reports: list[HalftripError] = []
        self._gone: set[int] = set()
        self._ending = False
        self._started_at = time.monotonic()
        self._limit: TimeLimit | None = None
        self._selector = selectors.DefaultSelector()
        self._starting = False
        self._assigned = False
        self._leaving = False
        # The hosts, other than this one, that were lost: their ranks ended, or did not answer.
        self.lost: frozenset[str] = frozenset()
        # The reason of a signal that arrived while the processes of a complete run were leaving.
        self._late_signal: str | None = None

    def run(
        self,
        plan: Plan,
        start: Callable[[Job, Started], None],
        launch: int = 0,
        done: frozenset[Configuration] = frozenset(),
        limit: TimeLimit | None = None,
        earlier: Sequence[Earlier] = (),
    ) -> None:
        """Calls `start` to start the ranks, and has them measure `plan` without the configurations
        that are `done`, as the launch of this number, within the `limit`; `earlier` is what
        launches before it have found. Returns when they have ended.

        Raises LaunchFailed if they did not start, UsageError or HalftripError if one of them gave
        up, Interrupted if a process died, Stopped if a signal arrived or the time is over. No
        process is left in any case.
        """
        self._limit = limit
        with catching(self._on_signal):
            self._run(partial(self._supervise, plan, start, launch, done, earlier))
        if self._late_signal is not None:
            raise Stopped(self._late_signal)

    def _run(self, supervise: Callable[[], None]) -> None:
        try:
            try:
                supervise()
            finally:
                # Should a signal come before this, what it raises ends the job below.
                self._leaving = True
        except HalftripError as error:
            # Before anything is removed.
            deaths.add_cause(error)
            self._end(str(error))
            raise
        except BaseException as error:
            self._end(f"the launcher failed: {type(error).__name__}")
            raise
        finally:
            self._close()

    def _supervise(
        self,
        plan: Plan,
        start: Callable[[Job, Started], None],
        launch: int,
        done: frozenset[Configuration],
        earlier: Sequence[Earlier],
    ) -> None:
        self._start(start)
        self._selector.register(self._listener, selectors.EVENT_READ, self._on_connection)
        for process in self._started.processes:
            descriptor = os.pidfd_open(process.pid)
            self._selector.register(descriptor, selectors.EVENT_READ, self._on_exit)
        for number, channel in self._started.dialled.items():
            self._selector.register(
                channel, selectors.EVENT_READ, partial(self._on_dialled, number)
            )
        for channel in self._started.servers:
            self._selector.register(channel, selectors.EVENT_READ, self._on_server)
        with self._clean_up.awake(self._selector):
            self._await_ranks()
        self._assign(plan, launch, done, earlier)
        with self._own_cores.lent():
            self._serve_ranks(longest_idle(plan) if self._started.servers else None)
        self._leaving = True
        self._started.until_finished.close()
        # What a launcher has started may outlive it, if it is killed now.
        if not self._clean_up.await_end(self._started.leave_seconds):
            self._end("the run is over")
        elif not self._late_signal:
            deaths.check_end(self._started, self._names)
        for name, lines in self._started.printed().items():
            self._records.quote(name, lines)

    def _on_signal(self, reason: str) -> None:
        # Only the first signal raises: later ones must not interrupt the clean-up.
        if self._starting:
            # Started.add raises: here, a process that is just being started would be lost.
            self._started.stop_reason = reason
        elif self._leaving:
            self._late_signal = self._late_signal or reason
        else:
            self._leaving = True
            raise Stopped(reason)

    def _serve(self, timeout: float | None) -> None:
        """Waits for the next events, at most `timeout` seconds, and handles them. Raises what `run`
        does."""
        if self._limit is not None:
            left = self._limit.left
            if left <= 0 and not self._leaving and not self._ending:
                raise self._limit.error()
            timeout = max(left, 0.0) if timeout is None else min(timeout, max(left, 0.0))
        events = [key for key, _ in self._selector.select(timeout)]
        # Messages first: a rank says Bye before it exits.
        for key in sorted(events, key=lambda key: isinstance(key.fileobj, int)):
            key.data(key.fileobj)

    # Starting.

    def _start(self, start: Callable[[Job, Started], None]) -> None:
        self._starting = True
        try:
            start(self._job, self._started)
        except OSError as error:
            place = f"{error.filename}: " if error.filename is not None else ""
            raise deaths.LaunchFailed(f"{place}{system_reason(error).lower()}") from None
        finally:
            self._starting = False
        if self._started.stop_reason is not None:
            raise Stopped(self._started.stop_reason)

    def _await_ranks(self) -> None:
        deadline = time.monotonic() + self._started.start_seconds
        while len(self._ranks) < self._job.ranks:
            left = deadline - time.monotonic()
            if left < 0:
                missing = [rank for rank in self._started.hosts if rank not in self._ranks]
                self.lost = self._started.other_hosts(missing)
                raise deaths.too_few(self._started, len(self._ranks), self._job.ranks, missing)
            # A rank that is killed while MPI starts leaves its segment.
            self._serve(min(left, self._clean_up.look()))
            if dead := self._clean_up.starting.dead(self._names):
                self._reports.append(deaths.ended_early(self._started, dead))
                self._end_early()

    def _on_connection(self, listener: Listener) -> None:
        for channel, hello in listener.admit():
            self._take(channel, hello)
        if self._events and len(self._ranks) == self._job.ranks:
            # All ranks have connected: nobody else may.
            self._selector.unregister(listener)
            listener.close()

    def _on_dialled(self, number: int, channel: Channel) -> None:
        """A rank that was called says who it is, or that it cannot begin."""
        self._selector.unregister(channel)
        try:
            hello: Hello = decoded(channel.receive_bytes(LONGEST_GREETING), Hello)
        except Closed as error:
            if isinstance(error, Malformed):
                raise deaths.lost(f"rank {number}", error) from None
            return  # the server says why
        if hello.rank not in (number, -1):
            raise deaths.LaunchFailed(f"rank {number} says that it is rank {hello.rank}")
        self._take(channel, hello)

    def _on_server(self, channel: Channel) -> None:
        """A server has something to say: how its ranks have ended, or nothing, which is as bad
        before they have finished."""
        self._selector.unregister(channel)
        name = self._started.servers[channel]
        try:
            answer = receive_answer(channel, None)
            reason = answer.reason if isinstance(answer, Abort) else "it does not say why"
            error: HalftripError = Interrupted(f"{name}: {printable(reason, 300)}")
        except Closed:
            error = deaths.Lost(name)
        mine = {rank for rank, host in self._started.hosts.items() if host == name}
        if mine <= {number for number, rank in self._ranks.items() if rank.finished}:
            return
        self._reports.append(error)
        self._end_early()

    def _take(self, channel: Channel, hello: Hello) -> None:
        if hello.purpose == "control":
            rank = ConnectedRank.from_hello(hello, channel, self._started.hosts.get(hello.rank))
            if hello.rank >= 0:
                self._ranks[hello.rank] = rank
            self._selector.register(channel, selectors.EVENT_READ, lambda _: self._on_control(rank))
        else:
            self._events.append(channel)
            self._selector.register(channel, selectors.EVENT_READ, self._on_event)

    def _assign(
        self,
        plan: Plan,
        launch: int,
        done: frozenset[Configuration],
        earlier: Sequence[Earlier],
    ) -> None:
        self._assigned = True
        told = msgspec.json.encode(for_server(plan)) if self._started.servers else b""
        encoded_plan, encoded_done = msgspec.json.encode(plan), msgspec.json.encode(done)
        encoded_earlier = msgspec.json.encode(earlier)
        groups = tuple(self._ranks[each].hello.group for each in range(self._job.ranks))
        for rank in self._ranks.values():
            assignment = Assignment(
                plan=told if rank.hello.rank in self._started.dialled else encoded_plan,
                group=groups[0],
                progress=self._view.visible,
                paced=self._view.paces,
                launch=launch,
                done=encoded_done,
                groups=groups,
                earlier=encoded_earlier,
                allowed=None if self._limit is None else self._limit.allowed(self._started_at),
            )
            with contextlib.suppress(Closed):  # _on_control notices the death
                rank.control.send(assignment)

    # Serving.

    def _serve_ranks(self, longest: float | None) -> None:
        """Returns when all ranks have finished; `longest` is as in Heartbeat."""
        self._heartbeat = heartbeat = Heartbeat(self._started.elsewhere, longest)
        while not all(rank.finished for rank in self._ranks.values()):
            self._serve(heartbeat.patience)
            silent = heartbeat.beat(self._ranks.values())
            if silent:
                names = ", ".join(rank.name for rank in silent)
                self.lost = self._started.other_hosts(rank.hello.rank for rank in silent)
                raise Interrupted(f"{names}: no answer for too long")

    def _on_control(self, rank: ConnectedRank) -> None:
        try:
            message = rank.control.receive(longest=1 << 20)
            if not isinstance(message, Bye | Pong | Abort):
                raise Malformed(f"{type(message).__name__} is not for a rank to say")
        except Closed as error:
            self._selector.unregister(rank.control)
            self._reports.append(deaths.lost(rank.name, error))
            self._gone.add(rank.hello.rank)
            self._end_early()
            return
        if isinstance(message, Bye):
            rank.finished = True
            self._selector.unregister(rank.control)
        elif isinstance(message, Pong):
            rank.unanswered = 0
        elif isinstance(message, Abort):
            self._selector.unregister(rank.control)
            report = deaths.reported(message, rank.hello.rank)
            if not self._ending:
                raise report
            self._reports.append(report)

    def _on_event(self, channel: Channel) -> None:
        try:
            message = channel.receive()
        except Closed:
            self._selector.unregister(channel)
            return
        if isinstance(message, RecordLines):
            self._heartbeat.measured()
            self._own_cores.note(message.lines)
            self._records.append(message.lines, last=message.last)
        elif isinstance(message, Progress):
            self._view.update(message.done, message.total, message.what)
        elif isinstance(message, BeforeSlice):
            setting = msgspec.json.decode(message.setting, type=Configuration)
            with self._own_cores.taken_back():
                self._view.before_slice(setting)
        with contextlib.suppress(Closed):  # _on_control notices the death
            channel.send(Ack())

    def _on_exit(self, descriptor: int) -> None:
        self._selector.unregister(descriptor)
        os.close(descriptor)
        if self._ranks and all(rank.finished for rank in self._ranks.values()):
            return
        exited = [process for process in self._started.processes if process.poll() is not None]
        # A rank that has said Bye may exit before the others have. That it has not, its connection
        # tells, which may not have been read yet.
        well = {process.pid for process in exited if process.returncode == 0}
        finished = {
            number
            for number, rank in self._ranks.items()
            if rank.finished or rank.hello.pid in well
        }
        stood_for = partial(self._started.stood_for, of=self._job.ranks)
        if any(process.returncode or not stood_for(process) <= finished for process in exited):
            self._end_early()

    def _end_early(self) -> None:
        """Raises an error that names the first death, after waiting for the reports that follow."""
        if self._ending:
            return
        self._ending = True
        deadline = time.monotonic() + _REPORTS_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            self._serve(left)
        finished = {number for number, rank in self._ranks.items() if rank.finished}
        for process in self._started.processes:
            if process.poll() is not None:
                self._gone |= self._started.stood_for(process, self._job.ranks) - finished
        self.lost = self._started.other_hosts(self._gone)
        raise deaths.first_death(self._started, self._reports, self._names, self._job.ranks)

    @property
    def _names(self) -> dict[int, str]:
        """The names of the ranks that have connected, in their order, by process."""
        return {rank.hello.pid: rank.name for _, rank in sorted(self._ranks.items())}

    # Ending.

    def _end(self, reason: str) -> None:
        """Ends every process of the job on this host, and removes their shared memory."""
        self._clean_up.prepare()
        for rank in self._ranks.values():
            with contextlib.suppress(Closed):
                rank.control.send(Abort(reason))
        # Ranks without an assignment have nothing to finish, and ranks that have not connected
        # cannot be told.
        self._started.until_finished.close()
        self._clean_up.end(leave=self._assigned)

    def _close(self) -> None:
        self._clean_up.close()
        for key in list(self._selector.get_map().values()):
            if isinstance(key.fileobj, int):
                os.close(key.fileobj)
        self._selector.close()
        self._listener.close()
        for channel in (*self._events, *(rank.control for rank in self._ranks.values())):
            channel.close()
        self._started.until_finished.close()
        self._started.until_end.close()
