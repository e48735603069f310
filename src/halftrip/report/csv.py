"""A run as CSV, for programs."""

from __future__ import annotations

import csv
import io

from halftrip.report.document import Document
from halftrip.report.flat import flat


def render(document: Document) -> str:
    """One line per row, below a heading; a figure that does not exist is empty."""
    rows = [flat(row) for row in document.rows]
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
