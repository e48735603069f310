"""halftrip from Python: measure, load."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halftrip import __version__, store
from halftrip.errors import HalftripError
from halftrip.launch.control import View
from halftrip.launch.join import join, surrounding
from halftrip.launch.run import DEFAULT_RANKS, launch
from halftrip.model import Head, Run
from halftrip.plan import (
    Layer,
    Plan,
    check_ranks,
    file_layer,
    make_plan,
    plan_layer,
    plan_record,
    python_layer,
)
from halftrip.store import RunFile, load
from halftrip.transports.refusals import check_possible

__all__ = ["load", "measure", "run"]


class NoView:
    """Shows nothing."""

    visible = False

    def update(self, done: int, total: int, what: str) -> None:
        pass

    def quote(self, who: str, lines: list[str]) -> None:
        pass


def run(plan: Plan | Mapping[str, Any] | str | os.PathLike[str] | None = None, **keys: Any) -> Run:
    """Measures `plan` and returns the run; it stays in the file that `output` names, or a new one.

    `plan` is a Plan, the keys of one, or the path of a TOML file; `keys` win over it. In a job that
    an mpiexec or srun has started, every rank calls this, and every rank that can see rank 0's file
    gets the run.

    Raises UsageError for a plan that is none, Interrupted if a rank died, HalftripError otherwise.
    """
    made = make_plan(*_layers(plan), python_layer(keys))
    path = Path(made.output or store.default_name())
    return load(measure(made, path, NoView(), sys.argv))


def _layers(plan: Plan | Mapping[str, Any] | str | os.PathLike[str] | None) -> list[Layer]:
    if plan is None:
        return []
    if isinstance(plan, Plan):
        return [plan_layer(plan)]
    if isinstance(plan, Mapping):
        return [python_layer(plan)]
    return [file_layer(plan)]


def measure(plan: Plan, path: Path, view: View, command: list[str]) -> Path:
    """Measures `plan` into a new file at `path`, with `view` to show how far it is.

    Returns where the file is, which in a job of several ranks is rank 0's `path`. Raises what `run`
    does; the file holds all that was measured until then.
    """

    def create(plan: Plan) -> RunFile:
        run_file = RunFile(path)
        head = Head(
            format=store.FORMAT,
            halftrip=__version__,
            started=store.utc_now(),
            command=command,
            plan=plan_record(plan),
        )
        try:
            run_file.append(store.encode(head))
        except HalftripError:
            run_file.close()
            run_file.discard()
            raise
        return run_file

    check_possible(plan)
    job = surrounding(os.environ)
    if job is not None:
        return join(job, plan, create, view)
    check_ranks(plan, plan.ranks or DEFAULT_RANKS)
    run_file = create(plan)
    try:
        launch(plan, run_file, view)
    finally:
        run_file.close()
    return path
