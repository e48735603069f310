"""``halftrip show``: runs, again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

from rich.console import RenderableType

from halftrip.cli.output import Printable, screen, writing
from halftrip.errors import UsageError
from halftrip.plan import parsing
from halftrip.registry import FORMATS, TRANSPORTS
from halftrip.report.document import Document, document
from halftrip.report.selection import Selection, selected
from halftrip.results.patterns import Pattern
from halftrip.results.run import Run
from halftrip.results.run_file import load, newest
from halftrip.texts import printable, printable_lines

# Formats of which there is a part with the columns that people look for, and the whole.
_DOCUMENTS = ("markdown", "latex")
# Formats in which a matrix is a record for each pair of hosts.
_OF_LINKS = ("csv", "json")
# Where a format for programs has what a view shows.
_ELSEWHERE = {
    "details": "has all figures",
    "why": "has the cause in every row",
    "flags": "has them in every row",
    "tails": "has them in every row",
    "cost": "has it in every row",
    "layers": "has the rows of both layers, and no differences",
    "system-log": "has only rows, but the run file is JSON itself",
}


class Shown(NamedTuple):
    """What of a run to show, and how: `views` besides the first screen, by name; `wide`: all
    columns, however long lines get; `every`: all rows in ``why``; `sort`: the slowest host first in
    ``matrix``."""

    format: str = "table"
    views: Sequence[str] = ()
    rtt: bool = False
    wide: bool = False
    every: bool = False
    sort: bool = False
    selection: Selection = Selection()


def selection_of(options: Mapping[str, str | None]) -> Selection:
    """The selection by the options ``transport``, ``pattern``, ``sizes`` and ``pair``. Raises
    UsageError, which names the option that is wrong."""
    readers: dict[str, Callable[[str], object]] = {
        "transport": parsing.some_of(TRANSPORTS),
        "pattern": parsing.some_of(get_args(Pattern)),
        "sizes": parsing.size_ranges,
        "pair": parsing.pairs_of(()),
    }
    read: dict[str, object] = {}
    for name, reader in readers.items():
        value = options.get(name)
        try:
            read[f"{name.removesuffix('s')}s"] = None if value is None else reader(value)
        except UsageError as error:
            raise UsageError(f"--{name}: {error}") from None
    return Selection(**read)  # type: ignore[arg-type]


def show_runs(files: Sequence[str], shown: Shown) -> None:
    """Prints the runs in these files (none: the newest in this directory). Raises UsageError for a
    file that is not a run file, an unknown format, or options that exclude each other."""
    if shown.format not in FORMATS:
        raise UsageError(f"--format: {shown.format!r} is not known; allowed: {', '.join(FORMATS)}")
    _check(files, shown)
    paths = list(files) or [str(newest())]
    runs = []
    for path in paths:
        run = load(path)
        for problem in run.problems:
            print(f"halftrip: {problem}", file=sys.stderr)
        runs.append(run)
    names = [printable(path) for path in paths]
    if len(runs) == 1:
        _show_one(runs[0], names[0], shown)
    else:
        _show_several(runs, names, shown)


def print_first(run: Run, path: str, plain: bool = False, kept: str = "") -> None:
    """Prints the first screen of the run in the file `path`. `plain`: without colours, even if the
    output looks like a terminal. Where it cannot be written, `kept` ends the message."""
    from halftrip.report.screen import render

    found = document(run, flags=False)
    _print(lambda width: render(found, width, path), plain, kept)


def _print_part(content: Document) -> None:
    """Prints the first screen of a part of a run."""
    from halftrip.report.screen import render

    _print(lambda width: render(content, width))


def print_format(run: Run, name: str, kept: str = "") -> None:
    """Prints a run in a format other than the first screen."""
    _print(FORMATS.load(name)(document(run, flags=name not in _DOCUMENTS)), plain=True, kept=kept)


def _check(files: Sequence[str], shown: Shown) -> None:
    """Raises UsageError for options that exclude each other."""
    timeless = [view for view in shown.views if view not in ("details", "tails", "layers")]
    if shown.rtt and timeless:
        raise UsageError(f"--rtt: --{timeless[0]} shows no latency; leave it out")
    if shown.rtt and (shown.format in ("csv", "json") or len(files) > 1):
        raise UsageError("--rtt: several runs, csv and json have one-way times; leave it out")
    if shown.every and "why" not in shown.views:
        raise UsageError("--all: only with --why")
    if shown.sort and "matrix" not in shown.views:
        raise UsageError("--sort: only with --matrix")
    for view in shown.views:
        if shown.format != "table" and not (view == "matrix" and shown.format in _OF_LINKS):
            lacks = "has no views" if shown.format in _DOCUMENTS else _ELSEWHERE[view]
            raise UsageError(f"--{view}: --format {shown.format} {lacks}; leave it out")
        if len(files) > 1:
            raise UsageError(f"--{view} shows one run; name one file")
    if shown.wide and shown.format in ("csv", "json"):
        raise UsageError(f"--wide: --format {shown.format} has all columns; leave it out")


# A single run.


def _show_one(run: Run, path: str, shown: Shown) -> None:
    if shown.format in _OF_LINKS and "matrix" in shown.views:
        from halftrip.report import csv, json
        from halftrip.report.matrix import links

        written = {"csv": csv.text, "json": json.text}[shown.format]
        _print(written(links(selected(document(run, flags=False), shown.selection))))
        return
    if shown.format != "table":
        content = selected(
            document(run, shown.rtt, flags=shown.format not in _DOCUMENTS), shown.selection
        )
        if shown.format in _DOCUMENTS:
            _print(FORMATS.load(shown.format)(content, not shown.wide))
        else:
            _print(FORMATS.load(shown.format)(content))
        return
    views = shown.views or (["details"] if shown.wide or shown.rtt else [])
    if not views and shown.selection == Selection():
        print_first(run, path)
        return
    # To judge flags takes longer than the rest.
    flags = not {"flags", "cost"}.isdisjoint(views)
    content = selected(document(run, shown.rtt, flags), shown.selection)
    if not views:
        _print_part(content)
    for view in views:
        _print(_view(view, content, shown))


def _view(name: str, content: Document, shown: Shown) -> _Content:
    """A view, which is made for a width in columns."""
    from halftrip.report import causes, cost, flags, layers, matrix, system_log, table, tails

    def of(make: Callable[[Document, int | None], RenderableType]) -> _Content:
        return lambda width: make(content, None if shown.wide else width)

    views: dict[str, _Content] = {
        "details": of(table.render),
        "why": lambda width: causes.render_why(content, width, shown.every),
        "flags": of(flags.render_flags),
        "tails": of(tails.render_tails),
        "cost": of(cost.render_cost),
        "layers": of(layers.render_layers),
        "matrix": lambda width: matrix.render_matrix(
            content, None if shown.wide else width, shown.sort
        ),
        "system-log": of(system_log.render_system_log),
    }
    return views[name]


# Several.


def _show_several(runs: Sequence[Run], paths: Sequence[str], shown: Shown) -> None:
    from halftrip.report import csv, json, latex, markdown, side_by_side

    flags = shown.format in ("csv", "json")
    contents = [selected(document(run, shown.rtt, flags), shown.selection) for run in runs]
    if shown.format == "table":
        _print(
            lambda width: side_by_side.render(contents, paths, None if shown.wide else width),
        )
        return
    formats = {
        "csv": csv.render_several,
        "json": json.render_several,
        "markdown": markdown.render_several,
        "latex": latex.render_several,
    }
    if shown.format not in formats:
        raise UsageError(f"--format: {shown.format} is of one run; name one file")
    _print(formats[shown.format](contents, paths))


# What to print, or how to make it for a width in columns.
_Content = str | RenderableType | Callable[[int], RenderableType]


def _print(content: _Content, plain: bool = False, kept: str = "") -> None:
    """Prints what a run file holds, which anybody may have written: a terminal obeys none of it."""
    with writing(kept):
        if isinstance(content, str):
            print(printable_lines(content), end="")
            return
        console = screen(plain)
        made = content(console.width) if callable(content) else content
        console.print(Printable(made), soft_wrap=True)
