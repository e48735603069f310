"""The view of all flags, with the figures and advice of each."""

from __future__ import annotations

import sys

from rich.console import Group, RenderableType
from rich.text import Text

from halftrip.analysis.flags import NAMES
from halftrip.report.document import Document
from halftrip.report.fields import name_of, varying
from halftrip.report.wrapping import text_lines, wrapped


def render_flags(document: Document, width: int | None = None) -> Group:
    """The flags by name and by advice, each with the rows that have it and what was seen there, in
    lines of at most `width` columns; None: as long as it takes."""
    of_lines = width or sys.maxsize
    table_rows = document.rows
    fields = varying(row.configuration for row in table_rows)
    names = document.run.names
    parts: list[RenderableType] = []
    for name in NAMES:
        found = [(row, flag) for row in table_rows for flag in row.flags if flag.name == name]
        for advice in dict.fromkeys(flag.advice for _, flag in found):
            parts += text_lines(f"{name}: {advice}", of_lines, "yellow")
            for row, flag in found:
                if flag.advice == advice:
                    said = f"{name_of(row.configuration, fields, names)}: {flag.seen}"
                    parts += map(Text, wrapped("  ", said, of_lines, 4))
            parts.append(Text())
    if not parts:
        parts.append(Text(f"no flags: none of the {len(table_rows)} rows gives a reason to doubt"))
    return Group(*parts)
