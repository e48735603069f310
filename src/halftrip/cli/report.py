"""``halftrip report``: a page about runs."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from halftrip.cli.loading import check_output, loaded, run_names
from halftrip.cli.output import writing
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.report.document import document
from halftrip.report.selection import Selection, selected
from halftrip.results.run_file import newest
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.page.blocks import Report

FORMATS = ("html", "md")
_NEEDED = ("altair", "vl_convert")
_STANDARD_OUTPUT = "-"


class Page(NamedTuple):
    """Whether the page of a run is written after it, and whether that is opened."""

    is_written: bool = False
    is_opened: bool = False

    def check(self) -> None:
        """Raises UsageError where it cannot be written, before anything is measured."""
        if self.is_written:
            check_needed()

    def write(self, path: str, stream: TextIO) -> None:
        """Writes the page of the run in a file, if it is to be, and says so."""
        if self.is_written:
            write_page(_text([path], Asked()), page_name(path), self.is_opened, stream)


class Asked(NamedTuple):
    """What to write: into which file (None: named after the first run), in which format, whether to
    open it in a browser, and what of the runs to show."""

    output: str | None = None
    format: str = "html"
    open: bool = False
    selection: Selection = Selection()


def report_runs(files: Sequence[str], asked: Asked) -> int:
    """Writes the report of the runs in these files (none: the newest here), and returns the exit
    status. Raises UsageError for a file that is no run file, and for options that make no sense."""
    _check(asked)
    check_needed()
    paths = list(files) or [str(newest())]
    output = asked.output
    if output is None and asked.format == "html":
        output = page_name(paths[0])
    if output is not None:
        check_output(output, paths)
    text = _text(paths, asked)
    if output is None or output == _STANDARD_OUTPUT:
        with writing():
            print(text, end="")
        return 0
    write_page(text, output, asked.open, sys.stdout)
    return 0


def check_needed() -> None:
    """Raises UsageError where what draws is not installed."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise UsageError("needs Vega-Altair and vl-convert: pip install 'halftrip[plot]'")


def page_name(path: str) -> str:
    """The page of a run file, beside it: ``run.html`` of ``run.jsonl``."""
    return f"{path.removesuffix('.jsonl')}.html"


def write_page(text: str, path: str, is_opened: bool, stream: TextIO) -> None:
    """Writes a page, says where it is, and opens it in a browser if it is to be `is_opened`."""
    from halftrip.plot.writing import write

    write(path, text.encode(errors="replace"))
    said = [f"report: {printable(path)}"]
    if is_opened and not webbrowser.open(Path(path).resolve().as_uri()):
        said.append("no browser could be opened here")
    with writing():
        print(*said, sep="\n", file=stream)


def _check(asked: Asked) -> None:
    """Raises UsageError for an unknown format, and for options that exclude each other."""
    if asked.format not in FORMATS:
        said = nearest(asked.format, list(FORMATS))
        raise UsageError(f"--format: {printable(asked.format)!r} is not known; {said}")
    if asked.open and (asked.format != "html" or asked.output == _STANDARD_OUTPUT):
        raise UsageError("--open: only a page in a file can be opened; leave it out")


def _text(paths: Sequence[str], asked: Asked) -> str:
    """The report of the runs in these files."""
    from halftrip.page.sections import Shown, report
    from halftrip.plot.chart import Subject

    whole = asked.selection == Selection()
    shown = [
        Shown(
            Subject(name, selected(document(loaded(path)), asked.selection)), printable(path), whole
        )
        for name, path in zip(run_names(paths), paths, strict=True)
    ]
    made = report(shown, ", ".join(each.subject.name for each in shown))
    makers: Mapping[str, Callable[[Report], str]] = {"html": _html, "md": _markdown}
    return makers[asked.format](made)


def _html(made: Report) -> str:
    from halftrip.page import html, scaffold

    return scaffold.page(made.title, made.line, html.body(made), made.charts)


def _markdown(made: Report) -> str:
    from halftrip.page import markdown

    return markdown.render(made)
