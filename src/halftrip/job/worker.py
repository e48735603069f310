"""One rank that a launcher of halftrip's has started: ``python -m halftrip.job.worker``.

It connects to the launcher, gets the plan, and measures it with the other ranks.
"""

from __future__ import annotations

import gc

if __name__ == "__main__":
    # As in `halftrip.__main__`: imports leave no garbage.
    gc.disable()

import contextlib
import os
import select
import signal
import socket
import sys
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from halftrip import clock
from halftrip.control import sealing
from halftrip.control.calling import connect
from halftrip.control.collectives import (
    Group,
    MpiGroup,
    SocketGroup,
    group_guests,
    join_socket_group,
    lead_socket_group,
)
from halftrip.control.greeting import Hello, introduce
from halftrip.control.listener import Listener
from halftrip.control.protocol import (
    Abort,
    Assignment,
    BeforeSlice,
    Channel,
    Closed,
    Progress,
    RecordLines,
    encoded,
)
from halftrip.control.watchdog import Watchdog
from halftrip.dragon import process as dragon
from halftrip.errors import (
    SHORTAGE_STATUS,
    SHORTAGES,
    HalftripError,
    Interrupted,
    Unavailable,
    shortage,
    system_reason,
)
from halftrip.job.existing import existing_job, watched
from halftrip.job.processes import START_SECONDS
from halftrip.job.signals import STOPPING
from halftrip.job.spec import CONTROL_VARIABLE, RANK_VARIABLE, Job
from halftrip.measure.progress import Earlier
from halftrip.measure.runner import Runner
from halftrip.measure.walk import Allowed
from halftrip.mpi import library
from halftrip.plan.plan import Plan
from halftrip.plan.served import check_served
from halftrip.results.configuration import Configuration
from halftrip.transports.base import ProcessContext

if TYPE_CHECKING:
    from mpi4py import MPI

# All ranks have started when the group forms, so this is for slow hosts.
_GROUP_SECONDS = 30.0
# A launcher that exits by itself waits longer than this for its ranks.
_EXIT_SECONDS = 0.2
_LAUNCHER = "the launcher"
# Of a rank's process; its number follows. The kernel keeps 15 characters.
PROCESS_NAME = "halftrip:"


class LauncherSink:
    """Sends records and progress to the launcher. It has handled each record before the next is
    sent, so that they cannot pile up; meanwhile this rank goes on, with what precedes the next
    samples. No rank goes on before progress has been shown: to draw the first screen takes the
    launcher's process some time, which may have a core of the ranks only."""

    def __init__(self, channel: Channel | None, progress: bool, paced: bool) -> None:
        self._channel = channel
        self._shows_progress = progress
        self._is_paced = paced
        self._is_pending = False

    def lines(self, lines: bytes, last: bool = False) -> None:
        self._tell(RecordLines(lines, last))
        if last:
            self._await()

    def progress(self, done: int, total: int, what: str) -> None:
        if self._shows_progress:
            self._tell(Progress(done, total, what))
            self._await()

    def before_slice(self, setting: Configuration) -> None:
        if self._is_paced:
            self._tell(BeforeSlice(msgspec.json.encode(setting)))
            self._await()

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()

    def _tell(self, message: RecordLines | Progress | BeforeSlice) -> None:
        if self._channel is None:
            raise RuntimeError("only rank 0 has records")
        self._await()
        try:
            self._channel.send(message)
        except Closed as error:
            raise Interrupted(error.of(_LAUNCHER)) from None
        self._is_pending = True

    def _await(self) -> None:
        """Waits until the launcher has handled the last message."""
        if not self._is_pending or self._channel is None:
            return
        try:
            self._channel.receive()
        except Closed as error:
            raise Interrupted(error.of(_LAUNCHER)) from None
        self._is_pending = False


