"""``halftrip show``: a run's table, again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console, RenderableType

from halftrip.errors import UsageError
from halftrip.report.flags import render_flags
from halftrip.report.machine import as_csv, as_json
from halftrip.report.system_log import render_system_log
from halftrip.report.table import render
from halftrip.report.usage import render_usage
from halftrip.results.run import Run
from halftrip.results.run_file import load

# A table is never cut off: where the terminal is narrower, or there is none, lines may be this
# long.
_LEAST_WIDTH = 400


_VIEWS: dict[str, Callable[[Run], RenderableType]] = {
    "flags": render_flags,
    "usage": render_usage,
    "system-log": render_system_log,
}
# Where else what they show can be had, if anywhere.
_ELSEWHERE = {
    "flags": "has them in every row",
    "usage": "has it in every row",
    "system-log": "has only rows, but the run file is JSON itself",
}


def show_run(path: str, style: str, rtt: bool = False, views: Sequence[str] = ()) -> None:
    """Prints the run in the file at `path`, or those views that are named. Raises UsageError for
    a file or style that is none."""
    styles: dict[str, Callable[[Run], None]] = {
        "table": partial(print_table, rtt=rtt),
        "json": _print_json,
        "csv": _print_csv,
    }
    if style not in styles:
        raise UsageError(f"--style: {style!r} is not known; allowed: {', '.join(styles)}")
    run = load(path)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    if rtt and views:
        raise UsageError(f"--rtt: --{views[0]} shows no latency; leave it out")
    for view in views:
        if style != "table":
            raise UsageError(f"--{view}: --style {style} {_ELSEWHERE[view]}; leave it out")
        _console().print(_VIEWS[view](run))
    if not views:
        styles[style](run)


def print_table(run: Run, plain: bool = False, rtt: bool = False) -> None:
    """Prints the table; `plain` without colours, even if that looks like a terminal. `rtt`: with
    round trips of ping-pong; so too where the plan says so."""
    _console(plain).print(render(run, rtt or bool(run.head.plan.get("rtt"))))


def _console(plain: bool = False) -> Console:
    console = Console(highlight=False, force_terminal=False if plain else None)
    console.width = max(console.width, _LEAST_WIDTH)
    return console


def _print_json(run: Run) -> None:
    print(as_json(run))


def _print_csv(run: Run) -> None:
    print(as_csv(run), end="")
