"""A run as CSV, for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from halftrip.analysis.figures import row_fields
from halftrip.report.document import Document


def render(document: Document) -> str:
    """One line per row, below a heading; a figure that does not exist is empty."""
    return text([row_fields(row) for row in document.rows])


def render_several(documents: Sequence[Document], files: Sequence[str]) -> str:
    """The rows of several runs; the first column is the file of each."""
    return text(
        [
            {"run": file, **row_fields(row)}
            for document, file in zip(documents, files, strict=True)
            for row in document.rows
        ]
    )


def text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records whose keys are the heading; what one does not have is empty."""
    made = io.StringIO()
    if rows:
        names = dict.fromkeys(name for row in rows for name in row)
        writer = csv.DictWriter(made, fieldnames=list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return made.getvalue()
