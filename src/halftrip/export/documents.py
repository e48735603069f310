"""What ``show --format`` prints, as files: JSON, Markdown, LaTeX."""

from __future__ import annotations

from collections.abc import Mapping

from halftrip.report import json as json_format
from halftrip.report import latex as latex_format
from halftrip.report import markdown as markdown_format
from halftrip.report.document import Document
from halftrip.texts import printable_lines


def json(document: Document) -> Mapping[str, str]:
    """All that there is; docs/schema describes it."""
    return {".json": json_format.render(document)}


def markdown(document: Document) -> Mapping[str, str]:
    """The tables, with the columns that people look for."""
    return {".md": printable_lines(markdown_format.render(document))}


def latex(document: Document) -> Mapping[str, str]:
    """The same for LaTeX, with the rules of booktabs."""
    return {".tex": printable_lines(latex_format.render(document))}
