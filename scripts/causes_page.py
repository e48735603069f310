"""Writes the table of docs/causes.md that says where a bend is expected; make golden calls it."""

from __future__ import annotations

import re

from halftrip.analysis.bend_kinds import KINDS

HEAD = "| if it is | at |\n|---|---|\n"


def page(text: str) -> str:
    """The page with the table made again; `text` is the page as it was."""
    rows = [f"| {kind.name} | {kind.at} |" for kind in KINDS.values()]
    rows.append("| chosen by the library, which does not tell | anywhere |")
    table = HEAD + "\n".join(rows)
    return re.sub(rf"{re.escape(HEAD)}(\|.*\n?)*", lambda _: f"{table}\n", text)
