"""``halftrip plot``: pictures of runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import check_one_of, listed, put, screen, writing
from halftrip.errors import NotARunError, UsageError
from halftrip.interpreter import install_command
from halftrip.registry import PLOTS
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.plots.chart import Subject
    from halftrip.report.selection import Selection

_HISTORY = "history"
# What stands below titles: all, without what marks mean, or nothing.
_NOTES = ("all", "short", "no")
_SIZE = re.compile(r"(\d{1,5})x(\d{1,5})", re.ASCII)
_LONGEST_TITLE = 200
# Pixels.
_LEAST, _MOST = 50, 4000


@app.command("plot")
def plot(
    runs: Annotated[
        list[str] | None,
        syntax.Argument(metavar="[RUN...]", help="Run files; several are overlaid. [the newest]"),
    ] = None,
    output: Annotated[
        Text,
        syntax.Option(
            "-o", "--output", metavar="FILE", help="Name.svg, .png, .pdf or .html. [terminal]"
        ),
    ] = None,
    kind: Annotated[
        Text,
        syntax.Option(
            "-k",
            "--kind",
            metavar="NAME",
            help=f"{listed(PLOTS)}. [what the runs have most of]",
            offers=lambda: [*PLOTS],
        ),
    ] = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    title: Annotated[
        Text,
        syntax.Option("--title", metavar="TEXT", help="In place of the title. [what it shows]"),
    ] = None,
    notes: Annotated[
        str,
        syntax.Option(
            "--notes",
            metavar="NAME",
            help="Below titles: all, without what marks mean (short), or no. [all]",
            offers=lambda: [*_NOTES],
        ),
    ] = "all",
    size: Annotated[
        Text,
        syntax.Option(
            "--size",
            metavar="WxH",
            help="Pixels of each chart, without titles and legends. [640 wide]",
        ),
    ] = None,
    theme: Annotated[
        Text, syntax.Option("--theme", metavar="NAME", help="Of a picture: light or dark. [light]")
    ] = None,
    tty: Annotated[bool, syntax.Option("--tty", help="Draw in the terminal.")] = False,
    spec: Annotated[
        bool, syntax.Option("--spec", help="Write the Vega-Lite JSON of it, to change it.")
    ] = False,
) -> int:
    """Draw runs: in the terminal, or into a file."""
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    _check(output, theme, tty, spec, size)
    check_one_of("--notes", notes, _NOTES)
    pixels = inputs.given("--size", _pixels, size)
    try:
        from halftrip.plots import writing as files
        from halftrip.plots.draw import draw
        from halftrip.plots.theme import THEMES
    except ModuleNotFoundError as error:
        raise UsageError(
            f"pictures need Vega-Altair, vl-convert and plotext ({error.name} is missing): "
            f"{install_command('plot')}"
        ) from None
    if theme is not None:
        check_one_of("--theme", theme, THEMES)
    colours = next(each for each in THEMES if theme in (None, each))
    if kind is not None:
        check_one_of("--kind", kind, PLOTS)
    format_ = None if output is None or spec else files.ending(output)
    subjects = _subjects(runs or [], kind == _HISTORY, output, selection)
    charts = files.with_notes(draw(subjects, kind), notes)
    heading = printable(title or "", _LONGEST_TITLE)
    if heading and len(charts) == 1:
        charts = [charts[0]._replace(title=heading)]
        heading = ""
    width, height = pixels or (files.WIDTH, None)
    layout = files.Layout(width, height, heading=heading)
    if spec:
        text = files.spec_text(charts, colours, layout)
        if output is None:
            with writing():
                print(text, end="")
            return 0
        files.write(output, text.encode())
    elif output is None or format_ is None:
        from halftrip.plots.terminal import render

        drawn = render(charts, screen().width)
        put(f"{heading}\n\n{drawn}" if heading else drawn)
        return 0
    elif format_ == files.PAGE:
        from halftrip.page.html import of_charts

        names = ", ".join(subject.name for subject in subjects)
        files.write(output, of_charts(heading or names, charts).encode())
    else:
        files.write(output, files.picture(charts, format_, colours, layout))
    print(f"{printable(output)}: {len(charts)} chart{'' if len(charts) == 1 else 's'}")
    return 0


def _pixels(text: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(text)
    width, height = map(int, found.groups()) if found else (0, 0)
    if not (min(width, height) >= _LEAST and max(width, height) <= _MOST):
        allowed = f"{_LEAST}x{_LEAST} to {_MOST}x{_MOST}"
        raise UsageError(f"{text!r} is not a width and a height in pixels: {allowed}")
    return width, height


def _check(output: str | None, theme: str | None, tty: bool, spec: bool, size: str | None) -> None:
    """Raises UsageError for options that exclude each other."""
    is_page = (output or "").lower().endswith(".html") and not spec
    if size is not None and (is_page or (output is None and not spec)):
        where = "a page is as wide as its window" if is_page else "the terminal has its own"
        raise UsageError(f"--size: {where}; only with --output name.svg, .png or .pdf, or --spec")
    if tty and (output is not None or spec):
        other = "--spec" if spec else "--output"
        raise UsageError(f"--tty draws in the terminal, {other} does not; leave one out")
    if theme is not None and output is None and not spec:
        raise UsageError("--theme: the terminal has its own colours; only with --output")
    if theme is not None and (output or "").lower().endswith(".html"):
        raise UsageError("--theme: a page is light or dark as its reader's system is; leave it out")


def _subjects(
    paths: Sequence[str], is_history: bool, output: str | None, selection: Selection
) -> list[Subject]:
    """The runs, each by a name that no other one has. Raises UsageError where there is none, and
    where nothing is selected."""
    from halftrip.plots.chart import Subject
    from halftrip.report.document import document
    from halftrip.report.selection import selected

    files = _runs_in(paths) if is_history else inputs.paths_of(paths)
    if output is not None:
        inputs.check_output(output, files)
    found = []
    for file, name in zip(files, inputs.run_names(files), strict=True):
        made = document(inputs.loaded(file), flags=False)
        if not made.rows:
            reason = f": {made.interrupted}" if made.interrupted is not None else ""
            raise UsageError(f"{printable(file)}: nothing was measured{reason}")
        found.append(Subject(name, selected(made, selection)))
    return found


def _runs_in(paths: Sequence[str]) -> list[str]:
    """The run files with rows that these paths name or hold; a line for each other file."""
    found = []
    for file in inputs.files_in(paths or ["."]):
        try:
            lacks = "" if inputs.loaded(file).measurements else "has no rows"
        except NotARunError:
            lacks = "is no run file"
        if lacks:
            print(f"halftrip: {printable(file)} {lacks}; left out", file=sys.stderr)
        else:
            found.append(file)
    if not found:
        raise UsageError("no run file there; name run files, or a directory of them")
    return found
