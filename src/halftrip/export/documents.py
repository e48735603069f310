"""What ``show --format`` prints, as files: JSON, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Mapping

from halftrip.report.document import Document
from halftrip.texts import printable_lines
from halftrip.views import details


def json(document: Document) -> Mapping[str, str]:
    """All that there is; docs/schema describes it."""
    return {".json": details.json(document)}


def markdown(document: Document) -> Mapping[str, str]:
    """The tables, with the columns that people look for."""
    return {".md": printable_lines(details.markdown(document))}


def latex(document: Document) -> Mapping[str, str]:
    """The same for LaTeX, with the rules of booktabs."""
    return {".tex": printable_lines(details.latex(document))}
