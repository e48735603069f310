"""A run as tables of GitHub Flavored Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.report.document import Document
from halftrip.report.layout import as_markdown
from halftrip.report.written import Written, of_one, of_several


def render(document: Document, brief: bool = True) -> str:
    """The rows, with what is `brief` or with all columns, and how far to trust them."""
    return _text(of_one(document, brief))


def render_several(documents: Sequence[Document], files: Sequence[str]) -> str:
    """Several runs side by side."""
    return _text(of_several(documents, files))


def _text(found: Written) -> str:
    blocks = [
        "".join(f"- {line}\n" for line in found.before),
        *(f"{title}\n\n{as_markdown(table)}" for title, table in found.tables),
        "".join(f"- {line}\n" for line in found.after),
    ]
    return "\n".join(filter(None, blocks))
