"""The processes of a job: the ones that a launcher started, and all of them on this host; their
environment; and their end, after which no process and no shared memory of the job is left."""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from halftrip.control.protocol import Channel
from halftrip.control.sealing import Sealing
from halftrip.errors import Stopped
from halftrip.job import printed, shm_cleanup
from halftrip.job.signals import interrupts_held
from halftrip.job.spec import CONTROL_VARIABLE, RANK_COMMAND, RANK_VARIABLE, Job
from halftrip.job.starting_ranks import StartingRanks

# How often a wait for the end of processes that are not children looks for it.
POLL_SECONDS = 0.02
# How long all ranks may take to start and connect. Large jobs wait for slow file systems.
START_SECONDS = 30.0
# How long ranks may take to leave when told to (control.watchdog.GRACE_SECONDS, and some more).
LEAVE_SECONDS = 1.5


class ProcessOutput:
    """What a program and its children print into a file of their own. `telling` leaves out lines
    that are no news, `reason` finds among the others the one that says why the program failed."""

    def __init__(
        self,
        telling: Callable[[Sequence[str]], Sequence[str]] = list,
        reason: Callable[[Sequence[str]], str | None] = printed.reason,
    ) -> None:
        # Its owner closes it.
        self.file: IO[bytes] = tempfile.TemporaryFile(prefix="halftrip-")  # noqa: SIM115
        self._telling = telling
        self._reason = reason

    def lines(self) -> list[str]:
        """The printed lines that have words in them, each once."""
        self.file.seek(0)
        lines = self.file.read().decode(errors="replace").splitlines()
        with_words = (line.rstrip() for line in lines if re.search(r"[A-Za-z]{3}", line))
        return list(dict.fromkeys(self._telling(list(with_words))))

    def reason(self) -> str | None:
        """Why the program failed, in its own words; None if it has not said."""
        found = self._reason(self.lines())
        # A rank's own words, too.
        return None if found is None else found.strip().removeprefix("halftrip: ")


