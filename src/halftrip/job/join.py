"""Measures a plan as one rank of a job that another launcher has started."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from halftrip.control.calling import connect
from halftrip.control.collectives import Group, MpiGroup
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener, Reach
from halftrip.control.network import Network, host_identity
from halftrip.control.protocol import Abort, Address, Channel, Closed
from halftrip.control.watchdog import Watchdog
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.job import shm_cleanup
from halftrip.job.existing import ExistingJob, speaks, start_group
from halftrip.job.left_behind import Claim, remove_left_behind
from halftrip.job.limit import TimeLimit
from halftrip.job.machine import look_in_job
from halftrip.job.resumption import Resumption
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import new_token
from halftrip.job.view import RunView
from halftrip.measure.runner import Runner
from halftrip.plan.layers import check_ranks
from halftrip.plan.plan import Plan
from halftrip.results.configuration import Configuration
from halftrip.results.run_file import RunFile
from halftrip.transports.base import ProcessContext


def join(
    job: ExistingJob, plan: Plan, create: Callable[[], RunFile], view: RunView, left: Resumption
) -> Path:
    """Measures what is `left` of the plan with the other ranks of the job. Returns the path of the
    run file, which rank 0 makes with `create`.

    Raises what `job.start.launch` does, on every rank that is still alive.
    """
    limit = TimeLimit.from_plan(plan)
    check_fit(job, plan)
    remove_left_behind()
    group = start_group(job, plan.all_threads)
    run_file = None
    try:
        # Before there is a file: only the watchdog writes into it why a run has ended.
        with catching(interrupt):
            look_in_job(plan, group, view)
            _compare_plans(plan, group, view)
        run_file = _create(group, create)
        return _measure(group, plan, run_file, view, left, limit)
    finally:
        group.close()
        if run_file is not None:
            run_file.close()


def check_fit(job: ExistingJob, plan: Plan) -> None:
    """Raises UsageError if the plan has options that this job cannot satisfy."""
    for name in ("launcher", "mpiexec", "hosts", "peer"):
        if getattr(plan, name) is not None:
            raise UsageError(f"--{name}: the job that this runs in has been started; leave it out")
    if plan.vary:
        said = "this job was started once, with one environment; start it once for each value"
        name = "vary" if plan.against is None else "against"
        raise UsageError(f"--{name}: {said}, or leave the mpiexec to halftrip run")
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


def _compare_plans(plan: Plan, group: Group, view: RunView) -> None:
    """Warns where ranks were given other plans than rank 0's, which is the one that counts."""
    # Only rank 0 writes and prints.
    keys = msgspec.structs.replace(plan, output=None, quiet=False)
    given = group.gather(keys, Plan)
    others = [str(rank) for rank, other in enumerate(given or ()) if other != keys]
    if others and view.takes_warnings:
        ranks = f"rank {others[0]} has" if len(others) == 1 else f"{len(others)} ranks have"
        view.warn([f"{ranks} other options than rank 0, whose options count"])


def _create(group: Group, create: Callable[[], RunFile]) -> RunFile | None:
    """Rank 0's file. Raises UsageError or HalftripError, on all ranks, if it cannot be made."""
    run_file, refusal = None, None
    if group.rank == 0:
        try:
            run_file = create()
        except HalftripError as error:
            refusal = Abort.from_error(error, group.rank)
    refusal = group.broadcast(refusal, Abort | None)
    if refusal is not None:
        raise refusal.error()
    return run_file


class _FileSink:
    """Writes rank 0's records into the run file."""

    def __init__(self, run_file: RunFile | None, view: RunView) -> None:
        self._run_file = run_file
        self._view = view

    def lines(self, lines: bytes, last: bool = False) -> None:
        if self._run_file is None:
            raise RuntimeError("only rank 0 has records")
        self._run_file.append(lines, last)

    def progress(self, done: int, total: int, what: str) -> None:
        self._view.update(done, total, what)

    def before_slice(self, setting: Configuration) -> None:
        if self._view.paces:
            self._view.before_slice(setting)


class _EarlyEnd:
    """Writes into rank 0's file why the run ended early, tells the user, and removes MPI's shared
    memory. `told`: all of this was done when the watchdog noticed the end."""

    def __init__(self, rank: int, run_file: RunFile | None, token: str) -> None:
        self.told = False
        self._job = f"{token[:8]}-"
        # Where all ranks are killed, the next start removes their segments.
        self._claim = Claim.of_own_segments(self._job)
        self._rank = rank
        self._run_file = run_file

    def tell(self, reason: str) -> None:
        """Does everything, at once: where a rank has died, the launcher is about to kill this one.
        Open MPI waits a quarter of a second or more before it does."""
        self._end_file(reason)
        self.told = True
        if speaks(self._rank, reason):
            # Where the launcher was killed, nobody reads what its ranks write.
            with contextlib.suppress(OSError):
                # In one piece: other processes write to the same place.
                sys.stderr.write(f"halftrip: {reason}\n")
                sys.stderr.flush()
        self.forget()

    def clean_up(self, reason: str) -> None:
        """Does the same as `tell`, but leaves it to the caller's error to tell the user."""
        self._end_file(reason)
        self.forget()

    def forget(self, segments: bool = True) -> None:
        """Removes MPI's shared memory, if that is to be, and what is known of it elsewhere."""
        if segments:
            shm_cleanup.remove_own()
        if self._claim is not None:
            self._claim.cleanup()
            # Those of ranks that were killed.
            remove_left_behind(self._job)

    def _end_file(self, reason: str) -> None:
        if self._run_file is not None:
            self._run_file.end_early(reason)


