"""``halftrip show``: runs, again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, get_args

from rich.console import Group, RenderableType

from halftrip.analysis.baseline import Baseline
from halftrip.analysis.expectation import Expectations, fails
from halftrip.cli.loading import loaded
from halftrip.cli.output import Printable, screen, writing
from halftrip.errors import UsageError
from halftrip.plan import parsing
from halftrip.plan.expectations import expectations
from halftrip.registry import FORMATS, STYLES, TRANSPORTS
from halftrip.report import expectation_lines
from halftrip.report.document import Document, document
from halftrip.report.selection import Selection, selected
from halftrip.report.wrapping import text_lines
from halftrip.results.patterns import Pattern
from halftrip.results.run import Run
from halftrip.results.run_file import newest
from halftrip.texts import printable, printable_lines

# Formats of which there is a part with the columns that people look for, and the whole.
_DOCUMENTS = ("markdown", "latex")
# Formats that have no flags, which take longer to judge than the rest.
_WITHOUT_FLAGS = (*_DOCUMENTS, "nodes")
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


class Form(NamedTuple):
    """How a run is printed: in a format, or, with `style`, as that older tool prints it."""

    format: str = "table"
    style: str | None = None

    def check(self) -> None:
        """Raises UsageError for a format or a style that is not known, and for both."""
        if self.format not in FORMATS:
            raise UsageError(
                f"--format: {self.format!r} is not known; allowed: {', '.join(FORMATS)}"
            )
        if self.style is not None and self.style not in STYLES:
            raise UsageError(f"--style: {self.style!r} is not known; allowed: {', '.join(STYLES)}")
        if self.style is not None and self.format != "table":
            raise UsageError(f"--style: --format {self.format} is another form; leave one out")

    @property
    def has_flags(self) -> bool:
        """Whether it shows flags, which take longer to judge than the rest."""
        return self.style is None and self.format not in _WITHOUT_FLAGS

    @property
    def make(self) -> Callable[[Document], str | RenderableType]:
        """What makes it of a document."""
        if self.style is not None:
            return STYLES.load(self.style)  # type: ignore[no-any-return]
        return FORMATS.load(self.format)  # type: ignore[no-any-return]


TABLE = Form()


class Shown(NamedTuple):
    """What of a run to show, and how: `views` besides the first screen, by name; `wide`: all
    columns, however long lines get; `every`: all rows in ``why``; `sort`: the slowest host first in
    ``matrix``. `expect`, `baseline` and `tolerance`, as ``run`` has them, win over those that the
    run was measured with. `style` is the older tool that would have printed it so."""

    format: str = "table"
    views: Sequence[str] = ()
    rtt: bool = False
    wide: bool = False
    every: bool = False
    sort: bool = False
    selection: Selection = Selection()
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


def show_runs(files: Sequence[str], shown: Shown) -> int:
    """Prints the runs in these files (none: the newest in this directory), and returns the exit
    status: 1 if a run was judged, and fails. Raises UsageError for a file that is not a run file,
    an unknown format, or options that exclude each other."""
    shown.form.check()
    _check(files, shown)
    paths = list(files) or [str(newest())]
    runs = [loaded(path) for path in paths]
    names = [printable(path) for path in paths]
    if len(runs) > 1:
        _show_several(runs, names, shown)
        return 0
    expected = _expectations(runs[0], shown)
    _show_one(runs[0], names[0], shown, expected)
    if not (shown.judges or expected.figures):
        return 0
    return int(fails(selected(document(runs[0], False, False, expected), shown.selection)))


def _expectations(run: Run, shown: Shown) -> Expectations:
    """What the run is judged by. Raises UsageError, which names the option that is wrong."""
    plan = dict(run.header.plan)
    for name, read in (("expect", expectations), ("tolerance", parsing.share)):
        value = getattr(shown, name)
        try:
            plan |= {} if value is None else {name: read(value)}
        except UsageError as error:
            raise UsageError(f"--{name}: {error}") from None
    if shown.tolerance is not None and shown.baseline is None and plan.get("expect") is None:
        raise UsageError("--tolerance: only with --expect or --baseline")
    if shown.baseline is None:
        return Expectations.of_plan(plan)
    found = loaded(shown.baseline)
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

    found = document(run, flags=False, expectations=expected)
    _print(lambda width: render(found, width, path), plain, kept)


def _print_part(content: Document) -> None:
    """Prints the first screen of a part of a run."""
    from halftrip.report.screen import render

    _print(lambda width: render(content, width))


def print_form(run: Run, form: Form, expected: Expectations, kept: str = "") -> None:
    """Prints a run in a form other than the first screen."""
    content = document(run, flags=form.has_flags, expectations=expected)
    _print(form.make(content), plain=True, kept=kept, tabs=form.style is not None)


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
        _print(written(links(selected(document(run, flags=False), shown.selection))))
        return
    if shown.form != TABLE:
        content = selected(
            document(run, shown.rtt, shown.form.has_flags, expected), shown.selection
        )
        if shown.format in _DOCUMENTS:
            _print(FORMATS.load(shown.format)(content, not shown.wide))
        else:
            _print(shown.form.make(content), tabs=shown.style is not None)
        return
    views = shown.views or (["details"] if shown.wide or shown.rtt else [])
    if not views and shown.selection == Selection():
        print_first(run, path, expected)
        return
    # To judge flags takes longer than the rest.
    flags = not {"flags", "cost"}.isdisjoint(views)
    content = selected(document(run, shown.rtt, flags, expected), shown.selection)
    if not views:
        _print_part(content)
    for view in views:
        _print(_view(view, content, shown))
    if views and shown.judges:
        judged = expectation_lines.lines(content)
        _print(lambda width: Group(*(part for line in judged for part in text_lines(line, width))))


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


def _print(content: _Content, plain: bool = False, kept: str = "", tabs: bool = False) -> None:
    """Prints what a run file holds, which anybody may have written: a terminal obeys none of it.
    Columns of a text may be between `tabs`."""
    with writing(kept):
        if isinstance(content, str):
            print(printable_lines(content, tabs), end="")
            return
        console = screen(plain)
        made = content(console.width) if callable(content) else content
        console.print(Printable(made), soft_wrap=True)
