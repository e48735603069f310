"""A job that some other launcher has started already, with this process as one of its ranks."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from halftrip.control.collectives import Group, MpiGroup
from halftrip.control.hosts import host_identity
from halftrip.control.protocol import Abort, Address, Channel, Closed, Listener, connect, introduce
from halftrip.control.watchdog import Watchdog
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job import shm_cleanup
from halftrip.job.spec import new_token
from halftrip.job.view import View
from halftrip.measure.runner import Runner
from halftrip.mpi import launcher, library
from halftrip.plan.layers import check_ranks
from halftrip.plan.plan import Plan
from halftrip.results.records import RunEnd
from halftrip.results.run_file import Record, RunFile, encode
from halftrip.transports.base import ProcessContext

if TYPE_CHECKING:
    from mpi4py import MPI

_CONNECT_SECONDS = 30.0


class Surrounding(NamedTuple):
    """The job around this process, as its launcher describes it in the environment."""

    rank: int
    size: int
    family: launcher.Family | None


# Which variables launchers set, most telling first: rank, size, and the MPI they speak for.
_SIGNS: tuple[tuple[str, str, launcher.Family | None], ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("PMI_RANK", "PMI_SIZE", "mpich"),
    # Set within srun, not in the shell of a batch job.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", None),
)


def surrounding(environ: Mapping[str, str]) -> Surrounding | None:
    """The job of two ranks or more that this process was started in, or None."""
    for rank, size, family in _SIGNS:
        if not (environ.get(rank, "").isdecimal() and environ.get(size, "").isdecimal()):
            continue
        if int(environ[size]) > 1:
            return Surrounding(int(environ[rank]), int(environ[size]), family)
    return None


def library_of(job: Surrounding) -> Path | None:
    """The MPI library of the launcher that started this process, None where that is unknown."""
    if library.LIBRARY_VARIABLE in os.environ or job.family is None:
        return None
    for program in (*_ancestors(), shutil.which("mpiexec")):
        beside = launcher.library_beside(Path(program), job.family) if program else None
        if beside is not None:
            return beside
    return None


def _ancestors(generations: int = 3) -> list[str]:
    """The programs of this process's parents: mpiexec, or whatever it has on each host."""
    programs = []
    pid = os.getppid()
    for _ in range(generations):
        try:
            programs.append(os.readlink(f"/proc/{pid}/exe"))
            # After the name, which is in brackets and may hold anything: state and parent.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return programs


class FileSink:
    """Rank 0's records, straight into the file."""

    def __init__(self, run_file: RunFile | None, view: View) -> None:
        self._run_file = run_file
        self._view = view

    def record(self, record: Record) -> None:
        if self._run_file is not None:
            self._run_file.append(encode(record), last=isinstance(record, RunEnd))

    def progress(self, done: int, total: int, what: str) -> None:
        self._view.update(done, total, what)


def join(job: Surrounding, plan: Plan, create: Callable[[Plan], RunFile], view: View) -> Path:
    """Walks through the plan with the other ranks of the job, and returns where rank 0, which makes
    it with `create`, has put the run file.

    Raises what launch.run.launch does, on every rank that is still there to see it.
    """
    check_fit(job, plan)
    library.select_library(library_of(job))
    communicator = library.start(job.size, plan.threads)
    group = MpiGroup(communicator)
    run_file = _create(group, plan, create)
    try:
        return _walk(group, plan, run_file, view, communicator)
    finally:
        group.close()
        if run_file is not None:
            run_file.close()


def check_fit(job: Surrounding, plan: Plan) -> None:
    """Raises UsageError if a plan asks for what this job is not."""
    for name in ("launcher", "mpiexec"):
        if getattr(plan, name) is not None:
            raise UsageError(f"--{name}: the job that this runs in has been started; leave it out")
    if plan.launches > 1 or plan.until_ci:
        name = "until-ci" if plan.until_ci else "launches"
        raise UsageError(f"--{name}: this job was started once; start it again as often by itself")
    if isinstance(plan.cores, tuple) and len(plan.cores) != job.size * plan.threads:
        threads = f" of {plan.threads} threads" if plan.threads > 1 else ""
        cores = f"{len(plan.cores)} cores for {job.size} ranks{threads}"
        raise UsageError(f"--cores: {cores}; one for each")
    if plan.ranks not in (None, job.size):
        raise UsageError(f"--ranks: {plan.ranks} asked for, but this job has {job.size}")
    check_ranks(plan, job.size)


