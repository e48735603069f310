"""NetPIPE 3: its output file np.out, and what it prints to the screen meanwhile.

Both give half of a round trip, the mean of the best of several repetitions; what -s and -2 measure
instead looks alike, and is not told from it. 1 Mbps is 2^20 bits per second. Only NPtcp says which
transport it uses, by the sizes of its sockets' buffers; others are read as "netpipe".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.tools.lines import Lines, last_place, number, whole, wrong
from halftrip.tools.tables import Format, Row, Table, settings

TOOL = "netpipe"
_SCREEN = re.compile(
    r"\s*(?P<n>\d+):\s+(?P<size>\S+) bytes\s+(?P<count>\S+) times -->\s+(?P<rate>\S+) Mbps in\s+"
    r"(?P<time>\S+) usec\s*"
)
_SCREEN_BEGIN = re.compile(r"\s*\d+:.* bytes\b.* times -->")
_FILE = re.compile(r" *(?P<size>\d+) (?P<rate>\d+\.\d{6}) +(?P<time>\d+\.\d{8})")
_BITS_OF_MBPS = float(1 << 20)
# The names of the columns, which the tool itself does not print.
_NAMES = ("bytes", "Mbps", "seconds")
_SCREEN_NAMES = ("bytes", "times", "Mbps", "usec")
# A row holds together if its rate is that of its time, but for the digits that each of them lost.
_SLACK = 0.01


def _recognised(lines: Lines) -> int | None:
    first = lines.first(_SCREEN_BEGIN.pattern)
    if first is not None:
        return first
    # Three columns of numbers could be anything: here their digits are counted.
    first = lines.first(r"\s*\S")
    return first if first is not None and _FILE.fullmatch(lines[first]) else None


def _read(lines: Lines) -> Sequence[Table]:
    first = _recognised(lines) or lines.first(r"\s*\d+\s")
    if first is None:
        wrong(len(lines), "no line of np.out or of NetPIPE's screen")
    is_screen = _SCREEN_BEGIN.match(lines[first]) is not None
    rows = _screen(lines, first) if is_screen else _file(lines, first)
    sockets = lines.first(r"Send and receive buffers are \d+ and \d+ bytes")
    transport = TOOL if sockets is None else "tcp"
    configuration = settings(transport, "pingpong", places="own")
    return [Table(TOOL, first, configuration, "mean", rows)]


def _screen(lines: Lines, first: int) -> list[Row]:
    rows: list[Row] = []
    for n in range(first, len(lines) + 1):
        line = lines[n]
        if not line.strip():
            continue
        found = _SCREEN.fullmatch(line)
        if found is None:
            if _SCREEN_BEGIN.match(line) or re.match(r"\s*\d", line):
                wrong(n, "not all that NetPIPE prints of a size")
            if _FILE.fullmatch(line):
                wrong(n, "a line of np.out: import each by itself")
            continue
        if whole(n, found["n"]) != len(rows):
            wrong(n, f"row {found['n']}, where row {len(rows)} is expected")
        count = whole(n, found["count"])
        if not count:
            wrong(n, "0 times")
        cells = (found["size"], found["count"], found["rate"], found["time"])
        figures = dict(zip(_SCREEN_NAMES, cells, strict=True))
        rows.append(_row(n, figures, 1e3 * _positive(n, found["time"]), 1e3, count))
    return rows


def _file(lines: Lines, first: int) -> list[Row]:
    rows: list[Row] = []
    for n in range(first, len(lines) + 1):
        cells = lines[n].split()
        if not cells:
            continue
        if len(cells) != len(_NAMES):
            wrong(n, f"{len(cells)} figures in place of 3: bytes, Mbps and seconds")
        figures = dict(zip(_NAMES, cells, strict=True))
        # Reading the cells first names the one that is wrong.
        time = 1e9 * _positive(n, figures["seconds"])
        row = _row(n, figures, time, 1e9, None)
        if not _FILE.fullmatch(lines[n]):
            wrong(n, "not printed as NetPIPE does: 6 decimals of Mbps and 8 of seconds")
        rows.append(row)
    return rows


def _row(line: int, figures: dict[str, str], ns: float, unit: float, count: int | None) -> Row:
    """A row of a time in ns, printed in a unit of so many ns."""
    size, rate = whole(line, figures["bytes"]), number(line, figures["Mbps"])
    time = figures["seconds" if "seconds" in figures else "usec"]
    step = unit * last_place(time)
    expected = 8e9 * size / _BITS_OF_MBPS / ns
    slack = expected * (step / ns + _SLACK) + last_place(figures["Mbps"])
    if abs(rate - expected) > slack:
        wrong(line, f"{figures['Mbps']} Mbps is not the rate of {size} bytes in {time}")
    bandwidth = rate * _BITS_OF_MBPS / 8
    kept = bandwidth if bandwidth > 0 else None
    return Row(line, size, ns, figures, count, step=step, bandwidth=kept)


def _positive(line: int, text: str) -> float:
    found = number(line, text)
    if not found > 0:
        wrong(line, "a message that took no time")
    return found


FORMAT = Format("NetPIPE", _recognised, _read)
