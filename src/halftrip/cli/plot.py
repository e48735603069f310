"""``halftrip plot``: pictures of runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from halftrip.cli import app, inputs
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


@app.command("plot")
def plot(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN...]", help="Run files; several are overlaid. [the newest]"),
    ] = None,
    output: Annotated[
        Text,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Name.svg, .png, .pdf or .html. [terminal]"
        ),
    ] = None,
    kind: Annotated[
        Text,
        typer.Option(
            "-k",
            "--kind",
            metavar="NAME",
            help=f"{listed(PLOTS)}. [what the runs have most of]",
            autocompletion=lambda: [*PLOTS],
        ),
    ] = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    theme: Annotated[
        Text, typer.Option("--theme", metavar="NAME", help="Of a picture: light or dark. [light]")
    ] = None,
    tty: Annotated[bool, typer.Option("--tty", help="Draw in the terminal.")] = False,
    spec: Annotated[
        bool, typer.Option("--spec", help="Write the Vega-Lite JSON of it, to change it.")
    ] = False,
) -> int:
    """Draw runs: in the terminal, or into a file."""
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    _check(output, theme, tty, spec)
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
    charts = draw(subjects, kind)
    if spec:
        text = files.spec_text(charts, colours)
        if output is None:
            with writing():
                print(text, end="")
            return 0
        files.write(output, text.encode())
    elif output is None or format_ is None:
        from halftrip.plots.terminal import render

        put(render(charts, screen().width))
        return 0
    elif format_ == files.PAGE:
        from halftrip.page.html import of_charts

        title = ", ".join(subject.name for subject in subjects)
        files.write(output, of_charts(title, charts).encode())
    else:
        files.write(output, files.picture(charts, format_, colours))
    print(f"{printable(output)}: {len(charts)} chart{'' if len(charts) == 1 else 's'}")
    return 0


def _check(output: str | None, theme: str | None, tty: bool, spec: bool) -> None:
    """Raises UsageError for options that exclude each other."""
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
