"""What a run consists of in Markdown and LaTeX: titled tables, and lines before and after them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.report import notes, side_by_side
from halftrip.report.causes import trust
from halftrip.report.document import Document
from halftrip.report.layout import Table, said_once
from halftrip.report.row_tables import row_tables
from halftrip.texts import printable


class Written(NamedTuple):
    """Lines, then tables, each with a line about all of its rows, then lines. No text of a run file
    is on more than one line: in LaTeX it would leave its comment."""

    before: Sequence[str]
    tables: Sequence[tuple[str, Table]]
    after: Sequence[str]


def of_one(document: Document, brief: bool) -> Written:
    """The rows of a run, with what is `brief` or with all columns, how far to trust them, and what
    is missing."""
    tables = [
        (printable("; ".join([found.heading, *said_once(found.made)])), found.made.table)
        for found in row_tables(document, brief)
    ]
    trusted = [f"Trust: {trust(document)}"] if document.rows else []
    return Written([], tables, [*trusted, *map(printable, notes.missing(document))])


def of_several(documents: Sequence[Document], files: Sequence[str]) -> Written:
    """Several runs side by side."""
    tables = [(printable(part.heading), part.made.table) for part in side_by_side.parts(documents)]
    return Written([*map(printable, side_by_side.key(documents, files))], tables, [])
