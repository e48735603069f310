"""The Python interface: measures plans, and loads run files."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from halftrip import __version__
from halftrip.errors import HalftripError, UsageError
from halftrip.job.existing import existing_job, shared
from halftrip.job.resumption import Resumption, resumption, resumption_of_variants
from halftrip.job.start import DEFAULT_RANKS, launch
from halftrip.job.view import NoView, RunView
from halftrip.plan.launches import plan_of_launch, undealt
from halftrip.plan.layer import Layer
from halftrip.plan.layers import check_ranks, file_layer, make_plan, plan_layer, python_layer
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.recipes import find_plan
from halftrip.plan.variants import plans_of_variants
from halftrip.results import run as results
from halftrip.results import run_file
from halftrip.results.configuration import Configuration
from halftrip.results.reading import FORMAT
from halftrip.results.records import Again, Header
from halftrip.results.run_file import RunFile, default_name, encode, utc_now
from halftrip.texts import printable
from halftrip.transports.refusals import check_possible

if TYPE_CHECKING:
    import pandas

__all__ = ["Run", "load", "measure", "resume", "run"]

# Rows are measured again if --max-duration leaves this many times as long as they took, and so long
# for the start of the ranks, s.
_MOST_SHARE = 1.5
_START_SECONDS = 3.0

PlanSource: TypeAlias = Plan | Mapping[str, Any] | str | os.PathLike[str] | None


class Run(results.Run, frozen=True, kw_only=True, dict=True):
    """The content of a run file, also as a data frame. `file` is the name of the file."""

    file: str | None = None

    def frame(self, slices: bool = False, samples: bool = False) -> pandas.DataFrame:
        """One row per configuration, per slice or per sample; see `report.frame` and
        `export.frame`. Needs the extra ``frame``."""
        from halftrip.export.frame import samples_frame
        from halftrip.report.frame import frame

        if slices and samples:
            raise UsageError("frame(): of slices or of samples, not of both")
        if samples:
            return samples_frame(self, self.file)
        return frame(self, slices, self.file)


def load(path: str | os.PathLike[str]) -> Run:
    """Reads a run file. Lines that are no records, or make no sense, are left out and named in its
    `problems`. Raises UsageError if it cannot be read, or is not a run file."""
    return Run(**msgspec.structs.asdict(run_file.load(path)), file=Path(path).name)


def run(plan: PlanSource = None, **keys: Any) -> Run:
    """Measures `plan` and returns the run. Its file stays: it is the one that `output` names, or a
    new one in the current directory.

    `plan` is a Plan, the keys of one, the path of a TOML file, or the name of a recipe; `keys` win
    over it. In a job that an mpiexec or srun has started, every rank calls this, and reads rank 0's
    file at the end.

    Raises UsageError for an invalid plan, or if the file cannot be read; Interrupted if a rank or
    the launcher died, or a signal arrived; HalftripError otherwise.
    """
    try:
        is_job = existing_job(os.environ) is not None
        whole_plan = make_plan(*_layers(plan), python_layer(keys), in_job=is_job)
        path = Path(whole_plan.output or default_name())
        return load(measure(whole_plan, path, NoView(), sys.argv))
    except UsageError as error:
        raise shared(error) from None


def _layers(plan: PlanSource) -> list[Layer]:
    if plan is None:
        return []
    if isinstance(plan, Plan):
        return [plan_layer(plan)]
    if isinstance(plan, Mapping):
        return [python_layer(plan)]
    return [file_layer(find_plan(plan))]


def resume(
    path: str | os.PathLike[str],
    again: Iterable[str] = (),
    view: RunView | None = None,
    max_duration: float | None = None,
) -> Run:
    """Goes on with an interrupted run, or measures again what failed and the rows that have one of
    the verdicts or flags `again`, into the same file, as further launches. It ends within
    `max_duration`, s (None: within what its plan allows). Raises what `run` does."""
    before = run_file.load(path)
    if before.sources:
        raise UsageError(f"{path}: what {before.sources[0].tool} has measured cannot be resumed")
    plan = make_plan(python_layer(before.header.plan))
    began = time.monotonic()
    _go_on(
        before,
        plan,
        _named(before, set(again)),
        Path(path),
        view or NoView(),
        max_duration=max_duration,
    )
    _retest(_limited(plan, max_duration), Path(path), view or NoView(), began)
    return load(path)


def _go_on(
    before: results.Run,
    plan: Plan,
    again: Sequence[Configuration],
    path: Path,
    view: RunView,
    left_out: Collection[Configuration] = (),
    max_duration: float | None = None,
) -> None:
    """Measures what a run lacks, but for what is `left_out`, and the configurations `again`, into
    its file, within `max_duration`, s, if that is given. What it lacks, its own plan says: with a
    limit any slice is enough."""
    plans = check_possible(plan_of_launch(plan))
    try:
        find = resumption_of_variants if plan.vary else resumption
        left = find(before, plan, plans, again).without(left_out)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None

    def reopen() -> RunFile:
        opened = RunFile(path, resumed=True)
        if left.replaces:
            # Rows are measured again because their measurements are in doubt.
            opened.append(encode(Again(launch=left.first)))
        return opened

    _measure(_limited(plan, max_duration), path, view, reopen, left)


def _limited(plan: Plan, max_duration: float | None) -> Plan:
    if max_duration is None:
        return plan
    return msgspec.structs.replace(plan, max_duration=max_duration)


def _named(run: results.Run, names: set[str]) -> list[Configuration]:
    """The configurations of the rows that have one of these verdicts or flags. Raises UsageError
    for an unknown one."""
    from halftrip.analysis.flags import NAMES
    from halftrip.analysis.rows import rows
    from halftrip.analysis.verdict import NOT_OK

    unknown = names.difference(NAMES, NOT_OK)
    if unknown:
        allowed = ", ".join([*NOT_OK, *NAMES])
        raise UsageError(f"--again: {min(unknown)!r} is not known; allowed: {allowed}")
    return [
        row.configuration
        for row in rows(run, flags=not names.isdisjoint(NAMES))
        if row.verdict.word in names or not names.isdisjoint(flag.name for flag in row.flags)
    ]


def measure(plan: Plan, path: Path, view: RunView, command: list[str]) -> Path:
    """Measures `plan` into a new file at `path`; `view` shows the progress, and `command` is
    recorded.

    Returns the path of the file: rank 0's, in a job that another launcher has started. Raises the
    errors of `run`; the file then has everything that was measured before.
    """
    if existing_job(os.environ) is not None:
        plan = undealt(plan)
    check_possible(plan)
    began = time.monotonic()
    left = Resumption(launches=plan.launches)
    path = _measure(plan, path, view, partial(_create, path, plan, command), left)
    _retest(plan, path, view, began)
    return path


def _retest(plan: Plan, path: Path, view: RunView, began: float) -> None:
    """Measures again what slow hosts and links are told by, before they are named. The run began at
    that time.monotonic. In a job of another launcher's, no ranks can be started; several launches
    have measured all of it again already, and their interval would be lost."""
    if existing_job(os.environ) is not None or plan.launches > 1 or plan.until_ci:
        return
    from halftrip.analysis.network import FEWEST_HOSTS, suspect_rows

    if len(run_file.hosts(path)) < FEWEST_HOSTS:
        return
    for _ in range(plan.retest):
        run = run_file.load(path)
        rows = [] if run.interrupted is not None else suspect_rows(run)
        if not rows:
            return
        of_launch = plan
        if plan.max_duration is not None:
            gone = time.monotonic() - began
            seconds = plan.max_duration - gone
            if (
                seconds
                < _MOST_SHARE * gone * len(rows) / len(run.by_configuration) + _START_SECONDS
            ):
                return
            of_launch = msgspec.structs.replace(plan, max_duration=seconds)
        # What failed would only fail again.
        failed = {failure.configuration for failure in run.failures}
        _go_on(run, of_launch, rows, path, view, failed.difference(rows))


def _measure(
    plan: Plan, path: Path, view: RunView, create: Callable[[], RunFile], left: Resumption
) -> Path:
    """Measures what is left of the plan, which is possible, into the file that `create` opens."""
    job = existing_job(os.environ)
    if job is not None:
        # What a rank needs: this process starts none, but is one.
        from halftrip.job.join import join

        return join(job, plan, create, view, left)
    for each in plans_of_variants(plan):
        check_ranks(each, each.ranks or DEFAULT_RANKS)
    with contextlib.closing(create()) as run_file:
        launch(plan, run_file, view, left)
    return path


def _create(path: Path, plan: Plan, command: list[str]) -> RunFile:
    """A new run file, with its first record. Raises HalftripError if it cannot be written."""
    run_file = RunFile(path)
    header = Header(
        version=FORMAT,
        halftrip=__version__,
        started=utc_now(),
        # A word may be any bytes.
        command=[printable(word) for word in command],
        plan=plan_record(plan),
    )
    try:
        run_file.append(encode(header))
    except HalftripError:
        run_file.close()
        run_file.discard()
        raise
    return run_file