def main() -> NoReturn:
    """Runs this rank and exits: 0 if the run is complete, else 1."""
    _end_by_signals()
    # After a failure without atexit handlers: MPI_Finalize would wait for dead ranks.
    clock.begin_calibration()
    job = Job.from_environment(os.environ)
    dragon.prepare(job.attach, job.token)
    if job.address.unix is None or job.calls_upwards:
        # All ranks at the same time, before one waits for another.
        sealing.prepare()
    communicator: MPI.Intracomm | None = None
    if job.mpi:
        try:
            library.select_library(Path(job.library) if job.library else None)
            existing = existing_job(os.environ)
            with watched(existing) if existing is not None else contextlib.nullcontext():
                communicator = library.start(job.ranks, job.threads)
        except Unavailable as error:
            _give_up(job, str(error))
        # The library may have handlers of its own.
        _end_by_signals()
        rank = communicator.Get_rank()
    else:
        rank = int(os.environ[RANK_VARIABLE])
    _name_process(rank)
    _run(job, rank, communicator)
    # The process is over: to look for garbage, and free it, would take 30 ms.
    gc.freeze()
    sys.exit(0)


def _end_by_signals() -> None:
    """The signals by which a user ends a run end this process, if one of them comes to it alone:
    without a traceback of Python's, and whatever a library has made of them."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    # What has started it may have held one back.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    # What it prints must not stop it (stty tostop): at the terminal it is in the background.
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)


def _name_process(rank: int) -> None:
    """What tools such as top call this process. A fork has its parent's command line."""
    with contextlib.suppress(OSError):
        Path("/proc/self/comm").write_text(f"{PROCESS_NAME}{rank}")


def _give_up(job: Job, reason: str) -> NoReturn:
    """Tells the launcher why this rank cannot begin."""
    channel = _connect_control(job, introduce("control", -1))
    channel.send(Abort(reason))
    os._exit(1)


def _connect_control(job: Job, hello: Hello) -> Channel:
    """The connection to the launcher: the one that it has made itself, if there is one. Raises
    OSError and Closed."""
    # Another one may have been left in the environment by whoever started this job.
    descriptor, token, keys = [*os.environ.get(CONTROL_VARIABLE, "").split(), *[""] * 3][:3]
    if token != job.token:
        return connect(job.address, job.token, hello, START_SECONDS, network=job.network)
    channel = Channel(socket.socket(fileno=int(descriptor)), sealing.Sealing.from_text(keys))
    os.set_inheritable(channel.fileno(), False)
    channel.send_bytes(encoded(hello))
    return channel


def _run(job: Job, rank: int, communicator: MPI.Intracomm | None) -> None:
    on_end = partial(_on_launcher_death, job, rank, _stderr_of(job.launcher))
    # On one host also beside MPI: a rank that waits in a socket sleeps, in MPI it polls.
    over_sockets = communicator is None or job.address.unix is not None
    try:
        listener = _listener(job, rank) if over_sockets else None
    except HalftripError as error:
        _give_up(job, str(error))
    except OSError as error:
        _give_up(job, f"--data-ports: {system_reason(error)}")
    group_address = listener.address if listener is not None else None
    try:
        hello = introduce("control", rank, group=group_address)
        control = _connect_control(job, hello)
        assignment = control.receive()
    except (OSError, Closed):
        # The launcher is dead, or about to exit for a reason that it reports itself.
        if not _outlives(job.launcher, _EXIT_SECONDS):
            on_end(f"{_LAUNCHER} (process {job.launcher}) died")
        os._exit(1)
    if not isinstance(assignment, Assignment):
        # An Abort: the run ended before it began.
        os._exit(1)

    def work() -> None:
        plan = _told(assignment.plan, Plan)
        if job.serves:
            check_served(plan, job.libraries)
        mpi = None if over_sockets else communicator
        group = _form_group(job, rank, mpi, listener, assignment, plan.all_threads)
        events = _connect_events(job) if rank == 0 else None
        sink = LauncherSink(events, assignment.progress, assignment.paced)
        process = ProcessContext.from_plan(
            plan,
            rank,
            job.token,
            communicator,
            job.no_mpi,
            assignment.launch,
            job.no_dragon,
            job.network,
            job.absent,
        )
        done = _told(assignment.done, frozenset[Configuration])
        allowed = None if assignment.allowed is None else Allowed(*assignment.allowed)
        earlier = _told(assignment.earlier, list[Earlier])
        Runner(plan, group, process, sink, done, allowed, earlier).run()
        group.close()
        sink.close()

    watchdog = Watchdog(
        channels={control: f"{_LAUNCHER} (process {job.launcher})"},
        processes={},
        on_end=on_end,
    )
    failure = watchdog.guard(work)
    if failure is None:
        watchdog.close()
        return
    if not isinstance(failure, HalftripError) and shortage(failure) is None:
        # In one piece: other ranks write to the same place.
        sys.stderr.write("".join(traceback.format_exception(failure)))
    watchdog.close(Abort.from_error(failure, rank))
    os._exit(1)


