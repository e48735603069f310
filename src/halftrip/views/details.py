"""The rows of a run in tables: with all their figures and what was found beside them, or in short,
for documents."""

from __future__ import annotations

from functools import partial

from rich.console import Group

from halftrip.render import csv as csv_format
from halftrip.render import json as json_format
from halftrip.render import latex as latex_format
from halftrip.render import markdown as markdown_format
from halftrip.render import terminal
from halftrip.render.blocks import SPACE, Block, Items, Terms, View
from halftrip.render.terminal import WIDTH
from halftrip.report.document import Document
from halftrip.views import devices, network, notes, one_way
from halftrip.views.content import content, records
from halftrip.views.row_tables import row_tables
from halftrip.views.why import trust


def details(document: Document) -> View:
    """The tables with their legends, the baselines, what was not measured, and how far to trust
    it."""
    blocks: list[Block] = []
    for found in row_tables(document, brief=False):
        is_rate = found.rows[0].configuration.is_rate
        curves = [curve for curve in document.curves if curve.is_rate == is_rate]
        blocks += [
            found.with_said_once._replace(titling="apart"),
            SPACE,
            found.legend,
            Items(notes.breakpoints(curves)),
            SPACE,
        ]
    if document.rows:
        said = [
            *notes.aggregates(document.aggregates, document.run.names),
            *notes.baselines(document.baselines),
            *devices.bounds(document.run),
            *devices.devices(document.run),
            *network.lines(document.run),
            *one_way.lines(document),
            *one_way.reasons(document),
        ]
        blocks += [Items(said), Terms([("trust", trust(document))], style="yellow")]
    return _of(document, [*blocks, *notes.missing_blocks(document)])


def in_short(document: Document, brief: bool = True) -> View:
    """The rows, with what is `brief` or with all columns, how far to trust them, and what is
    missing."""
    tables = [found.with_said_once for found in row_tables(document, brief)]
    trusted = [f"Trust: {trust(document)}"] if document.rows else []
    return _of(document, [*tables, Items([*trusted, *notes.missing(document)])])


def _of(document: Document, blocks: list[Block]) -> View:
    return View(blocks, partial(content, document), partial(records, document))


# The formats of a run.


def table(document: Document) -> Group:
    """All rows with all columns."""
    return terminal.render(details(document).blocks, WIDTH, wide=True)


def json(document: Document) -> str:
    """All that there is; docs/schema describes it."""
    return json_format.render(in_short(document))


def csv(document: Document) -> str:
    """One line per row, below a heading; a figure that does not exist is empty."""
    return csv_format.render(in_short(document))


def markdown(document: Document) -> str:
    """The tables, with the columns that people look for."""
    return markdown_format.render(in_short(document))


def latex(document: Document) -> str:
    """The same for LaTeX."""
    return latex_format.render(in_short(document))
