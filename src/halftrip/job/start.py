"""A whole run, wherever its ranks come from."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from halftrip.control.protocol import Listener
from halftrip.errors import HalftripError, Interrupted, Unavailable, UsageError
from halftrip.job.series import LaunchRecords, launch_all
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import new_token
from halftrip.job.supervisor import LaunchFailed, Supervisor
from halftrip.job.view import View
from halftrip.plan.plan import Plan
from halftrip.registry import LAUNCHERS
from halftrip.results.records import RunEnd, Skip
from halftrip.results.run_file import RunFile, encode

if TYPE_CHECKING:
    from halftrip.job.launchers.base import Launcher

DEFAULT_RANKS = 2


def launch(plan: Plan, run_file: RunFile, view: View) -> None:
    """Starts ranks and has them walk through the plan; all that they measure is in `run_file`.

    Where no launcher is asked for, an mpiexec starts them if MPI is to be measured. If there is
    none that can, MPI is skipped with the reason, and the rest is measured with local processes.
    A launcher or an mpiexec that was asked for has to do.

    Raises HalftripError, of the kinds that Supervisor.run does, after writing why into the file.
    """
    try:
        # A launcher that is only being looked for can be waited for in vain as well.
        with catching(interrupt):
            _launch(plan, run_file, view)
    except UsageError:
        run_file.discard()
        raise
    except HalftripError as error:
        with contextlib.suppress(HalftripError):  # a full disk is reason enough
            run_file.end(RunEnd(reason=str(error)))
        raise


def _launch(plan: Plan, run_file: RunFile, view: View) -> None:
    if plan.launcher is not None or plan.mpiexec is not None:
        _launch_with(plan.launcher or "mpiexec", plan, run_file, view)
        return
    if "mpi" in plan.transport:
        try:
            _launch_with("mpiexec", plan, run_file, view)
            return
        except (Unavailable, LaunchFailed) as error:
            run_file.append(encode(Skip(transport="mpi", reason=str(error))))
        others = tuple(name for name in plan.transport if name != "mpi")
        plan = msgspec.structs.replace(plan, transport=others)
    if plan.transport:
        _launch_with("local", plan, run_file, view)
    else:
        run_file.end(RunEnd(reason=None))


def _launch_with(name: str, plan: Plan, run_file: RunFile, view: View) -> None:
    def launch_once(number: int, records: LaunchRecords, view: View) -> None:
        try:
            launcher: Launcher = LAUNCHERS.load(name)(plan)
            token = new_token()
            listener = Listener(token, launcher.reach)
            job = launcher.job(listener, token, plan.ranks or DEFAULT_RANKS)
            Supervisor(job, listener, records, view).run(plan, launcher.start, number)
        except (Unavailable, LaunchFailed) as error:
            if number == 0:
                raise
            raise Interrupted(f"launch {number + 1}: {error}") from None

    launch_all(plan, run_file, view, launch_once)