def _told(text: bytes, kind: Any) -> Any:
    """A part of the assignment. Raises HalftripError where a launcher says something else: that of
    a client may be of anybody's making."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError) as error:
        raise HalftripError(f"{_LAUNCHER} sends no assignment: {error}") from None


def _listener(job: Job, rank: int) -> Listener | None:
    """Where others of the group connect, where that has to be known from the start. Raises OSError
    and UsageError."""
    if job.calls_upwards:
        # Nobody calls rank 0.
        listener = Listener(job.token, (), job.network if rank else "unix", rank)
        # The other half knows the token, too, and could speak for them.
        there = job.ranks // 2
        listener.near = range(there) if rank < there else range(there, job.ranks)
        return listener
    return Listener(job.token, (), job.reach, rank=0) if rank == 0 else None


def _connect_events(job: Job) -> Channel:
    return connect(job.address, job.token, introduce("events", 0), START_SECONDS)


def _form_group(
    job: Job,
    rank: int,
    communicator: MPI.Intracomm | None,
    listener: Listener | None,
    assignment: Assignment,
    threads: int,
) -> Group:
    if communicator is not None:
        return MpiGroup(communicator)
    if listener is not None and job.calls_upwards:
        listener.awaited |= group_guests(rank, job.ranks, threads, calls_upwards=True)
        addresses = assignment.groups
        return SocketGroup(rank, job.token, listener, addresses, {}, job.network, True)
    if listener is not None:
        try:
            return lead_socket_group(listener, job.token, job.ranks, _GROUP_SECONDS, threads)
        except TimeoutError:
            reason = f"not all ranks reached rank 0 in {_GROUP_SECONDS:.0f} s"
            raise HalftripError(reason) from None
    if assignment.group is None:
        raise HalftripError("the launcher does not say where rank 0 is")
    return join_socket_group(assignment.group, job.token, rank, job.ranks, job.reach, threads)


def _on_launcher_death(job: Job, rank: int, stderr: int, reason: str) -> None:
    """Rank 0's duties if the launcher died: it reports that, and removes the launcher's files. The
    launcher reports any other end itself. To a server, each of its ranks reports any end."""
    if job.serves:
        said = "the client has gone" if reason.startswith(_LAUNCHER) else f"the client: {reason}"
        with contextlib.suppress(OSError):
            os.write(sys.stderr.fileno(), f"{said}\n".encode())
    if rank == 0 and reason.startswith(_LAUNCHER):
        with contextlib.suppress(OSError):
            os.write(stderr, f"halftrip: {reason}\n".encode())
        for directory in filter(None, (*job.directories, job.attach)):
            import shutil

            shutil.rmtree(directory, ignore_errors=True)


def _outlives(pid: int, seconds: float) -> bool:
    """Whether a process of this host is still alive after `seconds`."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    ended, _, _ = select.select([descriptor], [], [], seconds)
    os.close(descriptor)
    return not ended


def _stderr_of(launcher: int) -> int:
    """The launcher's standard error, if that is on this host: an mpiexec hides a rank's own."""
    try:
        return os.open(f"/proc/{launcher}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return sys.stderr.fileno()


def run() -> NoReturn:
    """As `main`, in a process that is nothing but a rank."""
    try:
        main()
    except SHORTAGES as found:
        if shortage(found) is None:
            raise
        # Nobody may be connected who could be told more.
        os._exit(SHORTAGE_STATUS)


if __name__ == "__main__":
    gc.enable()
    run()
