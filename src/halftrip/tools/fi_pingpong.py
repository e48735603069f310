"""fi_pingpong of libfabric: a ping-pong, of which usec/xfer is the mean time of a message one way.

k, m and g are 2^10, 2^20 and 2^30 of bytes, and powers of 1000 of messages; b is 10^9 of these.
Both are rounded down, so that a size counts where the bandwidth, in 10^6 bytes, and the bytes of
both directions in all are of it. Both ends print the same table, each by its own clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from halftrip.tools.lines import Lines, last_place, number, positive, quoted, wrong
from halftrip.tools.tables import End, Format, TableRow, ToolTable, below, settings, timed

TOOL = "fi_pingpong"
_NAMES = ("bytes", "#sent", "#ack", "total", "time", "MB/sec", "usec/xfer", "Mxfers/sec")
_HEADING = re.compile(r"\s+".join(_NAMES) + r"\s*")
_SHORT = re.compile(r"(?P<count>\d{1,15})(?:\.(?P<tenths>\d))?(?P<unit>[kmgb]?)", re.ASCII)
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MESSAGES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}
_WAYS = 2


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    rows = lines.rows(first, _row, decimals=False)
    configuration = settings("libfabric", "pingpong", places="own")
    return [ToolTable(TOOL, first, configuration, "mean", rows, end=End())]


def _row(line: int, text: str) -> TableRow:
    figures = below(line, _NAMES, text.split())
    if figures["#ack"] != f"={figures['#sent']}":
        wrong(line, f"of {figures['#sent']} messages, {quoted(figures['#ack'])} were answered")
    size, sent = checked(line, figures, figures["#sent"], _WAYS)
    return timed(line, size, figures["usec/xfer"], 1e3, figures, iterations=sent or None)


def checked(line: int, figures: Mapping[str, str], count: str, ways: int) -> tuple[int, int]:
    """The size of a row, bytes, and how many messages went each of the `ways` that `total` is of.
    Raises WrongLineError where the figures are not those of one row."""
    for name in ("MB/sec", "usec/xfer", "Mxfers/sec"):
        number(line, figures[name])
        if last_place(figures[name]) != 0.01:
            wrong(line, f"{name} of {figures[name]} has lost digits")
    size, _ = _range(line, figures["bytes"], _BYTES)
    sent, most = _range(line, count, _MESSAGES)
    if not figures["time"].endswith("s"):
        wrong(line, f"{quoted(figures['time'])} is no time")
    number(line, figures["time"][:-1])
    time = positive(line, figures["usec/xfer"], "a message that took no time")
    least, total = _range(line, figures["total"], _BYTES)
    # A megabyte a second is a byte a microsecond.
    moved, off = number(line, figures["MB/sec"]) * time, 0.006 * (time + float(figures["MB/sec"]))
    is_total = ways * size * sent < total and least < ways * size * max(most, sent + 1)
    if abs(moved - size) > off or not (is_total or size == 0):
        wrong(line, f"its figures are not those of messages of {figures['bytes']} bytes")
    return size, sent


def _range(line: int, cell: str, units: dict[str, int]) -> tuple[int, int]:
    """The least whole number that is printed so, and the first one that is not."""
    found = _SHORT.fullmatch(cell)
    if found is None or found["unit"] not in units:
        wrong(line, f"{quoted(cell)} is no number of libfabric's tests")
    unit = units[found["unit"]]
    tenths = int(found["tenths"] or 0)
    least = int(found["count"]) * unit + -(-tenths * unit // 10)
    # Below ten of a unit tenths are printed, if there are any.
    has_tenths = unit > 1 and int(found["count"]) < 10 and unit != 10**3
    return least, least + (max(unit // 10, 1) if has_tenths else unit)


FORMAT = Format("fi_pingpong", _read, marks=("usec/xfer",), begins=_HEADING)
