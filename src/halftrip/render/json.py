"""Content as JSON, for programs, of characters that do nothing on a terminal."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from halftrip.render.blocks import View
from halftrip.render.plain import legend_of, lines_of, records_of, tables_in, title_of, unfolded

_MAY_NOT_PRINT = re.compile(r"[^\n -~]")


def render(view: View) -> str:
    """The content of a view; where it has none of its own, its lines, its tables and what their
    columns are."""
    if view.content is not None:
        return text(view.content())
    tables = [
        {"title": title_of(each) or None, "rows": records_of(each)}
        for each in tables_in(view.blocks)
    ]
    lines = [line for block in unfolded(view.blocks) for line in lines_of(block)]
    return text({"lines": lines, "tables": tables, "legend": legend_of(view.blocks)})


def text(content: Any) -> str:
    """Any content, indented."""
    made = msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"
    # JSON escapes control characters, but neither the upper ones nor those that reverse text.
    return _MAY_NOT_PRINT.sub(lambda each: _escaped(each[0]), made)


def line(content: Any) -> str:
    """Any content in one line."""
    made = msgspec.json.encode(content).decode() + "\n"
    return _MAY_NOT_PRINT.sub(lambda each: _escaped(each[0]), made)


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
