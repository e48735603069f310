"""A run as tables of LaTeX, each below its title, with the rules of the package booktabs; all
else is in comments."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.report.document import Document
from halftrip.report.layout import as_latex, latex_text
from halftrip.report.written import Written, of_one, of_several


def render(document: Document, brief: bool = True) -> str:
    """The rows, with what is `brief` or with all columns, and how far to trust them."""
    return _text(of_one(document, brief))


def render_several(documents: Sequence[Document], files: Sequence[str]) -> str:
    """Several runs side by side."""
    return _text(of_several(documents, files))


def _text(found: Written) -> str:
    blocks = [
        "% needs \\usepackage{booktabs,longtable}\n"
        + "".join(f"% {line}\n" for line in found.before),
        *(_titled(title, as_latex(table)) for title, table in found.tables),
        "".join(f"% {line}\n" for line in found.after),
    ]
    return "\n".join(filter(None, blocks))


def _titled(title: str, table: str) -> str:
    """A table below its title, in a paragraph of its own; space behind it, also before another."""
    title = f"\\noindent {latex_text(title)}\\par\\nopagebreak\\smallskip\n"
    return f"{title}\\noindent\n{table}\\par\\bigskip\n"