def _measure(
    group: MpiGroup,
    plan: Plan,
    run_file: RunFile | None,
    view: RunView,
    left: Resumption,
    limit: TimeLimit | None,
) -> Path:
    began = time.monotonic()
    token = group.broadcast(new_token(), str)
    early_end = _EarlyEnd(group.rank, run_file, token)
    try:
        rank_channels = connect_to_rank_0(group, token, Network(plan.interface, plan.data_ports))
    except HalftripError as error:
        early_end.clean_up(str(error))
        raise
    path = ""

    def work() -> None:
        nonlocal path
        agreed = group.broadcast(plan, Plan)
        launch = group.broadcast(left.first, int)
        process = ProcessContext.from_plan(
            agreed, group.rank, token, group.communicator, launch=launch
        )
        allowed = None if limit is None else limit.allowed(began)
        Runner(agreed, group, process, _FileSink(run_file, view), left.done, allowed).run()
        # After the last record: other ranks may read the file as soon as they have its path.
        path = group.broadcast(str(run_file.path.absolute()) if run_file is not None else "", str)

    watchdog = Watchdog(
        channels=rank_channels,
        # Process 0 is a parent outside this PID namespace, which cannot be watched.
        processes={os.getppid(): "the launcher"} if os.getppid() else {},
        on_end=early_end.tell,
        signals=(signal.SIGINT, signal.SIGTERM),
        seconds=None if limit is None else limit.left,
        over="" if limit is None else str(limit.error()),
    )
    failure = watchdog.guard(work)
    if failure is None:
        watchdog.close()
        # MPI_Finalize removes its segments.
        early_end.forget(segments=False)
        return Path(path)
    abort = Abort.from_error(failure, group.rank)
    early_end.clean_up(abort.reason)
    if abort.usage and run_file is not None:
        run_file.discard()
    watchdog.close(abort, keeps_channels=True)
    if group.rank != 0:
        _await_end(*rank_channels)
    if early_end.told:
        raise Interrupted(abort.reason, told=True)
    raise failure


# How long the other ranks wait for rank 0 to print what there is.
_PRINT_SECONDS = 4.0


def _await_end(rank_0: Channel) -> None:
    """Waits until rank 0 has ended, whose end of the channel is open as long as its error is being
    handled: an mpiexec ends all ranks as soon as the first has ended."""
    until = time.monotonic() + _PRINT_SECONDS
    with contextlib.suppress(Closed):
        while True:
            rank_0.receive(deadline=until)


_CONNECT_SECONDS = 30.0


def connect_to_rank_0(group: Group, token: str, network: Network) -> dict[Channel, str]:
    """This rank's connections, each with the name of the other end: rank 0 has one for every other
    rank, the others have one.

    Raises Interrupted where not all can be made. Ranks that are connected already then get an
    Abort.
    """
    identities = group.allgather(host_identity(), str)
    if group.rank == 0:
        guests = {Guest("life", rank) for rank in range(1, group.size)}
        reach: Reach = "unix" if len(set(identities)) == 1 else network
        listener = Listener(token, guests, reach, rank=0)
        group.broadcast(listener.address, Address)
        try:
            return _accept_all(listener, group.size - 1)
        finally:
            listener.close()
    address = group.broadcast(None, Address)
    try:
        hello = introduce("life", group.rank, to=0)
        channel = connect(address, token, hello, _CONNECT_SECONDS, network=network)
    except (OSError, Closed) as error:
        raise Interrupted(f"rank {group.rank} cannot reach rank 0: {error}") from None
    return {channel: "rank 0"}


def _accept_all(listener: Listener, count: int) -> dict[Channel, str]:
    channels: dict[Channel, str] = {}
    try:
        for channel, hello in listener.connections(count, _CONNECT_SECONDS):
            channels[channel] = hello.name
    except TimeoutError:
        missing = count - len(channels)
        reason = f"{missing} of {count} ranks could not reach rank 0 in {_CONNECT_SECONDS:.0f} s"
        for channel in channels:
            with contextlib.suppress(Closed):
                channel.send(Abort(reason))
            channel.close()
        raise Interrupted(reason) from None
    return channels