class Process(Protocol):
    """A child of this process: a Popen, or a forked rank."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


@dataclass
class Started:
    """The processes that a launcher has started, each with its name in messages, and the output of
    those that have one. `ranks` are those that a process stands for, and `hosts` has the host of
    each rank, where they are on several, of which `local_hosts` are this one. `dialled` are
    connections that were made to ranks, and `servers` those to hosts that have started some, each
    with the name of the host.

    `stop_reason`: why no more are to be started. `start_seconds` and `leave_seconds` are
    how long they may take to connect, and to end by themselves. `spans_nodes` says that a Dragon
    runtime among them is on several nodes; `pool_makers` are the processes of one on this host that
    may have made pools, which stay when they are killed. Processes that are `lasting`, by number,
    serve later launches, too. `until_finished` is closed when all ranks have finished, `until_end`
    when no process is left.
    """

    processes: dict[Process, str] = field(default_factory=dict)
    ranks: dict[Process, tuple[int, ...]] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    local_hosts: frozenset[str] = frozenset()
    dialled: dict[int, Channel] = field(default_factory=dict)
    servers: dict[Channel, str] = field(default_factory=dict)
    outputs: dict[str, ProcessOutput] = field(default_factory=dict)
    stop_reason: str | None = None
    start_seconds: float = START_SECONDS
    leave_seconds: float = LEAVE_SECONDS
    spans_nodes: bool = False
    pool_makers: set[int] = field(default_factory=set)
    lasting: set[int] = field(default_factory=set)
    until_finished: ExitStack = field(default_factory=ExitStack)
    until_end: ExitStack = field(default_factory=ExitStack)

    def add(
        self,
        process: Process,
        name: str,
        output: ProcessOutput | None = None,
        ranks: tuple[int, ...] = (),
    ) -> None:
        """Adds a process that has just been started, and ends well when these `ranks` have
        finished; none: all. Raises Stopped if the run ended meanwhile."""
        self.processes[process] = name
        self.ranks[process] = ranks
        if output is not None:
            self.outputs[name] = output
            self.until_end.callback(output.file.close)
        if self.stop_reason is not None:
            raise Stopped(self.stop_reason)

    @property
    def elsewhere(self) -> frozenset[int]:
        """The ranks on other hosts."""
        here = {number for number, host in self.hosts.items() if host in self.local_hosts}
        return frozenset(self.hosts) - here

    def stood_for(self, process: Process, of: int) -> set[int]:
        """The ranks, of so many, that a process has started, or is."""
        return set(self.ranks[process] or range(of))

    def other_hosts(self, ranks: Iterable[int]) -> frozenset[str]:
        """The hosts of these ranks; none where this host, or one that is not known, is among
        them."""
        hosts = {self.hosts.get(rank) for rank in ranks}
        known = hosts.isdisjoint({None, *self.local_hosts})
        return frozenset(filter(None, hosts)) if known else frozenset()

    def printed(self) -> dict[str, list[str]]:
        """The lines that each process has printed, by name, if there are any."""
        lines = {name: output.lines() for name, output in self.outputs.items()}
        return {name: each for name, each in lines.items() if each}

    def reason(self, name: str) -> str | None:
        """Why the process of that name failed, in its own words, if it has said."""
        output = self.outputs.get(name)
        return None if output is None else output.reason()

    def any_reason(self) -> str | None:
        """The same of the first that has said."""
        return next(filter(None, map(self.reason, self.outputs)), None)

    def exited(self) -> dict[str, int]:
        """The exit codes of the processes that have ended, by name."""
        codes = {name: process.poll() for process, name in self.processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def wait(self, seconds: float) -> bool:
        """Waits until all have ended, at most `seconds`. Returns whether they have."""
        deadline = time.monotonic() + seconds
        for process in self.processes:
            if process.poll() is None:
                _await_end(process.pid, max(0.0, deadline - time.monotonic()))
        return len(self.exited()) == len(self.processes)


def _await_end(pid: int, seconds: float) -> None:
    """Waits until a child that has not been waited for has ended, at most `seconds`."""
    ended = os.pidfd_open(pid)
    try:
        waiter = select.poll()
        waiter.register(ended, select.POLLIN)
        waiter.poll(seconds * 1e3)
    finally:
        os.close(ended)


def rank_process(
    job: Job, rank: int, output: int | None = None, control: Channel | None = None
) -> subprocess.Popen[bytes]:
    """A rank on this host, in a process of its own: no signal of a terminal reaches it, and it has
    the share of the cores that any program of this session has (sched(7), autogroup). It prints
    into the descriptor `output` (None: as this process); `control` is its connection to the
    launcher, if it does not make one itself."""
    handed = {}
    if control is not None:
        assert isinstance(control.seal, Sealing)
        keys = control.seal.written()
        handed = {CONTROL_VARIABLE: f"{control.fileno()} {job.token} {keys}"}
    with interrupts_held():
        return subprocess.Popen(
            RANK_COMMAND,
            env=os.environ | job.environment() | {RANK_VARIABLE: str(rank)} | handed,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=() if control is None else (control.fileno(),),
            process_group=0,
        )


def job_processes(token: str, proc: Path = Path("/proc")) -> list[int]:
    """The processes on this host, other than this one, that have the job's token in their
    environment."""
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


def descendants(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """The processes that a process of this host has started, and those that they have; none where
    the kernel does not list them."""
    found: list[int] = []
    left = [pid]
    while left:
        for children in (proc / str(left.pop()) / "task").glob("*/children"):
            try:
                new = [int(word) for word in children.read_text().split()]
            except OSError:
                continue
            found += new
            left += new
    return found


# How often ranks that start are looked at, at most.
_LOOK_SECONDS = 0.005
_SPARE_FILES = 4
# More than a few events of inotify, and their names.
_EVENT_BYTES = 1 << 14
# How long processes may take to end after SIGTERM.
_TERMINATE_SECONDS = 0.7
_MOST_KILLS = 20


class CleanUp:
    """Ends the processes of `job`, those that were `started` and what they started."""

    def __init__(self, job: Job, started: Started) -> None:
        self._job = job
        self._started = started
        self.starting = StartingRanks()
        self._segments = shm_cleanup.Segments()
        self._made: int | None = None
        # Until when it rests from looking, by time.monotonic, and until when from events.
        self._rests_until = self._ignores_until = 0.0
        # To look at processes in the end, where no more can be had by then.
        self._spare = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(_SPARE_FILES)]

    def look(self, at_once: bool = False) -> float:
        """Notes which ranks of MPI there are, which segments they have now, and which processes a
        Dragon runtime on several nodes has here, of which each may make pools. Returns after how
        many seconds to do that again, at the latest: MPICH's segments are there for a few
        milliseconds, and a rank that is killed then leaves them. Unless `at_once`, it does nothing
        before."""
        if not (self._job.mpi or self._started.spans_nodes):
            return math.inf
        began = time.monotonic()
        if began < self._rests_until and not at_once:
            return self._rests_until - began
        for process in self._started.processes:
            pids = descendants(process.pid)
            self._segments.note(pids)
            self.starting.look(pids)
        if self._started.spans_nodes:
            # A workload manager has started those that are no descendants.
            self._started.pool_makers.update(job_processes(self._job.token))
        ended = time.monotonic()
        rest = max(_LOOK_SECONDS, 5 * (ended - began))
        self._rests_until = ended + rest
        return rest

    @contextlib.contextmanager
    def awake(self, selector: selectors.BaseSelector) -> Iterator[None]:
        """Meanwhile who selects looks when a rank of MPI may have made a segment."""
        self._made = shm_cleanup.watch() if self._job.mpi else None
        if self._made is None:
            yield
            return
        try:
            selector.register(self._made, selectors.EVENT_READ, self._on_made)
            yield
        finally:
            # First: a signal may end this anywhere, and whoever looks then must not read what is
            # closed.
            made, self._made = self._made, None
            with contextlib.suppress(KeyError):
                selector.unregister(made)
            os.close(made)

    def _on_made(self, made: int) -> None:
        """Looks once in each rest: others may make files all the time."""
        with contextlib.suppress(BlockingIOError):
            os.read(made, _EVENT_BYTES)
        if time.monotonic() >= self._ignores_until:
            self.look(at_once=True)
            self._ignores_until = self._rests_until

    def prepare(self) -> None:
        """Before ranks are told to leave."""
        self.close()
        self.look(at_once=True)

    def end(self, leave: bool) -> None:
        """Returns when no process is left; with `leave`, they have their time to leave by
        themselves."""
        if not (leave and self.await_end(self._started.leave_seconds)):
            for process in self._started.processes:
                process.terminate()
            if not self.await_end(_TERMINATE_SECONDS):
                self._kill()
        shm_cleanup.remove(self._segments.orphans())
        pids = [process.pid for process in self._started.processes]
        shm_cleanup.remove(shm_cleanup.of_libfabric({*pids, *self._segments.pids}))

    def _kill(self) -> None:
        """Kills every process of the job, those that are started meanwhile, too. Thousands of them
        take some seconds to end."""
        for process in self._started.processes:
            process.kill()
        for _ in range(_MOST_KILLS):
            for pid in set(job_processes(self._job.token)) - self._started.lasting:
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
                if self._started.lasting.issuperset(job_processes(self._job.token)):
                    return True
                time.sleep(POLL_SECONDS)
            if time.monotonic() > deadline:
                return False

    def close(self) -> None:
        """Closes what was kept open for the end."""
        while self._spare:
            os.close(self._spare.pop())


@contextlib.contextmanager
def environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Sets these variables of this process (None: removes them), which everything that it starts
    inherits, and puts back what was there before at the end."""
    before = {name: os.environ.get(name) for name in variables}
    _set_variables(variables)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
