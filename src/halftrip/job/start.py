"""Runs a plan with ranks of its own: chooses a launcher, and starts ranks once per launch."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING

from halftrip.control.listener import Listener
from halftrip.entries import Needs
from halftrip.errors import (
    HalftripError,
    Interrupted,
    Unavailable,
    UsageError,
    shortage,
)
from halftrip.job import forks
from halftrip.job.connected import guests
from halftrip.job.deaths import HostsLost, LaunchFailed
from halftrip.job.left_behind import remove_left_behind
from halftrip.job.limit import TimeLimit, is_worthwhile
from halftrip.job.processes import Started, environment
from halftrip.job.resumption import Resumption
from halftrip.job.series import LaunchTask, launch_all
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import Job
from halftrip.job.supervisor import Supervisor
from halftrip.job.view import RunView
from halftrip.plan.launches import plan_of_launch
from halftrip.plan.pairing import Schedules
from halftrip.plan.plan import Plan
from halftrip.plan.variants import plan_of, plans_of_variants
from halftrip.registry import LAUNCHERS, needing
from halftrip.results.records import RunEnd, Skip
from halftrip.results.reported import BASE, SIDE, Variant
from halftrip.results.run_file import RunFile, encode

if TYPE_CHECKING:
    from halftrip.job.launchers.base import Launcher

DEFAULT_RANKS = 2


def launch(plan: Plan, run_file: RunFile, view: RunView, left: Resumption) -> None:
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
            limit = TimeLimit.from_plan(plan)
            remove_left_behind()
            first = plans_of_variants(plan)[0]
            # Ranks on other hosts have none of this one's cores.
            if view.takes_warnings and not first.spans_hosts and is_worthwhile(first):
                from halftrip.job.machine import look_before_launch

                forks.settle()
                look_before_launch(first, first.ranks or DEFAULT_RANKS, view)
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
    finally:
        forks.end()


# The launchers of what transports need, the first choice first.
_LAUNCHERS: dict[Needs, str] = {"mpi": "mpiexec", "dragon": "dragon"}


def _launch(
    plan: Plan, run_file: RunFile, view: RunView, left: Resumption, limit: TimeLimit | None
) -> None:
    if plan.vary:
        _launch_variants(plan, run_file, view, left, limit)
        return
    while plan.transports:
        name, chosen_for = _launcher(plan)
        try:
            _launch_with(name, plan, run_file, view, left, limit)
            return
        except (Unavailable, LaunchFailed) as error:
            if not chosen_for:
                raise
            for transport in chosen_for:
                run_file.append(encode(Skip(transport=transport, reason=str(error))))
                plan = plan.without(transport)
    run_file.end(RunEnd(reason=None))


def _launch_with(
    name: str,
    plan: Plan,
    run_file: RunFile,
    view: RunView,
    left: Resumption,
    limit: TimeLimit | None,
) -> None:
    starter = _Starter(name, plan, set())

    def launch_once(task: LaunchTask) -> None:
        try:
            starter.launch(task)
        except (Unavailable, LaunchFailed) as error:
            if task.number == left.first:
                raise
            raise Interrupted(f"launch {task.number + 1}: {error}") from None

    launch_all(plan, run_file, view, launch_once, left, limit)


def _launch_variants(
    plan: Plan, run_file: RunFile, view: RunView, left: Resumption, limit: TimeLimit | None
) -> None:
    """As `_launch`, for each variant of a plan by itself. Where the launcher that some transports
    need fails for one, that is an error of this variant, and the rest of it is measured without."""
    absent: set[str] = set()
    plans: dict[Variant, Plan] = {}

    def launch_once(task: LaunchTask) -> None:
        variant = task.due.variant
        of_variant = plans.setdefault(variant, plan_of(plan, variant))
        failed: LaunchFailed | None = None
        command = _other_command(of_variant)
        if command is not None:
            from halftrip.job.other_installation import measure_elsewhere

            with environment(of_variant.variables):
                measure_elsewhere(command, plan_of_launch(of_variant), task)
            return
        with environment(of_variant.variables):
            while True:
                name, chosen_for = _launcher(of_variant)
                try:
                    _Starter(name, of_variant, absent).launch(task)
                    break
                except (Unavailable, LaunchFailed) as error:
                    rest = of_variant
                    for transport in chosen_for:
                        rest = rest.without(transport)
                    if not chosen_for or not rest.transports:
                        raise
                    if isinstance(error, LaunchFailed):
                        failed = error
                    else:
                        for transport in chosen_for:
                            skip = Skip(transport=transport, reason=str(error))
                            task.records.append(encode(skip))
                    plans[variant] = of_variant = rest
        if failed is not None:
            raise failed

    launch_all(plan, run_file, view, launch_once, left, limit)


def _other_command(plan: Plan) -> str | None:
    """The other installation's command that measures this launch, if one does."""
    is_base = dict(plan.variant).get(SIDE) == BASE
    return plan.against.command if plan.against is not None and is_base else None


