"""What the commands that stand in a log say of the tables below them."""

from __future__ import annotations

import re

from halftrip.tools.lines import Lines


def told(lines: Lines, line: int, program: str, option: str) -> str | None:
    """What the nearest command above that line which calls a program says of an option: the group
    of the latter; both are patterns. None where it says nothing, or another command above says
    something else: a script may stand above all that it has printed."""
    called = re.compile(rf"(?:^|[\s/`'\"]){program}[\s`'\"]([^|;&<>`\n]*)", re.MULTILINE)
    found = [re.search(option, each[1]) for each in called.finditer(_above(lines, line))]
    if not found or found[-1] is None:
        return None
    said = {each[1] for each in found if each}
    return found[-1][1] if len(said) == 1 else None


def _above(lines: Lines, line: int) -> str:
    """The lines above that one, of which those that end with a backslash go on below."""
    text = (lines[n].strip() for n in range(1, line))
    return "".join(f"{each[:-1]} " if each.endswith("\\") else f"{each} \n" for each in text)
