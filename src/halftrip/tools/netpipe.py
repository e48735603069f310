"""NetPIPE 2 to 5, and MPICH's of it: what it prints to the screen, and its output file np.out of
versions 3 to 5.

Both give half of a round trip, the mean of the best of several repetitions, since version 5 of all;
where the screen says that it streams in one direction, or sends in both at once, so it is. The file
does not. 1 Mbps is 2^20 bits per second, 10^6 since version 5, which rounds sizes of 1 MB and more
on the screen: these rows are left out there. Only NPtcp says which transport it uses, by the sizes
of its sockets' buffers; others are read as "netpipe".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Pattern
from halftrip.tools.lines import Lines, count, last_place, number, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, below, loops, settings, timed

TOOL = "netpipe"
_SCREEN = re.compile(
    r"\s*(?P<n>\d+):\s+(?P<size>\S+) +(?P<bytes>bytes|[KMGT]?B)\s+(?P<count>\S+) times -->\s+"
    r"(?P<rate>\S+) +(?P<bits>[KMGT]?bps) +in +(?P<time>\S+) +(?P<seconds>u?sec|[num]?secs)\s*"
)
_SCREEN_BEGIN = re.compile(r"\s*\d+:\s+\S.* times -->")
_SOCKETS = re.compile(r"Send and receive buffers are \d+ and \d+ bytes.*")
# What is not as usual, as the screen says it.
_SYNCHRONOUS = re.compile(r"Using synchronous sends\s*")
_ONE_WAY = re.compile(r"Streaming in one direction only\b.*")
_BOTH_WAYS = re.compile(r"Passing data in both directions simultaneously\b.*")
_COLD = re.compile(r"Performance measured without cache effects\s*")
_BITS_OF_MBPS = float(1 << 20)
_BITS = {"bps": 1.0, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9, "Tbps": 1e12}
_SECONDS = {"nsecs": 1.0, "usecs": 1e3, "msecs": 1e6, "secs": 1e9, "usec": 1e3, "sec": 1e9}
_NO_BYTES = {"bytes": 0, "B": 0, "KB": 3}


class _Columns(NamedTuple):
    """The columns of an np.out: their names, which the tool itself does not print, those of the
    rate, in so many bits per second, and of the time, in so many ns."""

    line: re.Pattern[str]
    names: Sequence[str]
    rate: str
    bits: float
    time: str
    ns: float


_FILES = (
    _Columns(
        re.compile(r" *\d+ \d+\.\d{6} +\d+\.\d{8}"),
        ("bytes", "Mbps", "seconds"), "Mbps", _BITS_OF_MBPS, "seconds", 1e9,
    ),
    _Columns(
        re.compile(r" *\d+ \d+\.\d{6}(?: +\d+\.\d{8}){3}"),
        ("bytes", "Mbps", "mean Mbps", "least Mbps", "seconds"),
        "Mbps", _BITS_OF_MBPS, "seconds", 1e9,
    ),
    _Columns(
        re.compile(r" *\d+(?: +\d+\.\d{3}){3} +\d+\.\d\d"),
        ("bytes", "Gbps", "least Gbps", "most Gbps", "usec"), "Gbps", 1e9, "usec", 1e3,
    ),
)  # fmt: skip
_FILE = "|".join(each.line.pattern for each in _FILES)
# A row holds together if its rate is that of its time, but for the digits that each of them lost.
_SLACK = 0.01


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    if _SCREEN_BEGIN.match(lines[first]) is None:
        tables = [(_settings(lines, 0, first), rows) for rows in _file(lines, first)]
    else:
        tables = _screen(lines, first)
    return [ToolTable(TOOL, rows[0].line, of, "mean", rows) for of, rows in tables if rows]


def _settings(lines: Lines, above: int, line: int) -> Configuration:
    """What the screen says between these two lines, of the table below them."""
    said = {
        each: any(lines.matches(each, line, above))
        for each in (_SOCKETS, _SYNCHRONOUS, _ONE_WAY, _BOTH_WAYS, _COLD)
    }
    pattern: Pattern = "bidirectional" if said[_BOTH_WAYS] else "pingpong"
    return settings(
        "tcp" if said[_SOCKETS] else TOOL, "stream" if said[_ONE_WAY] else pattern,
        "ssend" if said[_SYNCHRONOUS] else "blocking", places="own",
        cache="cold" if said[_COLD] else None,
    )  # fmt: skip


def _screen(lines: Lines, first: int) -> list[tuple[Configuration, list[TableRow]]]:
    tables: list[tuple[Configuration, list[TableRow]]] = []
    following = first_place = latest = 0

    def read(n: int, line: str) -> TableRow:
        nonlocal following, first_place, latest
        found = _SCREEN.fullmatch(line)
        if found is None:
            wrong(n, "not all that NetPIPE prints of a size")
        place = whole(n, found["n"])
        if place < following and place not in (0, first_place):
            wrong(n, f"row {place}, where row {following} is expected")
        if place < following or not tables:
            first_place = place
            tables.append((_settings(lines, latest, n), []))
        following, latest = place + 1, n
        configuration, rows = tables[-1]
        row = _screen_row(n, found, configuration.directions)
        rows.append(row)
        return row

    lines.rows(first - 1, read, looks=_SCREEN_BEGIN)
    return tables


def _screen_row(n: int, found: re.Match[str], ways: int) -> TableRow:
    size_in, bits_in, seconds = found["bytes"], found["bits"], found["seconds"]
    if size_in not in _NO_BYTES:
        wrong(n, f"a size in {size_in} is rounded: np.out has it whole")
    size = round(number(n, found["size"]) * 10 ** _NO_BYTES[size_in])
    if size_in != "KB":
        size = whole(n, found["size"])
    elif not re.fullmatch(r"\d+\.\d{3}", found["size"]):
        wrong(n, f"{found['size']} KB has lost digits")
    cells = {size_in: found["size"], "times": found["count"], bits_in: found["rate"]}
    cells[seconds] = found["time"]
    bits = _BITS_OF_MBPS if size_in == "bytes" else _BITS[bits_in]
    times = count(n, found["count"], "0 times")
    row = timed(n, size, found["time"], _SECONDS[seconds], cells, iterations=times)
    return _with_rate(row, found["rate"], bits, ways)


def _file(lines: Lines, first: int) -> list[list[TableRow]]:
    return loops(lines, lines.rows(first - 1, _file_row))


def _file_row(n: int, line: str) -> TableRow:
    cells = line.split()
    of = next((each for each in _FILES if each.line.fullmatch(line.rstrip())), None)
    if of is None:
        # Reading the cells names the one that is wrong.
        for cell in cells[: len(_FILES[-1].names)]:
            number(n, cell)
        wrong(n, "not printed as NetPIPE does: other columns, or other decimals")
    figures = below(n, of.names, cells)
    row = timed(n, whole(n, figures["bytes"]), figures[of.time], of.ns, figures)
    return _with_rate(row, figures[of.rate], of.bits)


def _with_rate(row: TableRow, cell: str, bits: float, ways: int = 1) -> TableRow:
    """The row with the rate in a cell, of so many bits per second each, of so many ways together.
    Raises WrongLineError where it is not that of the row's size and time."""
    rate = number(row.line, cell)
    expected = 8e9 * ways * (row.size or 0) / bits / row.ns
    if abs(rate - expected) > expected * (row.step / row.ns + _SLACK) + last_place(cell):
        name = next(name for name, each in row.figures.items() if each == cell and "bps" in name)
        wrong(row.line, f"{cell} {name} is not the rate of {row.size} bytes in {row.ns / 1e3:g} us")
    return row._replace(bandwidth=rate * bits / 8 / ways or None)


FORMAT = Format(
    # Three columns of numbers could be anything: here their digits are counted.
    "NetPIPE", _read, joined=True,
    marks=(" times -->", r"\.\d{6} +\d+\.\d{8}", r"\d(?:\.\d{3} +\d+){3}\.\d\d *$"),
    begins=re.compile(rf"{_SCREEN_BEGIN.pattern}|(?:{_FILE}) *$"),
)  # fmt: skip