def _launcher(plan: Plan) -> tuple[str, list[str]]:
    """The launcher that starts the ranks of a plan, and the transports that it is chosen for; none
    where the plan says so, or where any would do."""
    if plan.launcher is not None or plan.mpiexec is not None or plan.spans_hosts:
        default = "mpiexec" if not plan.spans_hosts else "ssh" if plan.hosts else "peer"
        return plan.launcher or default, []
    for needed, launcher in _LAUNCHERS.items():
        if found := needing(needed, plan.used_transports):
            return launcher, found
    return "local", []


class _Starter:
    """Starts the ranks of a plan with the launcher of this `name`, launch by launch. The `absent`
    hosts have been lost so far."""

    def __init__(self, name: str, plan: Plan, absent: set[str]) -> None:
        self._name = name
        self._plan = plan
        self._absent = absent
        self._is_first = True

    def launch(self, task: LaunchTask) -> None:
        """Has them measure the plan without what is done. Raises what Supervisor.run does, and
        HostsLost where others can go on."""
        plan, absent = self._plan, self._absent
        launcher: Launcher = LAUNCHERS.load(self._name)(plan)
        # The ranks of a variant have its environment from their beginning.
        launcher.may_fork = not plan.variant
        if not (launcher.may_fork and self._name == "local"):
            forks.end()
        if self._is_first and _uses_dragon(plan):
            from halftrip.dragon import command as dragon_command

            task.view.warn(dragon_command.notes(plan.dragon))
        self._is_first = False
        ranks = plan.ranks or DEFAULT_RANKS
        listener = Listener(launcher.token, guests(ranks), launcher.reach)
        lost = {rank: host for rank, host in enumerate(launcher.hosts) if host in absent}
        job = launcher.job(listener, ranks, lost)
        supervisor = Supervisor(job, listener, task.records, task.view)
        try:
            supervisor.run(
                plan_of_launch(plan),
                partial(_start, plan, launcher),
                task.number,
                task.due.done,
                task.limit,
                task.earlier,
            )
        except HalftripError as error:
            absent.update(supervisor.lost)
            if supervisor.lost and launcher.hosts and _have_pairs(plan, launcher.hosts, absent):
                raise HostsLost(str(error), _ranks_of(supervisor.lost, launcher)) from None
            raise


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
    return bool(needing("dragon", plan.used_transports))


def _start(plan: Plan, launcher: Launcher, job: Job, started: Started) -> None:
    """Starts the ranks, and before them what only some transports need."""
    if not launcher.starts_dragon and _uses_dragon(plan):
        from halftrip.job.dragon_runtime import start_beside

        job = start_beside(plan.dragon, job, started)
    launcher.start(job, started)
    if plan.start_timeout is not None:
        started.start_seconds = plan.start_timeout
