"""``halftrip report``: a page about runs."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

from halftrip.cli import app, inputs, syntax
from halftrip.cli.inputs import Text
from halftrip.cli.output import STANDARD_OUTPUT, check_one_of, one_of, writing
from halftrip.errors import UsageError
from halftrip.interpreter import install_command
from halftrip.texts import printable

if TYPE_CHECKING:
    from halftrip.report.selection import Selection

FORMATS = ("html", "md")
_NEEDED = ("altair", "vl_convert")


@app.command("report")
def report(
    runs: inputs.RunFiles = None,
    output: Annotated[
        Text,
        syntax.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The page. [the first run's name with .html; Markdown: standard output]",
        ),
    ] = None,
    transport: inputs.Transports = None,
    pattern: inputs.Patterns = None,
    sizes: inputs.Sizes = None,
    pair: inputs.Pairs = None,
    format_: Annotated[str, one_of("--format", FORMATS, "html")] = "html",
    open_: Annotated[bool, syntax.Option("--open", help="Open the page in a browser.")] = False,
) -> int:
    """Write one page about runs: the answer, pictures, tables, and how far to trust them.

    The page needs no network, and no other file."""
    selection = inputs.selection_of(transport, pattern, sizes, pair)
    check_one_of("--format", format_, FORMATS)
    if open_ and (format_ != "html" or output == STANDARD_OUTPUT):
        raise UsageError("--open: only a page in a file can be opened; leave it out")
    check_needed()
    paths = inputs.paths_of(runs)
    if output is None and format_ == "html":
        output = page_name(paths[0])
    if output is not None:
        inputs.check_output(output, paths)
    text = report_text(paths, format_, selection)
    if output is None or output == STANDARD_OUTPUT:
        with writing():
            print(text, end="")
        return 0
    write_page(text, output, open_, sys.stdout)
    return 0


def check_needed() -> None:
    """Raises UsageError where what draws is not installed."""
    if any(find_spec(name) is None for name in _NEEDED):
        raise UsageError(f"needs Vega-Altair and vl-convert: {install_command('plot')}")


def page_name(path: str) -> str:
    """The page of a run file, beside it: ``run.html`` of ``run.jsonl``."""
    return f"{path.removesuffix('.jsonl')}.html"


def write_page(text: str, path: str, is_opened: bool, stream: TextIO) -> None:
    """Writes a page, says where it is, and opens it in a browser if it is to be `is_opened`."""
    from halftrip.plots.writing import write

    write(path, text.encode(errors="replace"))
    said = [f"report: {printable(path)}"]
    if is_opened and not webbrowser.open(Path(path).resolve().as_uri()):
        said.append("no browser could be opened here")
    with writing():
        print(*said, sep="\n", file=stream)


def report_text(
    paths: Sequence[str], format_: str = "html", selection: Selection | None = None
) -> str:
    """The report of the runs in these files, or of what is selected of them."""
    from halftrip.page.sections import ReportedRun, report
    from halftrip.plots.chart import Subject
    from halftrip.report.document import document
    from halftrip.report.selection import Selection, selected

    chosen = selection or Selection()
    shown = [
        ReportedRun(
            Subject(name, selected(document(inputs.loaded(path)), chosen)),
            printable(path),
            chosen == Selection(),
        )
        for name, path in zip(inputs.run_names(paths), paths, strict=True)
    ]
    made = report(shown, ", ".join(each.subject.name for each in shown))
    if format_ == "md":
        from halftrip.render import markdown

        return markdown.page(made)
    from halftrip.page import html

    return html.page(made)
