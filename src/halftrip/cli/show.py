"""``halftrip show``: runs, again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from halftrip.cli import app, inputs
from halftrip.cli.inputs import Text
from halftrip.cli.output import DOCUMENTS, TABLE, AsJson, Form, Format, Style, Wide, put
from halftrip.errors import UsageError
from halftrip.plan import parsing
from halftrip.plan.expectations import expectations
from halftrip.registry import FORMATS
from halftrip.texts import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from halftrip.analysis.expectation import Expectations
    from halftrip.report.document import Document
    from halftrip.report.selection import Selection
    from halftrip.results.run import Run

# Formats for programs, which have all that there is, in one form.
_FOR_PROGRAMS = ("csv", "json", "nodes")
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


@app.command("show")
def show(
    files: inputs.RunFiles = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    details: Annotated[
        bool, typer.Option("--details", help="Every row, with all figures there is room for.")
    ] = False,
    wide: Wide = False,
    why: Annotated[
        bool, typer.Option("--why", help="Why rows cannot be trusted, and what to do.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="With --why: row by row.")] = False,
    rtt: Annotated[
        bool, typer.Option("--rtt", help="Round trips of pingpong, not their half.")
    ] = False,
    tails: Annotated[
        bool, typer.Option("--tails", help="p50, p90, p99 and p99.9 with their intervals.")
    ] = False,
    cost: Annotated[
        bool, typer.Option("--cost", help="CPU time and more that each row took at both ends.")
    ] = False,
    layers: Annotated[
        bool, typer.Option("--layers", help="What each layer adds to the transport below it.")
    ] = False,
    matrix: Annotated[
        bool, typer.Option("--matrix", help="Each host with each other, and a summary by host.")
    ] = False,
    sort: Annotated[
        bool, typer.Option("--sort", help="With --matrix: the slowest host first.")
    ] = False,
    flags: Annotated[bool, typer.Option("--flags", help="All that looks odd in each row.")] = False,
    system_log: Annotated[
        bool, typer.Option("--system-log", help="What every host's counters have counted.")
    ] = False,
    expect: Annotated[
        Text, typer.Option("--expect", metavar="LIST", help="Exit with 1 if one falls short.")
    ] = None,
    baseline: Annotated[
        Text, typer.Option("--baseline", metavar="RUN", help="Exit with 1 if worse than that run.")
    ] = None,
    tolerance: Annotated[
        Text, typer.Option("--tolerance", metavar="SHARE", help="How much worse it may be. [10%]")
    ] = None,
    format_: Format = "table",
    json: AsJson = False,
    style: Style = None,
) -> int:
    """Print runs again: the answer, and how far to trust it."""
    views = {
        "details": details,
        "why": why,
        "tails": tails,
        "cost": cost,
        "layers": layers,
        "matrix": matrix,
        "flags": flags,
        "system-log": system_log,
    }
    shown = Shown(
        format="json" if json else format_,
        views=[name for name, requested in views.items() if requested],
        rtt=rtt,
        wide=wide,
        every=every,
        sort=sort,
        selection=inputs.selection_of(transport, pattern, sizes, pair),
        expect=expect,
        baseline=baseline,
        tolerance=tolerance,
        style=style,
    )
    return show_runs(files or [], shown)


class Shown(NamedTuple):
    """What of a run to show, and how: `views` besides the first screen, by name; `wide`: all
    columns, however long lines get; `every`: all rows in ``why``; `sort`: the slowest host first in
    ``matrix``. `expect`, `baseline` and `tolerance`, as ``run`` has them, win over those that the
    run was measured with. `selection` are the rows, None: all; `style` is the older tool that would
    have printed it so."""

    format: str = "table"
    views: Sequence[str] = ()
    rtt: bool = False
    wide: bool = False
    every: bool = False
    sort: bool = False
    selection: Selection | None = None
    expect: str | None = None
    baseline: str | None = None
    tolerance: str | None = None
    style: str | None = None

    @property
    def form(self) -> Form:
        return Form(self.format, self.style)

    @property
    def judges(self) -> bool:
        """Whether somebody has said what is expected."""
        return any(each is not None for each in (self.expect, self.baseline, self.tolerance))

    @property
    def is_part(self) -> bool:
        """Whether some rows are chosen."""
        return self.selection is not None and any(self.selection)


def show_runs(files: Sequence[str], shown: Shown) -> int:
    """Prints the runs in these files (none: the newest in this directory), and returns the exit
    status: 1 if a run was judged, and fails. Raises UsageError for a file that is not a run file,
    an unknown format, or options that exclude each other."""
    shown.form.check()
    _check(files, shown)
    paths = inputs.paths_of(files)
    runs = [inputs.loaded(path) for path in paths]
    names = [printable(path) for path in paths]
    if len(runs) > 1:
        _show_several(runs, names, shown)
        return 0
    expected = _expectations(runs[0], shown)
    _show_one(runs[0], names[0], shown, expected)
    if not (shown.judges or expected.figures):
        return 0
    from halftrip.analysis.expectation import fails

    return int(fails(_content(runs[0], shown._replace(rtt=False), False, expected)))


def _content(run: Run, shown: Shown, flags: bool, expected: Expectations | None = None) -> Document:
    """What is shown of a run, with `flags` if these are, judged by what is `expected`."""
    from halftrip.report.document import document
    from halftrip.report.selection import selected

    whole = document(run, shown.rtt, flags, expected)
    return whole if shown.selection is None else selected(whole, shown.selection)


def _expectations(run: Run, shown: Shown) -> Expectations:
    """What the run is judged by. Raises UsageError, which names the option that is wrong."""
    from halftrip.analysis.baseline import Baseline
    from halftrip.analysis.expectation import Expectations

    plan = dict(run.header.plan)
    asked = {
        "expect": inputs.given("--expect", expectations, shown.expect),
        "tolerance": inputs.given("--tolerance", parsing.share, shown.tolerance),
    }
    plan |= {name: value for name, value in asked.items() if value is not None}
    if shown.tolerance is not None and shown.baseline is None and plan.get("expect") is None:
        raise UsageError("--tolerance: only with --expect or --baseline")
    if shown.baseline is None:
        return Expectations.of_plan(plan)
    found = inputs.loaded(shown.baseline)
    return Expectations.of_plan(plan, Baseline.of(found, printable(shown.baseline)))


def print_first(
    run: Run,
    path: str,
    expected: Expectations,
    plain: bool = False,
    kept: str = "",
) -> None:
    """Prints the first screen of the run in the file `path`, judged by what is `expected`. `plain`:
    without colours, even if the output looks like a terminal. Where it cannot be written, `kept`
    ends the message."""
    from halftrip.report.screen import render

    content = _content(run, Shown(), False, expected)
    put(lambda width: render(content, width, path), plain, kept)


def print_form(run: Run, form: Form, expected: Expectations, kept: str = "") -> None:
    """Prints a run in a form other than the first screen."""
    content = _content(run, Shown(), form.has_flags, expected)
    put(form.make(content), plain=True, kept=kept, tabs=form.style is not None)


def _check(files: Sequence[str], shown: Shown) -> None:
    """Raises UsageError for options that exclude each other."""
    timeless = [view for view in shown.views if view not in ("details", "tails", "layers")]
    if shown.rtt and timeless:
        raise UsageError(f"--rtt: --{timeless[0]} shows no latency; leave it out")
    if shown.rtt and (shown.format in _FOR_PROGRAMS or len(files) > 1):
        raise UsageError("--rtt: several runs, csv, json, nodes have one-way times; leave it out")
    if shown.every and "why" not in shown.views:
        raise UsageError("--all: only with --why")
    if shown.judges and len(files) > 1:
        raise UsageError("--expect, --baseline and --tolerance judge one run; name one file")
    if shown.sort and "matrix" not in shown.views:
        raise UsageError("--sort: only with --matrix")
    if shown.style is not None:
        _check_style(files, shown)
    _check_views(files, shown)


def _check_views(files: Sequence[str], shown: Shown) -> None:
    """Raises UsageError for views that there are not in this format."""
    if shown.wide and shown.format in _FOR_PROGRAMS:
        raise UsageError(f"--wide: --format {shown.format} has all columns; leave it out")
    for view in shown.views:
        if shown.format != "table" and not (view == "matrix" and shown.format in _OF_LINKS):
            has_all = shown.format in _OF_LINKS
            lacks = _ELSEWHERE[view] if has_all else "has no views"
            raise UsageError(f"--{view}: --format {shown.format} {lacks}; leave it out")
        if len(files) > 1:
            raise UsageError(f"--{view} shows one run; name one file")


def _check_style(files: Sequence[str], shown: Shown) -> None:
    """Raises UsageError for options that a style does not have."""
    other = [*shown.views, *["wide"] * shown.wide, *["rtt"] * shown.rtt]
    if other:
        raise UsageError(f"--{other[0]}: --style {shown.style} prints what that tool prints")
    if len(files) > 1:
        raise UsageError(f"--style {shown.style} prints one run; name one file")


# A single run.


def _show_one(run: Run, path: str, shown: Shown, expected: Expectations) -> None:
    if shown.format in _OF_LINKS and "matrix" in shown.views:
        from halftrip.report import csv, json
        from halftrip.report.matrix import links

        written = {"csv": csv.text, "json": json.text}[shown.format]
        put(written(links(_content(run, shown, False))))
        return
    if shown.form != TABLE:
        content = _content(run, shown, shown.form.has_flags, expected)
        if shown.format in DOCUMENTS:
            put(FORMATS.load(shown.format)(content, not shown.wide))
        else:
            put(shown.form.make(content), tabs=shown.style is not None)
        return
    views = shown.views or (["details"] if shown.wide or shown.rtt else [])
    if not views and not shown.is_part:
        print_first(run, path, expected)
        return
    # To judge flags takes longer than the rest.
    flags = not {"flags", "cost"}.isdisjoint(views)
    content = _content(run, shown, flags, expected)
    if not views:
        from halftrip.report.screen import render

        put(lambda width: render(content, width))
    for view in views:
        put(partial(_view, view, content, shown))
    if views and shown.judges:
        from rich.console import Group

        from halftrip.report.expectation_lines import lines
        from halftrip.report.wrapping import text_lines

        judged = lines(content)
        put(lambda width: Group(*(part for line in judged for part in text_lines(line, width))))


def _view(name: str, content: Document, shown: Shown, width: int) -> RenderableType:
    """A view in lines of so many columns."""
    from halftrip.report import causes, cost, flags, layers, matrix, system_log, table, tails

    most = None if shown.wide else width
    if name == "why":
        return causes.render_why(content, width, shown.every)
    if name == "matrix":
        return matrix.render_matrix(content, most, shown.sort)
    views: dict[str, Callable[[Document, int | None], RenderableType]] = {
        "details": table.render,
        "flags": flags.render_flags,
        "tails": tails.render_tails,
        "cost": cost.render_cost,
        "layers": layers.render_layers,
        "system-log": system_log.render_system_log,
    }
    return views[name](content, most)


# Several.


def _show_several(runs: Sequence[Run], paths: Sequence[str], shown: Shown) -> None:
    from halftrip.report import csv, json, latex, markdown, side_by_side

    flags = shown.format in ("csv", "json")
    contents = [_content(run, shown, flags) for run in runs]
    if shown.format == "table":
        put(lambda width: side_by_side.render(contents, paths, None if shown.wide else width))
        return
    formats = {
        "csv": csv.render_several,
        "json": json.render_several,
        "markdown": markdown.render_several,
        "latex": latex.render_several,
    }
    if shown.format not in formats:
        raise UsageError(f"--format: {shown.format} is of one run; name one file")
    put(formats[shown.format](contents, paths))