def _walk(
    group: Group, plan: Plan, run_file: RunFile | None, view: View, communicator: MPI.Intracomm
) -> Path:
    token = group.broadcast(new_token(), str)

    def end(reason: str) -> None:
        if run_file is not None:
            with contextlib.suppress(HalftripError):  # a full disk is reason enough
                run_file.end(RunEnd(reason=reason))

    told = False

    def end_at_once(reason: str) -> None:
        # All that matters, before anything else: where a rank has died, the launcher is about to
        # kill this one. Open MPI waits a quarter of a second or more before it does.
        nonlocal told
        end(reason)
        told = True
        _say(group.rank, reason)
        shm_cleanup.remove_own()

    try:
        channels = _lifelines(group, token)
    except HalftripError as error:
        end(str(error))
        shm_cleanup.remove_own()
        raise
    watch = Watchdog(
        channels=channels,
        processes={os.getppid(): "the launcher"} if os.getppid() else {},
        on_end=end_at_once,
        signals=(signal.SIGINT, signal.SIGTERM),
    )
    path = ""

    def walk() -> None:
        nonlocal path
        agreed = group.broadcast(plan, Plan)
        process = ProcessContext.of(agreed, group.rank, token, communicator)
        Runner(agreed, group, process, FileSink(run_file, view)).run()
        path = group.broadcast(str(run_file.path.absolute()) if run_file is not None else "", str)

    ended = watch.guard(walk)
    if ended is not None:
        reason = str(ended) or type(ended).__name__
        end(reason)
        shm_cleanup.remove_own()
        mistake = isinstance(ended, UsageError)
        if mistake and run_file is not None:
            run_file.discard()
        watch.close(Abort(reason, usage=mistake))
        if told:
            raise Interrupted(reason, told=True)
        raise ended
    watch.close()
    return Path(path)


class Refusal(msgspec.Struct, frozen=True):
    """Why there is no run file, and whether because of something that was asked for wrongly."""

    reason: str
    usage: bool


def _create(group: Group, plan: Plan, create: Callable[[Plan], RunFile]) -> RunFile | None:
    """Rank 0's file. Raises UsageError or HalftripError, on all ranks, if it cannot be made."""
    run_file, refusal = None, None
    if group.rank == 0:
        try:
            run_file = create(plan)
        except HalftripError as error:
            refusal = Refusal(str(error), isinstance(error, UsageError))
    refusal = group.broadcast(refusal, Refusal | None)
    if refusal is not None:
        raise (UsageError if refusal.usage else HalftripError)(refusal.reason)
    return run_file


def _lifelines(group: Group, token: str) -> dict[Channel, str]:
    """Connections over which the ranks notice each other's end: from all others to rank 0.

    Raises Interrupted where they cannot be made; ranks that have one notice by it.
    """
    identities = group.allgather(host_identity(), str)
    if group.rank == 0:
        listener = Listener(token, "unix" if len(set(identities)) == 1 else "network")
        group.broadcast(listener.address, Address)
        try:
            return _accept_all(listener, group.size - 1)
        finally:
            listener.close()
    address = group.broadcast(None, Address)
    try:
        channel = connect(address, introduce(token, "life", group.rank))
    except (OSError, Closed) as error:
        raise Interrupted(f"rank {group.rank} cannot reach rank 0: {error}") from None
    return {channel: "rank 0"}


def _accept_all(listener: Listener, count: int) -> dict[Channel, str]:
    channels: dict[Channel, str] = {}
    deadline = time.monotonic() + _CONNECT_SECONDS
    while len(channels) < count:
        try:
            accepted = listener.accept(max(deadline - time.monotonic(), 0.01))
        except TimeoutError:
            missing = count - len(channels)
            reason = (
                f"{missing} of {count} ranks could not reach rank 0 in {_CONNECT_SECONDS:.0f} s"
            )
            for channel in channels:
                with contextlib.suppress(Closed):
                    channel.send(Abort(reason))
                channel.close()
            raise Interrupted(reason) from None
        if accepted is not None:
            channel, hello = accepted
            channels[channel] = f"rank {hello.rank} (process {hello.pid})"
    return channels


def _say(rank: int, reason: str) -> None:
    if speaks(rank, reason):
        # Where the launcher was killed, nobody reads what its ranks say.
        with contextlib.suppress(OSError):
            # In one piece: other processes write to the same place.
            sys.stderr.write(f"halftrip: {reason}\n")
            sys.stderr.flush()


def speaks(rank: int, reason: str) -> bool:
    """Whether this rank is the one to tell the user: rank 0, or the next where rank 0 died."""
    return rank == (1 if reason.startswith("rank 0 ") else 0)
