"""``halftrip show``: a run's table, again."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console, RenderableType

from halftrip.cli.output import writing
from halftrip.errors import UsageError
from halftrip.registry import STYLES
from halftrip.report.document import Style, document
from halftrip.report.flags import render_flags
from halftrip.report.system_log import render_system_log
from halftrip.report.tails import render_tails
from halftrip.report.usage import render_usage
from halftrip.results.run import Run
from halftrip.results.run_file import load

# A table is never cut off: lines may be this long even where the terminal is narrower, or where
# there is none.
_LEAST_WIDTH = 400

_VIEWS: dict[str, Style] = {
    "flags": render_flags,
    "tails": render_tails,
    "usage": render_usage,
    "system-log": render_system_log,
}
# Why another style than the table has no such view.
_ELSEWHERE = {
    "flags": "has them in every row",
    "tails": "has them in every row",
    "usage": "has it in every row",
    "system-log": "has only rows, but the run file is JSON itself",
}


def show_run(path: str, style: str, rtt: bool = False, views: Sequence[str] = ()) -> None:
    """Prints the run in the file at `path`, or the named views of it. Raises UsageError for a file
    that is not a run file, an unknown style, or options that exclude each other."""
    if style not in STYLES:
        raise UsageError(f"--style: {style!r} is not known; allowed: {', '.join(STYLES)}")
    run = load(path)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    if rtt and views:
        raise UsageError(f"--rtt: --{views[0]} shows no latency; leave it out")
    for view in views:
        if style != "table":
            raise UsageError(f"--{view}: --style {style} {_ELSEWHERE[view]}; leave it out")
    content = document(run, rtt)
    for render in [_VIEWS[view] for view in views] or [STYLES.load(style)]:
        _print(render(content))


def print_table(run: Run, plain: bool = False, kept: str = "") -> None:
    """Prints the table; `plain`: without colours, even if the output looks like a terminal. Where
    it cannot be written, `kept` ends the message."""
    style: Style = STYLES.load("table")
    _print(style(document(run)), plain, kept)


def _print(rendered: str | RenderableType, plain: bool = False, kept: str = "") -> None:
    with writing(kept):
        if isinstance(rendered, str):
            print(rendered, end="")
            return
        console = Console(highlight=False, force_terminal=False if plain else None)
        console.width = max(console.width, _LEAST_WIDTH)
        console.print(rendered)
