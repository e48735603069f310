"""A run as tables of GitHub Flavored Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.report import notes, side_by_side
from halftrip.report.causes import trust
from halftrip.report.document import Document
from halftrip.report.layout import as_markdown, said_once
from halftrip.report.row_tables import row_tables


def render(document: Document, brief: bool = True) -> str:
    """The rows, with what is `brief` or with all columns, and how far to trust them."""
    parts = [
        f"{'; '.join([found.heading, *said_once(found.made)])}\n\n{as_markdown(found.made.table)}"
        for found in row_tables(document, brief)
    ]
    if document.rows:
        parts.append(f"Trust: {trust(document.rows)}\n")
    lacks = notes.missing(document)
    if lacks:
        parts.append("".join(f"- {line}\n" for line in lacks))
    return "\n".join(parts)


def render_several(documents: Sequence[Document], files: Sequence[str]) -> str:
    """Several runs side by side."""
    key = "".join(f"- {line}\n" for line in side_by_side.key(documents, files))
    tables = [
        f"{part.heading}\n\n{as_markdown(part.made.table)}"
        for part in side_by_side.parts(documents)
    ]
    return "\n".join([key, *tables])
