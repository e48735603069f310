"""The view of all rows with all their figures."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from halftrip.report import devices, network, notes, one_way
from halftrip.report.causes import trust
from halftrip.report.document import Document
from halftrip.report.layout import WIDTH_OF_LINES, fitted, said_once
from halftrip.report.row_tables import row_tables
from halftrip.report.wrapping import text_lines, wrapped


def render(document: Document, width: int | None = None) -> Group:
    """The tables with their legends, the baselines, what was not measured, and how far to trust it,
    in lines of at most `width` columns; None: tables have all columns."""
    parts: list[Text] = []
    of_lines = WIDTH_OF_LINES if width is None else width
    for found in row_tables(document, brief=False):
        for said in (found.heading, *said_once(found.made)):
            parts += text_lines(said, of_lines)
        shown = fitted(found.made.table, width)
        parts += [Text(), *shown.lines, Text()]
        for said in found.legend(shown.columns):
            parts += text_lines(said, of_lines, "dim")
        is_rate = found.rows[0].configuration.is_rate
        curves = [curve for curve in document.curves if curve.is_rate == is_rate]
        for said in notes.breakpoints(curves):
            parts += text_lines(said, of_lines)
        parts.append(Text())
    if document.rows:
        for said in (
            *notes.aggregates(document.aggregates, document.run.names),
            *notes.baselines(document.baselines),
            *devices.bounds(document.run),
            *devices.devices(document.run),
            *network.lines(document.run),
            *one_way.lines(document),
            *one_way.reasons(document),
        ):
            parts += text_lines(said, of_lines)
        parts += [
            Text(line, style="yellow") for line in wrapped("trust: ", trust(document), of_lines)
        ]
    return Group(*parts, *missing(document, of_lines))


def missing(document: Document, width: int) -> list[Text]:
    """What was not measured, what failed, and why the run ended early."""
    found = [
        *((line, "") for line in notes.skips(document)),
        *((line, "yellow") for line in notes.warnings(document)),
        *((line, "bold red") for line in notes.failures(document)),
        *((line, "bold red") for line in notes.interruptions(document)),
    ]
    return [part for line, style in found for part in text_lines(line, width, style)]
