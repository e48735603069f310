"""``halftrip run``: measure, and print the table."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from halftrip.api import measure, resume
from halftrip.cli.show import print_first, print_format
from halftrip.cli.speaker import in_job, speaks
from halftrip.errors import HalftripError, Interrupted, UsageError
from halftrip.plan.config import config_layer
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.plan.parsing import items
from halftrip.plan.recipes import find_plan
from halftrip.registry import FORMATS
from halftrip.report.document import document
from halftrip.report.expectation import shortfalls
from halftrip.report.progress import ProgressLine
from halftrip.results.run_file import default_name, load

_QUOTED_LINES = 20


def run_plan(
    plan_file: str | None,
    options: Mapping[str, str | bool | None],
    format_: str = "table",
    with_config: bool = True,
) -> int:
    """Measures, prints the run in a format, and returns the exit status: 1 if nothing was measured,
    or a configuration failed. The user's own defaults hold `with_config`."""
    layers = [file_layer(find_plan(plan_file))] if plan_file is not None else []
    defaults = config_layer(os.environ, in_job()) if with_config else None
    plan = make_plan(*layers, options_layer(options), defaults=defaults)
    path = Path(plan.output or default_name())
    return _measure(
        path,
        plan.quiet,
        format_,
        lambda view: measure(plan, path, view, sys.argv),
        plan.max_duration,
    )


def resume_run(
    plan_file: str | None,
    path: str | None,
    again: str | None,
    options: Mapping[str, str | bool | None],
    format_: str = "table",
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

    def go_on(view: ProgressLine) -> Path:
        resume(path, flags, view)
        return Path(path)

    return _measure(Path(path), bool(options.get("quiet")), format_, go_on)


def _measure(
    path: Path,
    quiet: bool,
    format_: str,
    work: Callable[[ProgressLine], Path],
    seconds: float | None = None,
) -> int:
    """Calls `work`, which returns the path of the run file, within so many seconds, prints the run
    in a format, and returns the exit status."""
    if format_ not in FORMATS:
        raise UsageError(f"--format: {format_!r} is not known; allowed: {', '.join(FORMATS)}")
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
                _print_run(path, format_, plain)
        raise
    if not speaks():
        return 0
    if quiet:
        print(path)
    else:
        _print_run(path, format_, plain)
        for who, lines in view.quotes:
            _print_quote(who, lines)
    run = load(path)
    if run.interrupted is not None:
        # Not by a signal or a death, which are errors: its time was not enough.
        raise HalftripError(run.interrupted)
    if not run.measurements or run.failures:
        return 1
    return 1 if any(each.is_sure for each in shortfalls(document(run, flags=False))) else 0


def _print_quote(who: str, lines: list[str]) -> None:
    """Prints the output of an mpiexec and its ranks: warnings, as a rule."""
    print(f"{who} or its ranks printed:", *lines[:_QUOTED_LINES], sep="\n", file=sys.stderr)
    if len(lines) > _QUOTED_LINES:
        print(f"... and {len(lines) - _QUOTED_LINES} lines more", file=sys.stderr)


def _print_run(path: Path, format_: str, plain: bool) -> None:
    kept = f"; run file: {path}"
    if format_ == "table":
        print_first(load(path), str(path), plain, kept)
        print(f"run file: {path}")
    else:
        print_format(load(path), format_, kept)
        # A program reads what is printed.
        print(f"run file: {path}", file=sys.stderr)
