"""A measurement that both of its ends have printed, or one of them twice, is one: of its tables,
the first counts."""

from __future__ import annotations

import math
from collections import deque

from halftrip.tools.tables import TableRow, ToolTable

# Both ends begin when they have heard of each other, and end with the last message: in all, their
# times differ by no more than this, ns, and do so alike for every size.
_APART = 200e3
_ALIKE = 20e3
# How many tables of one kind are remembered.
_MOST = 1000


class Printed:
    """The tables that count."""

    def __init__(self) -> None:
        self._of_kind: dict[tuple[object, ...], deque[tuple[ToolTable, str]]] = {}

    def before(self, table: ToolTable, file: str) -> tuple[ToolTable, str] | None:
        """The table above, and its file, that is of the same measurement; None where this one, of
        that `file`, is the first."""
        if table.end is None:
            return None
        kind = (table.tool, table.end.measurement)
        known = self._of_kind.setdefault(kind, deque(maxlen=_MOST))
        found = next((each for each in known if _is_same(each[0], table)), None)
        if found is None:
            known.append((table, file))
        elif not table.end.measurement:
            # It has no third end.
            known.remove(found)
        return found


def _is_same(one: ToolTable, other: ToolTable) -> bool:
    if one.end is None or other.end is None:
        return False
    if one.end.measurement:
        return one.end.name != other.end.name or not one.end.name
    return one.configuration == other.configuration and _take_as_long(one, other)


def _take_as_long(one: ToolTable, other: ToolTable) -> bool:
    """Whether the rows of the same sizes, which most are, took as long as far as digits tell."""
    times = {row.size: row for row in other.rows}
    both = [(row, times[row.size]) for row in one.rows if row.size in times]
    if 2 * len(both) <= max(len(one.rows), len(other.rows)):
        return False
    least, most = -_APART, _APART
    messages = one.configuration.messages_per_iteration
    for low, high in (_difference(*each, messages) for each in both):
        least, most = max(least, low - _ALIKE / 2), min(most, high + _ALIKE / 2)
        if least > most:
            return False
    return True


def _difference(row: TableRow, like: TableRow, messages: int) -> tuple[float, float]:
    """By how much their times differ in all, ns, at least and at most; `messages` are those of an
    iteration."""
    if row.iterations is None or row.iterations != like.iterations:
        return math.inf, -math.inf
    times = row.iterations * messages
    difference, step = (row.ns - like.ns) * times, row.step * times
    return difference - step, difference + step
