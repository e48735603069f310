"""What the commands that stand in a log say of the tables below them."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice
from typing import NamedTuple

from halftrip.results.configuration import UNKNOWN
from halftrip.tools.lines import Lines

# Up to what ends a command, unless that is quoted.
_ARGUMENTS = r"(?:'[^']*'|\"[^\"]*\"|[^|;&<>`])*"
# So many commands of a script are looked at.
_MOST_CALLS = 200


class Program(NamedTuple):
    """What is called, a pattern for its `name`, in lines with this `mark`; and a mark of what it
    `prints` for each table, all patterns."""

    name: str
    mark: str
    prints: str


def told(lines: Lines, line: int, program: Program, option: str) -> str | None:
    """What the commands above that line, in all of the log, say of an option: group 1 of the
    pattern `option` in a call. Where each command stands above what it has printed, the last one
    counts; of a script above all that it has printed, all do. UNKNOWN where these differ, None
    where none has it."""
    called = re.compile(rf".*?(?<![\w-])({program.name}(?:[\s'\"]{_ARGUMENTS})?)(?=$|[|;&<>`])")
    printed = lines.with_mark(program.prints)
    found: list[str | None] = []
    below = 0
    for number, call in islice(lines.all_above(line, program.mark, called), _MOST_CALLS):
        if below and bisect_left(printed, below) > bisect_left(printed, number):
            break
        said = re.search(option, _continued(lines, number, call[1]))
        found.append(said and said[1])
        below = number
    return UNKNOWN if len(set(found)) > 1 else found[0] if found else None


def _continued(lines: Lines, number: int, call: str) -> str:
    """A call at the end of that line of the log, and the lines below it as long as a backslash says
    that it goes on there."""
    while call.endswith("\\"):
        number += 1
        call = f"{call[:-1]} {lines.of_log(number).strip()}"
    return call
