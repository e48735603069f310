"""``halftrip plot``: pictures of runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from halftrip.cli.history import files_in
from halftrip.cli.loading import check_output, loaded, run_names
from halftrip.cli.output import screen, writing
from halftrip.errors import NotARunError, UsageError
from halftrip.plan.parsing import nearest
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from halftrip.results.run_file import newest
from halftrip.texts import printable, printable_lines

if TYPE_CHECKING:
    from halftrip.plot.chart import Subject
    from halftrip.plot.theme import Theme

_HISTORY = "history"


class Asked(NamedTuple):
    """What to draw, and where: see the options of ``halftrip plot``."""

    output: str | None = None
    kind: str | None = None
    theme: str | None = None
    tty: bool = False
    spec: bool = False
    selection: Selection = Selection()


def plot(paths: Sequence[str], asked: Asked) -> int:
    """Draws the runs in these files (none: the newest in this directory; of a history, also those
    in directories) and returns the exit status. Raises UsageError for what cannot be drawn."""
    _check(asked)
    try:
        from halftrip.plot import kinds
        from halftrip.plot import writing as files
        from halftrip.plot.caveats import with_caveats
        from halftrip.plot.theme import THEMES
    except ModuleNotFoundError as error:
        raise UsageError(
            f"pictures need Vega-Altair, vl-convert and plotext ({error.name} is missing): "
            "pip install 'halftrip[plot]'"
        ) from None
    theme = _theme(asked.theme, THEMES)
    kind = None if asked.kind is None else kinds.kind_named(asked.kind)
    format_ = None if asked.output is None or asked.spec else files.ending(asked.output)
    subjects = _subjects(paths, asked)
    kind = kind or kinds.kind_named(kinds.usual_kind(subjects))
    charts = with_caveats(kind(subjects), subjects)
    if asked.spec:
        spec = files.spec_text(charts, theme)
        if asked.output is None:
            with writing():
                print(spec, end="")
            return 0
        files.write(asked.output, spec.encode())
    elif asked.output is None or format_ is None:
        from halftrip.plot.terminal import render

        with writing():
            print(printable_lines(render(charts, screen().width)), end="")
        return 0
    elif format_ == files.PAGE:
        from halftrip.page.scaffold import of_charts

        title = ", ".join(subject.name for subject in subjects)
        files.write(asked.output, of_charts(title, charts).encode())
    else:
        files.write(asked.output, files.picture(charts, format_, theme))
    print(f"{printable(asked.output)}: {_named(charts)}")
    return 0


def _theme(name: str | None, known: Sequence[Theme]) -> Theme:
    """The theme of this name; the first one where none is named."""
    found = next((each for each in known if name in (None, each)), None)
    if found is None:
        raise UsageError(f"--theme: {name!r} is not known; {nearest(str(name), [*known])}")
    return found


def _check(asked: Asked) -> None:
    """Raises UsageError for options that exclude each other."""
    if asked.tty and (asked.output is not None or asked.spec):
        other = "--spec" if asked.spec else "--output"
        raise UsageError(f"--tty draws in the terminal, {other} does not; leave one out")
    if asked.theme is not None and asked.output is None and not asked.spec:
        raise UsageError("--theme: the terminal has its own colours; only with --output")
    if asked.theme is not None and (asked.output or "").lower().endswith(".html"):
        raise UsageError("--theme: a page is light or dark as its reader's system is; leave it out")


def _named(charts: Sequence[object]) -> str:
    return "1 chart" if len(charts) == 1 else f"{len(charts)} charts"


def _subjects(paths: Sequence[str], asked: Asked) -> list[Subject]:
    """The runs, each by a name that no other one has. Raises UsageError where there is none, and
    where nothing is selected."""
    from halftrip.plot.chart import Subject

    files = _runs_in(paths) if asked.kind == _HISTORY else [*paths] or [str(newest())]
    if asked.output is not None:
        check_output(asked.output, files)
    found = []
    for file, name in zip(files, run_names(files), strict=True):
        made = document(loaded(file), flags=False)
        if not made.rows:
            reason = f": {made.interrupted}" if made.interrupted is not None else ""
            raise UsageError(f"{printable(file)}: nothing was measured{reason}")
        found.append(Subject(name, selected(made, asked.selection)))
    return found


def _runs_in(paths: Sequence[str]) -> list[str]:
    """The run files with rows that these paths name or hold; a line for each other file."""
    found = []
    for file in files_in(paths or ["."]):
        try:
            lacks = "" if loaded(file).measurements else "has no rows"
        except NotARunError:
            lacks = "is no run file"
        if lacks:
            print(f"halftrip: {printable(file)} {lacks}; left out", file=sys.stderr)
        else:
            found.append(file)
    if not found:
        raise UsageError("no run file there; name run files, or a directory of them")
    return found
