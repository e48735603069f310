"""``halftrip show``: runs, again."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import (
    DOCUMENTS,
    TABLE,
    VIEW_FORMATS,
    AsJson,
    Form,
    Format,
    Style,
    Wide,
    put,
    put_view,
    with_parameters,
)
from halftrip.entries import ViewEntry
from halftrip.errors import UsageError
from halftrip.plan import parsing
from halftrip.plan.expectations import expectations
from halftrip.registry import VIEWS
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.analysis.expectation import Expectations
    from halftrip.render.blocks import View
    from halftrip.report.document import Document
    from halftrip.report.selection import Selection
    from halftrip.results.run import Run

# Formats for programs, which have all that there is, in one form.
_FOR_PROGRAMS = ("csv", "json", "nodes")
# The view that --wide and --rtt mean without another.
_ALL_ROWS = "details"


def show(
    files: inputs.RunFiles = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    *,
    wide: Wide = False,
    rtt: Annotated[
        bool, syntax.Option("--rtt", help="Round trips of pingpong, not their half.")
    ] = False,
    expect: Annotated[
        Text, syntax.Option("--expect", metavar="LIST", help="Exit with 1 if one falls short.")
    ] = None,
    baseline: Annotated[
        Text, syntax.Option("--baseline", metavar="RUN", help="Exit with 1 if worse than that run.")
    ] = None,
    tolerance: Annotated[
        Text, syntax.Option("--tolerance", metavar="SHARE", help="How much worse it may be. [10%]")
    ] = None,
    fail_if_slow: Annotated[
        bool, syntax.Option("--fail-if-slow", help="Exit with 1 if a host or link is slow.")
    ] = False,
    format_: Format = "table",
    json: AsJson = False,
    style: Style = None,
    **of_views: bool,
) -> int:
    """Print runs again: the answer, and how far to trust it."""
    shown = ShowRequest(
        format="json" if json else format_,
        views=[name for name in _VIEWS if of_views[_parameter(name)]],
        options=[
            option.name
            for entry in _VIEWS.values()
            for option in entry.options
            if of_views[_parameter(option.name)]
        ],
        rtt=rtt,
        wide=wide,
        selection=inputs.selection_of(transport, pattern, sizes, pair),
        expect=expect,
        baseline=baseline,
        tolerance=tolerance,
        fail_if_slow=fail_if_slow or None,
        style=style,
    )
    return show_runs(files or [], shown)


def _known_views() -> dict[str, ViewEntry]:
    """The views by name; the help says why that of a plug-in cannot be loaded."""
    return {
        name: ViewEntry("", str(entry)) if isinstance(entry, UsageError) else entry
        for name, entry in VIEWS.entries()
    }


_VIEWS = _known_views()
# Behind the options of these views, the help has one that goes with several.
_BEHIND = {"details": "wide", "why": "rtt"}


def _parameter(name: str) -> str:
    """The name of the parameter for an option that is called so."""
    return f"of_{name.replace('-', '_')}"


def _flag(name: str, says: str) -> inspect.Parameter:
    """The parameter of a view, or of an option of one."""
    return inspect.Parameter(
        _parameter(name),
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, syntax.Option(f"--{name}", help=says)],
    )


def _parameters() -> Iterator[inspect.Parameter]:
    """Those of `show`, with the options of all views before its own."""
    own = dict(inspect.signature(show, eval_str=True).parameters)
    del own["of_views"]
    taken = {"help", *(name.rstrip("_") for name in own)}
    selecting = inspect.Parameter.POSITIONAL_OR_KEYWORD
    yield from [own.pop(each.name) for each in [*own.values()] if each.kind is selecting]
    for name, entry in _VIEWS.items():
        for option, says in ((name, entry.help), *((o.name, o.help) for o in entry.options)):
            if option in taken or not _parameter(option).isidentifier():
                said = "halftrip show has such an option, or cannot have it"
                raise UsageError(f"{VIEWS.group} {name!r}: --{option}: {said}")
            taken.add(option)
            yield _flag(option, says)
        if name in _BEHIND:
            yield own.pop(_BEHIND[name])
    yield from own.values()


app.command("show")(with_parameters(show, _parameters()))


class ShowRequest(NamedTuple):
    """What of a run to show, and how: `views` besides the first screen, and `options` that go with
    one of these, by name; `wide`: all columns, however long lines get. `expect` to `fail_if_slow`,
    as ``run`` has them, win over those that the run was measured with. `selection` are the rows,
    None: all; `style` is the older tool that would have printed it so."""

    format: str = "table"
    views: Sequence[str] = ()
    options: Collection[str] = ()
    rtt: bool = False
    wide: bool = False
    selection: Selection | None = None
    expect: str | None = None
    baseline: str | None = None
    tolerance: str | None = None
    fail_if_slow: bool | None = None
    style: str | None = None

    @property
    def form(self) -> Form:
        return Form(self.format, self.style)

    @property
    def judges(self) -> bool:
        """Whether somebody has said what is expected."""
        asked = (self.expect, self.baseline, self.tolerance, self.fail_if_slow)
        return any(each is not None for each in asked)

    @property
    def is_part(self) -> bool:
        """Whether some rows are chosen."""
        return self.selection is not None and any(self.selection)


def show_runs(files: Sequence[str], shown: ShowRequest) -> int:
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
    content = _content(runs[0], shown, _needs_flags(shown), expected)
    _show_one(content, names[0], shown)
    if not (shown.judges or expected.figures or expected.fail_if_slow):
        return 0
    from halftrip.analysis.expectation import fails

    return int(fails(content))


def _content(
    run: Run, shown: ShowRequest, flags: bool, expected: Expectations | None = None
) -> Document:
    """What is shown of a run, with `flags` if these are, judged by what is `expected`."""
    from halftrip.report.document import document
    from halftrip.report.selection import selected

    whole = document(run, shown.rtt, flags, expected)
    return whole if shown.selection is None else selected(whole, shown.selection)


def _expectations(run: Run, shown: ShowRequest) -> Expectations:
    """What the run is judged by. Raises UsageError, which names the option that is wrong."""
    from halftrip.analysis.baseline import Baseline
    from halftrip.analysis.expectation import Expectations

    plan = dict(run.header.plan)
    asked = {
        "expect": inputs.given("--expect", expectations, shown.expect),
        "tolerance": inputs.given("--tolerance", parsing.share, shown.tolerance),
        "fail_if_slow": shown.fail_if_slow,
    }
    plan |= {name: value for name, value in asked.items() if value is not None}
    if shown.tolerance is not None and shown.baseline is None and plan.get("expect") is None:
        raise UsageError("--tolerance: only with --expect or --baseline")
    if shown.baseline is None:
        return Expectations.of_plan(plan)
    found = inputs.loaded(shown.baseline)
    chosen = shown.selection.has if shown.selection is not None else lambda _: True
    return Expectations.of_plan(plan, Baseline.of(found, printable(shown.baseline), chosen))


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
    from halftrip.views.screen import first_screen

    put_view(
        first_screen(_content(run, ShowRequest(), False, expected), path), plain=plain, kept=kept
    )


def print_form(run: Run, form: Form, expected: Expectations, kept: str = "") -> None:
    """Prints a run in a form other than the first screen."""
    content = _content(run, ShowRequest(), form.has_flags, expected)
    put(form.make(content), plain=True, kept=kept, tabs=form.style is not None)


def _check(files: Sequence[str], shown: ShowRequest) -> None:
    """Raises UsageError for options that exclude each other."""
    timeless = [view for view in shown.views if not VIEWS.entry(view).has_times]
    if shown.rtt and timeless:
        raise UsageError(f"--rtt: --{timeless[0]} shows no latency; leave it out")
    if shown.rtt and (shown.format in _FOR_PROGRAMS or len(files) > 1):
        raise UsageError("--rtt: several runs, csv, json, nodes have one-way times; leave it out")
    for view, entry in _VIEWS.items():
        for option in entry.options:
            if option.name in shown.options and view not in shown.views:
                raise UsageError(f"--{option.name}: only with --{view}")
    if shown.judges and len(files) > 1:
        said = "--expect, --baseline, --tolerance and --fail-if-slow judge one run"
        raise UsageError(f"{said}; name one file")
    if shown.style is not None:
        _check_style(files, shown)
    _check_views(files, shown)


def _check_views(files: Sequence[str], shown: ShowRequest) -> None:
    """Raises UsageError for views that there are not in this format, or of several runs."""
    if shown.wide and shown.format in _FOR_PROGRAMS:
        raise UsageError(f"--wide: --format {shown.format} has all columns; leave it out")
    for view in shown.views:
        if shown.format not in VIEW_FORMATS:
            raise UsageError(f"--{view}: --format {shown.format} has no views; leave it out")
        if len(files) > 1:
            raise UsageError(f"--{view} shows one run; name one file")
    if len(shown.views) > 1 and shown.format in _FOR_PROGRAMS:
        raise UsageError(f"--{shown.views[1]}: --format {shown.format} has one view at a time")


def _check_style(files: Sequence[str], shown: ShowRequest) -> None:
    """Raises UsageError for options that a style does not have."""
    other = [*shown.views, *["wide"] * shown.wide, *["rtt"] * shown.rtt]
    if other:
        raise UsageError(f"--{other[0]}: --style {shown.style} prints what that tool prints")
    if len(files) > 1:
        raise UsageError(f"--style {shown.style} prints one run; name one file")


# A single run.


def _views_of(shown: ShowRequest) -> Sequence[str]:
    """The views besides the first screen, or the format, of a run."""
    is_table = shown.form == TABLE
    return shown.views or ([_ALL_ROWS] if is_table and (shown.wide or shown.rtt) else [])


def _needs_flags(shown: ShowRequest) -> bool:
    """Whether what is shown of a run has flags."""
    needs = {VIEWS.entry(name).needs_flags for name in _views_of(shown)}
    if needs:
        return "always" in needs or (shown.format in _FOR_PROGRAMS and "for programs" in needs)
    return shown.form != TABLE and shown.form.has_flags


def _show_one(content: Document, path: str, shown: ShowRequest) -> None:
    views = _views_of(shown)
    if not views:
        _show_whole(content, path, shown)
        return
    found = [_view(name, content, shown) for name in views]
    if shown.judges and shown.format not in _FOR_PROGRAMS:
        from halftrip.render.blocks import Items, View
        from halftrip.views.expected import lines
        from halftrip.views.pairs import slow

        said = slow(content) if content.expectations.fail_if_slow else []
        found.append(View([Items([*lines(content), *said])]))
    if shown.form == TABLE or len(found) == 1:
        for each in found:
            put_view(each, shown.format, shown.wide)
        return
    whole = found[0]._replace(
        blocks=[block for each in found for block in each.blocks],
        title=", ".join(each.title for each in found if each.title),
    )
    put_view(whole, shown.format, shown.wide)


def _show_whole(content: Document, path: str, shown: ShowRequest) -> None:
    """Prints a run, or what is selected of it, without any other view."""
    if shown.form != TABLE:
        if shown.format in DOCUMENTS:
            from halftrip.views.details import in_short

            put_view(in_short(content, not shown.wide), shown.format)
        else:
            put(shown.form.make(content), tabs=shown.style is not None)
    else:
        from halftrip.views.screen import first_screen

        put_view(first_screen(content, None if shown.is_part else path))


def _view(name: str, content: Document, shown: ShowRequest) -> View:
    options = {o.argument: True for o in VIEWS.entry(name).options if o.name in shown.options}
    made: View = VIEWS.load(name)(content, **options)
    return made


# Several.


def _show_several(runs: Sequence[Run], paths: Sequence[str], shown: ShowRequest) -> None:
    from halftrip.views.side_by_side import side_by_side

    if shown.format not in VIEW_FORMATS:
        raise UsageError(f"--format: {shown.format} is of one run; name one file")
    flags = shown.format in _FOR_PROGRAMS
    contents = [_content(run, shown, flags) for run in runs]
    put_view(side_by_side(contents, paths), shown.format, shown.wide)
