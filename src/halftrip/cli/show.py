"""``halftrip show``: a run, again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from rich.console import Console, RenderableType

from halftrip.cli.output import writing
from halftrip.errors import UsageError
from halftrip.registry import STYLES
from halftrip.report.causes import render_why
from halftrip.report.document import Style, document
from halftrip.report.flags import render_flags
from halftrip.report.overview import has_overview
from halftrip.report.overview import render as render_overview
from halftrip.report.system_log import render_system_log
from halftrip.report.table import render as render_table
from halftrip.report.tails import render_tails
from halftrip.report.usage import render_usage
from halftrip.results.run import Run
from halftrip.results.run_file import load, newest

# A table is never cut off: lines may be this long even where the terminal is narrower, or where
# there is none.
_LEAST_WIDTH = 400
# The width of the first screen where there is no terminal.
_WIDTH_WITHOUT_TERMINAL = 100

_VIEWS: dict[str, Style] = {
    "details": render_table,
    "flags": render_flags,
    "tails": render_tails,
    "usage": render_usage,
    "system-log": render_system_log,
}
# Why another style than the table has no such view.
_ELSEWHERE = {
    "details": "has all figures",
    "why": "has the cause in every row",
    "flags": "has them in every row",
    "tails": "has them in every row",
    "usage": "has it in every row",
    "system-log": "has only rows, but the run file is JSON itself",
}


def show_run(path: str | None, style: str, rtt: bool = False, views: Sequence[str] = ()) -> None:
    """Prints the run in the file at `path` (None: the newest in this directory), or the named views
    of it. Raises UsageError for a file that is not a run file, an unknown style, or options that
    exclude each other."""
    if style not in STYLES:
        raise UsageError(f"--style: {style!r} is not known; allowed: {', '.join(STYLES)}")
    path = str(newest()) if path is None else path
    run = load(path)
    for problem in run.problems:
        print(f"halftrip: {problem}", file=sys.stderr)
    if rtt and views:
        raise UsageError(f"--rtt: --{views[0]} shows no latency; leave it out")
    for view in views:
        if style != "table":
            raise UsageError(f"--{view}: --style {style} {_ELSEWHERE[view]}; leave it out")
    if style == "table" and not views and not rtt:
        print_first(run, path)
        return
    # To judge flags takes longer than the rest.
    content = document(run, rtt, flags=style != "table" or not {"flags", "usage"}.isdisjoint(views))
    for view in views:
        if view == "why":
            _print(lambda width: render_why(content, width))
        else:
            _print(_VIEWS[view](content))
    if not views:
        _print(STYLES.load(style)(content))


def print_first(run: Run, path: str, plain: bool = False, kept: str = "") -> None:
    """Prints the first screen of the run in the file `path`: an overview, or its table where that
    has few rows. `plain`:
    without colours, even if the output looks like a terminal. Where it cannot be written, `kept`
    ends the message."""
    if has_overview(run):
        found = document(run, flags=False)
        _print(lambda width: render_overview(found, width, path), plain, kept)
    else:
        _print(render_table(document(run, flags=False)), plain, kept)


# What to print, or how to make it for a width in columns.
_Content = str | RenderableType | Callable[[int], RenderableType]


def _print(content: _Content, plain: bool = False, kept: str = "") -> None:
    with writing(kept):
        if isinstance(content, str):
            print(content, end="")
            return
        console = Console(highlight=False, force_terminal=False if plain else None)
        if callable(content):
            if not console.is_terminal and "COLUMNS" not in os.environ:
                console.width = _WIDTH_WITHOUT_TERMINAL
            console.print(content(console.width), soft_wrap=True)
        else:
            console.width = max(console.width, _LEAST_WIDTH)
            with console.capture() as captured:
                console.print(content)
            # rich fills lines up to the width of the table.
            print("\n".join(line.rstrip() for line in captured.get().splitlines()))
