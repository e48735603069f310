"""The view of all flags, with the figures and advice of each."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from halftrip.analysis.flags import NAMES
from halftrip.report.document import Document
from halftrip.report.fields import name_of, varying


def render_flags(document: Document) -> Group:
    """The flags by name and by advice, each with the rows that have it and what was seen there."""
    table_rows = document.rows
    fields = varying(row.configuration for row in table_rows)
    parts: list[RenderableType] = []
    for name in NAMES:
        found = [(row, flag) for row in table_rows for flag in row.flags if flag.name == name]
        for advice in dict.fromkeys(flag.advice for _, flag in found):
            parts.append(Text(f"{name}: {advice}", style="yellow"))
            for row, flag in found:
                if flag.advice == advice:
                    parts.append(Text(f"  {name_of(row.configuration, fields)}: {flag.seen}"))
            parts.append(Text())
    if not parts:
        parts.append(Text(f"no flags: none of the {len(table_rows)} rows gives a reason to doubt"))
    return Group(*parts)
