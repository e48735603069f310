"""``halftrip run``: measure, and print the table."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from halftrip.analysis.baseline import Baseline, check_baseline
from halftrip.analysis.expectation import NOTHING_EXPECTED, Expectations, fails
from halftrip.api import measure, resume
from halftrip.cli.against import Asked, plan_against
from halftrip.cli.loading import loaded
from halftrip.cli.report import Page
from halftrip.cli.show import TABLE, Form, print_first, print_form
from halftrip.cli.speaker import in_job, speaks
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.plan.config import config_layer
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.parsing import items
from halftrip.plan.plan import Plan, plan_record
from halftrip.plan.recipes import find_plan
from halftrip.report.document import document
from halftrip.report.progress import ProgressLine
from halftrip.results.run import Run
from halftrip.results.run_file import default_name, load
from halftrip.texts import printable

_QUOTED_LINES = 20
NOTHING_ASKED = Asked()
NO_PAGE = Page()


def run_plan(
    plan_file: str | None,
    options: Mapping[str, str | bool | None],
    form: Form = TABLE,
    with_config: bool = True,
    asked: Asked = NOTHING_ASKED,
    page: Page = NO_PAGE,
) -> int:
    """Measures, prints the run in a form, writes its page if it is to be, and returns the exit
    status: 1 if nothing was measured, or a configuration failed. The user's own defaults hold
    `with_config`, unless what is `asked` is to measure the plan of an earlier run against it."""
    if asked.is_given:
        return _measure_plan(plan_against(asked, plan_file, options), form, page)
    layers = [file_layer(find_plan(plan_file))] if plan_file is not None else []
    defaults = config_layer(os.environ, in_job()) if with_config else None
    plan = make_plan(*layers, options_layer(options), defaults=defaults)
    _check_tolerance(plan, options)
    return _measure_plan(plan, form, page)


def _measure_plan(plan: Plan, form: Form, page: Page) -> int:
    baseline = _baseline(plan.baseline, plan)
    path = Path(plan.output or default_name())
    return _measure(
        path,
        plan.quiet,
        form,
        page,
        lambda view: measure(plan, path, view, sys.argv),
        Expectations.of_plan(plan_record(plan), baseline),
        plan.max_duration,
    )


def _check_tolerance(plan: Plan, options: Mapping[str, str | bool | None]) -> None:
    """Raises UsageError for the option --tolerance where nothing is expected. A plan file may have
    it alone: what is expected is then said with the command, or the screen says that it is not."""
    nothing = plan.expect is None and plan.baseline is None
    if options.get("tolerance") is not None and nothing:
        raise UsageError("--tolerance: only with --expect or --baseline")


def _baseline(path: str | None, plan: Plan | None = None) -> Baseline | None:
    """The figures of the baseline in the file `path`, on the rank that judges by them; None where
    there is none. Raises UsageError if it has nothing to compare with something in the `plan`."""
    if path is None or not speaks():
        return None
    found, name = loaded(path), printable(path)
    if plan is not None:
        check_baseline(found, name, plan)
    return Baseline.of(found, name)


def resume_run(
    plan_file: str | None,
    path: str | None,
    again: str | None,
    options: Mapping[str, str | bool | None],
    form: Form = TABLE,
    page: Page = NO_PAGE,
) -> int:
    """As `run_plan`, for what is left of the run in the file `path`, and for its rows that have one
    of the flags `again`. Raises UsageError for options that belong to a new run."""
    if path is None:
        raise UsageError("--again: only with --resume, which names the run file")
    others = [name for name, value in options.items() if value is not None and name != "quiet"]
    if plan_file is not None or others:
        place = plan_file or f"--{others[0].replace('_', '-')}"
        raise UsageError(f"{place}: --resume takes the plan of {path}; leave it out")
    flags = items(again) if again is not None else []

    expected = Expectations.of_plan(load(path).header.plan)
    expected = expected._replace(baseline=_baseline(expected.named))

    def go_on(view: ProgressLine) -> Path:
        resume(path, flags, view)
        return Path(path)

    return _measure(Path(path), bool(options.get("quiet")), form, page, go_on, expected)


def _measure(
    path: Path,
    quiet: bool,
    form: Form,
    page: Page,
    work: Callable[[ProgressLine], Path],
    expected: Expectations,
    seconds: float | None = None,
) -> int:
    """Calls `work`, which returns the path of the run file, within so many seconds, prints the run
    in a form, judged by what is `expected`, writes its page, and returns the exit status."""
    form.check()
    page.check()
    if form.format == "nodes" and expected.are_none:
        raise UsageError(NOTHING_EXPECTED)
    # In a job, output goes through the launcher, and some launchers pretend to be a terminal.
    plain = in_job()
    try:
        console = Console(stderr=True)
        with ProgressLine(console, hidden=quiet or plain, quiet=quiet, seconds=seconds) as view:
            path = work(view)
    except Interrupted:
        if not quiet and speaks() and path.exists():
            # A terminal may be gone; how the run ended matters more.
            with contextlib.suppress(HalftripError, OSError):
                _print_run(load(path), path, form, plain, expected)
        raise
    if not speaks():
        return 0
    run = load(path)
    if quiet:
        print(path)
    else:
        _print_run(run, path, form, plain, expected)
        for who, lines in view.quotes:
            _print_quote(who, lines)
    # A program reads all else that is printed.
    page.write(str(path), sys.stderr if quiet or form != TABLE else sys.stdout)
    if run.interrupted is not None:
        # Not by a signal or a death, which are errors: its time was not enough.
        raise HalftripError(run.interrupted)
    if not run.measurements or run.failures or run.failed_launches:
        return 1
    slower = _against(run, form == TABLE and not quiet)
    return slower or int(fails(document(run, flags=False, expectations=expected)))


def _against(run: Run, shown: bool) -> int:
    """The status of a run that was measured against an earlier one: 1 if anything is slower than
    the base, which was measured in turn with it (`run.sides`), or is in the file that it names;
    prints the comparison if it is to be `shown`. 0 for any other run."""
    if run.sides is None and run.base_file is None:
        return 0
    from halftrip.analysis.comparison import Side, sides_of
    from halftrip.cli.comparing import Compared, compare_sides

    sides = sides_of(run)
    if sides is None and run.base_file is not None:
        sides = [Side.of(load(run.base_file), run.base_file), Side.of(run, "new")]
    return 0 if sides is None else compare_sides(sides, Compared(), shown)


def _print_quote(who: str, lines: list[str]) -> None:
    """Prints the output of an mpiexec and its ranks: warnings, as a rule."""
    print(f"{who} or its ranks printed:", *lines[:_QUOTED_LINES], sep="\n", file=sys.stderr)
    if len(lines) > _QUOTED_LINES:
        print(f"... and {len(lines) - _QUOTED_LINES} lines more", file=sys.stderr)


def _print_run(run: Run, path: Path, form: Form, plain: bool, expected: Expectations) -> None:
    kept = f"; run file: {path}"
    if form == TABLE:
        print_first(run, str(path), expected, plain, kept)
        print(f"run file: {path}")
    else:
        print_form(run, form, expected, kept)
        # A program reads what is printed.
        print(f"run file: {path}", file=sys.stderr)
