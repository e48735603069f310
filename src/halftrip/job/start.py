"""Runs a plan with ranks of its own: chooses a launcher, and starts ranks once per launch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from halftrip.control.listener import Listener
from halftrip.dragon import command
from halftrip.errors import (
    HalftripError,
    Interrupted,
    Unavailable,
    UsageError,
    shortage,
)
from halftrip.job.connected import guests
from halftrip.job.deaths import HostsLost, LaunchFailed
from halftrip.job.limit import Limit
from halftrip.job.machine import look_before_launch
from halftrip.job.processes import Started
from halftrip.job.resumption import Done, Resumption
from halftrip.job.series import LaunchRecords, launch_all
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import Job
from halftrip.job.supervisor import Supervisor
from halftrip.job.view import View
from halftrip.plan.pairing import Schedules
from halftrip.plan.plan import Plan
from halftrip.registry import DRAGON_TRANSPORTS, LAUNCHERS, MPI_TRANSPORTS
from halftrip.results.records import RunEnd, Skip
from halftrip.results.run_file import RunFile, encode

if TYPE_CHECKING:
    from halftrip.job.launchers.base import Launcher

DEFAULT_RANKS = 2


def launch(plan: Plan, run_file: RunFile, view: View, left: Resumption) -> None:
    """Starts ranks that measure what is `left` of the plan, and writes their records into
    `run_file`.

    If the plan names no launcher, an mpiexec starts the ranks if MPI is to be measured, else Dragon
    if that is. If it does not work, what needs it is skipped with the reason, and the rest is
    measured without. A launcher or an mpiexec that the plan names has to work. To ranks that Dragon
    has not started, a runtime beside them gives its channels.

    Raises the errors of Supervisor.run, and Unavailable, after writing the reason into the file. A
    UsageError removes the file.
    """
    try:
        # Signals count before the supervisor catches them, too: an mpiexec may hang while it is
        # asked for its version.
        with catching(interrupt):
            limit = Limit.of(plan)
            look_before_launch(plan, plan.ranks or DEFAULT_RANKS, view)
            _launch(plan, run_file, view, left, limit)
    except UsageError:
        run_file.discard()
        raise
    except HalftripError as error:
        run_file.end_early(str(error))
        raise
    except (OSError, MemoryError) as error:
        short = shortage(error)
        if short is None:
            raise
        run_file.end_early(short)
        raise HalftripError(short) from None


# The launchers that some transports need, the first choice first.
_NEEDED = {"mpiexec": MPI_TRANSPORTS, "dragon": DRAGON_TRANSPORTS}


def _launch(
    plan: Plan, run_file: RunFile, view: View, left: Resumption, limit: Limit | None
) -> None:
    if plan.launcher is not None or plan.mpiexec is not None or plan.spans_hosts:
        default = "mpiexec" if not plan.spans_hosts else "ssh" if plan.hosts else "peer"
        _launch_with(plan.launcher or default, plan, run_file, view, left, limit)
        return
    for launcher, transports in _NEEDED.items():
        needing = [name for name in plan.transports if name in transports]
        if not needing:
            continue
        try:
            _launch_with(launcher, plan, run_file, view, left, limit)
            return
        except (Unavailable, LaunchFailed) as error:
            for name in needing:
                run_file.append(encode(Skip(transport=name, reason=str(error))))
        for name in needing:
            plan = plan.without(name)
    if plan.transports:
        _launch_with("local", plan, run_file, view, left, limit)
    else:
        run_file.end(RunEnd(reason=None))


def _launch_with(
    name: str, plan: Plan, run_file: RunFile, view: View, left: Resumption, limit: Limit | None
) -> None:
    # The hosts that have been lost so far.
    absent: set[str] = set()

    def launch_once(
        number: int, done: Done, records: LaunchRecords, view: View, limit: Limit | None
    ) -> None:
        try:
            launcher: Launcher = LAUNCHERS.load(name)(plan)
            if number == left.first and _uses_dragon(plan):
                view.warn(command.notes(plan.dragon))
            token = launcher.token
            ranks = plan.ranks or DEFAULT_RANKS
            listener = Listener(token, guests(ranks), launcher.reach)
            lost = {rank: host for rank, host in enumerate(launcher.hosts) if host in absent}
            job = launcher.job(listener, token, ranks)
            job = msgspec.structs.replace(job, absent=lost)
            supervisor = Supervisor(job, listener, records, view)
            try:
                supervisor.run(plan, partial(_start, plan, launcher), number, done, limit)
            except HalftripError as error:
                absent.update(supervisor.lost)
                if supervisor.lost and launcher.hosts and _have_pairs(plan, launcher.hosts, absent):
                    raise HostsLost(str(error), _ranks_of(supervisor.lost, launcher)) from None
                raise
        except (Unavailable, LaunchFailed) as error:
            if number == left.first:
                raise
            raise Interrupted(f"launch {number + 1}: {error}") from None

    launch_all(plan, run_file, view, launch_once, left, limit)


def _ranks_of(hosts: Collection[str], launcher: Launcher) -> dict[str, list[int]]:
    """The ranks of each of these hosts."""
    where = launcher.hosts
    return {host: [rank for rank, name in enumerate(where) if name == host] for host in hosts}


def _have_pairs(plan: Plan, hosts: Sequence[str], absent: Collection[str]) -> bool:
    """Whether some pairs of the plan are left if these hosts are lost. `hosts` are by rank."""
    lost = [rank for rank, host in enumerate(hosts) if host in absent]
    schedule = Schedules(len(hosts), plan.pairs, plan.limits, hosts, lost)
    return bool(schedule.rounds_of(plan.limits))


def _uses_dragon(plan: Plan) -> bool:
    return not set(DRAGON_TRANSPORTS).isdisjoint(plan.transports)


def _start(plan: Plan, launcher: Launcher, job: Job, started: Started) -> None:
    """Starts the ranks, and before them what only some transports need."""
    if not launcher.starts_dragon and _uses_dragon(plan):
        from halftrip.job.dragon_runtime import start_beside

        job = start_beside(plan.dragon, job, started)
    launcher.start(job, started)
