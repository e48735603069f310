"""NetPIPE 3: its output file np.out, and what it prints to the screen meanwhile.

Both give half of a round trip, the mean of the best of several repetitions; what -s and -2 measure
instead looks alike, and is not told from it. 1 Mbps is 2^20 bits per second. Only NPtcp says which
transport it uses, by the sizes of its sockets' buffers; others are read as "netpipe".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from halftrip.tools.lines import Lines, count, last_place, number, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, below, loops, settings, timed

TOOL = "netpipe"
_SCREEN = re.compile(
    r"\s*(?P<n>\d+):\s+(?P<size>\S+) bytes\s+(?P<count>\S+) times -->\s+(?P<rate>\S+) Mbps in\s+"
    r"(?P<time>\S+) usec\s*"
)
_SCREEN_BEGIN = re.compile(r"\s*\d+:\s+\S+ bytes\b.* times -->")
_SOCKETS = re.compile(r"Send and receive buffers are \d+ and \d+ bytes.*")
_FILE = re.compile(r" *\d+ \d+\.\d{6} +\d+\.\d{8}")
_BITS_OF_MBPS = float(1 << 20)
# The names of the columns, which the tool itself does not print.
_NAMES = ("bytes", "Mbps", "seconds")
_SCREEN_NAMES = ("bytes", "times", "Mbps", "usec")
# A row holds together if its rate is that of its time, but for the digits that each of them lost.
_SLACK = 0.01


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    is_screen = _SCREEN_BEGIN.match(lines[first]) is not None
    tables = _screen(lines, first) if is_screen else _file(lines, first)
    sockets = lines.last(_SOCKETS, first)
    configuration = settings(TOOL if sockets is None else "tcp", "pingpong", places="own")
    return [ToolTable(TOOL, rows[0].line, configuration, "mean", rows) for rows in tables if rows]


def _screen(lines: Lines, first: int) -> list[list[TableRow]]:
    tables: list[list[TableRow]] = [[]]
    following = 0

    def read(n: int, line: str) -> TableRow:
        nonlocal following
        found = _SCREEN.fullmatch(line)
        if found is None:
            wrong(n, "not all that NetPIPE prints of a size")
        place = whole(n, found["n"])
        if place == 0:
            tables.append([])
        elif place < following:
            wrong(n, f"row {place}, where row {following} is expected")
        following = place + 1
        times = count(n, found["count"], "0 times")
        figures = below(n, _SCREEN_NAMES, found.group("size", "count", "rate", "time"))
        row = _row(n, figures, "usec", 1e3, iterations=times)
        tables[-1].append(row)
        return row

    lines.rows(first - 1, read, looks=_SCREEN_BEGIN)
    return tables


def _file(lines: Lines, first: int) -> list[list[TableRow]]:
    return loops(lines, lines.rows(first - 1, _file_row))


def _file_row(n: int, line: str) -> TableRow:
    cells = line.split()
    if len(cells) != len(_NAMES):
        wrong(n, f"{len(cells)} figures in place of 3: bytes, Mbps and seconds")
    figures = dict(zip(_NAMES, cells, strict=True))
    # Reading the cells first names the one that is wrong.
    row = _row(n, figures, "seconds", 1e9)
    if not _FILE.fullmatch(line):
        wrong(n, "not printed as NetPIPE does: 6 decimals of Mbps and 8 of seconds")
    return row


def _row(line: int, figures: dict[str, str], time: str, unit: float, **known: Any) -> TableRow:
    """A row whose time is in this column, in a unit of so many ns."""
    row = timed(line, None, figures[time], unit, figures, **known)
    size, rate = whole(line, figures["bytes"]), number(line, figures["Mbps"])
    expected = 8e9 * size / _BITS_OF_MBPS / row.ns
    slack = expected * (row.step / row.ns + _SLACK) + last_place(figures["Mbps"])
    if abs(rate - expected) > slack:
        wrong(line, f"{figures['Mbps']} Mbps is not the rate of {size} bytes in {figures[time]}")
    return row._replace(size=size, bandwidth=rate * _BITS_OF_MBPS / 8 or None)


FORMAT = Format(
    # Three columns of numbers could be anything: here their digits are counted.
    "NetPIPE", _read, marks=(" times -->", r"\.\d{6} +\d+\.\d{8}$"), joined=True,
    begins=re.compile(f"{_SCREEN_BEGIN.pattern}|{_FILE.pattern}$"),
)  # fmt: skip
