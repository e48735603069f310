"""``halftrip run``: measure, and print the table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from halftrip.api import measure
from halftrip.cli.show import print_table
from halftrip.cli.speaker import in_job, speaks
from halftrip.errors import Interrupted
from halftrip.plan.layers import file_layer, make_plan, options_layer
from halftrip.report.progress import ProgressLine
from halftrip.results.run_file import default_name, load

_QUOTED_LINES = 20


def run_plan(plan_file: str | None, options: Mapping[str, str | bool | None]) -> int:
    """Measures, prints the table, and returns the exit status: 1 if nothing was measured, or a case
    failed."""
    layers = [file_layer(plan_file)] if plan_file is not None else []
    plan = make_plan(*layers, options_layer(options))
    path = Path(plan.output or default_name())
    # In a job, output goes through the launcher, and some launchers pretend to be a terminal.
    plain = in_job()
    try:
        with ProgressLine(Console(stderr=True), hidden=plan.quiet or plain) as view:
            path = measure(plan, path, view, sys.argv)
    except Interrupted:
        if not plan.quiet and speaks() and path.exists():
            _print_run(path, plain)
        raise
    if not speaks():
        return 0
    if plan.quiet:
        print(path)
    else:
        _print_run(path, plain)
        for who, lines in view.quotes:
            _print_quote(who, lines)
    run = load(path)
    return 0 if run.measurements and not run.failures else 1


def _print_quote(who: str, lines: list[str]) -> None:
    """Prints the output of an mpiexec and its ranks: warnings, as a rule."""
    print(f"{who} or its ranks printed:", *lines[:_QUOTED_LINES], sep="\n", file=sys.stderr)
    if len(lines) > _QUOTED_LINES:
        print(f"... and {len(lines) - _QUOTED_LINES} lines more", file=sys.stderr)


def _print_run(path: Path, plain: bool) -> None:
    print_table(load(path), plain, kept=f"; run file: {path}")
    print(f"run file: {path}")
