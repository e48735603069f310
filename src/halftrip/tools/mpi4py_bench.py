"""The ping-pong of mpi4py.bench: the mean of half round trips, s, with their standard deviation. MB
are 10^6 bytes. It does not say whether objects were sent (-p), nor in whose memory (-a).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.results.configuration import UNKNOWN
from halftrip.tools.lines import Lines, count, last_place, positive, whole, wrong
from halftrip.tools.tables import Format, TableRow, ToolTable, by_bandwidth, settings, timed

TOOL = "mpi4py-bench"
_TITLE = re.compile(r"# MPI PingPong Test\s*")
_HEADING = re.compile(r"# Size \[B\] +Bandwidth \[MB/s\](?: \| Time Mean .*)?\s*")
_ROW = re.compile(
    r" *(?P<size>\d+) +(?P<bandwidth>\d+\.\d\d)"
    r"(?P<more> \| (?P<mean>\d\.\d{7}e[+-]\d\d) \S{1,4} (?P<deviation>\d\.\d{4}e[+-]\d\d)"
    r" +(?P<samples>\d+))?\s*",
    re.ASCII,
)


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    lacks = "it ends before the heading # Size [B]"
    heading, _ = lines.next(first - 1, _HEADING, _ROW, lacks)
    has_times = "|" in lines[heading]
    rows = lines.rows(heading, lambda n, line: _row(n, line, has_times), decimals=True)
    configuration = settings(
        "mpi4py", "pingpong", memory=(UNKNOWN, UNKNOWN), places="own", object=None
    )
    return [ToolTable(TOOL, first, configuration, "mean", rows)]


def _row(line: int, text: str, has_times: bool) -> TableRow:
    found = _ROW.fullmatch(text)
    if found is None or (found["more"] is not None) != has_times:
        wrong(line, "not the columns of mpi4py.bench")
    size, rate = whole(line, found["size"]), found["bandwidth"]
    figures = {"Size [B]": found["size"], "Bandwidth [MB/s]": rate}
    step = 1e6 * last_place(rate)
    if not has_times:
        bandwidth = 1e6 * positive(line, rate, "no bandwidth")
        return by_bandwidth(line, size, bandwidth, step, figures)
    mean, deviation = found["mean"], found["deviation"]
    figures |= {"Time Mean [s]": mean, "StdDev [s]": deviation, "Samples": found["samples"]}
    # Both are rounded: a figure that has lost digits fits no longer.
    if abs(1e6 * float(rate) * float(mean) - size) > 0.51 * step * float(mean) + 1e-6 * size:
        wrong(line, f"{size} bytes in {mean} s are not {rate} MB/s")
    return timed(
        line, size, mean, 1e9, figures, iterations=count(line, found["samples"], "no samples"),
        spread={"stddev": 1e9 * float(deviation)},
    )  # fmt: skip


FORMAT = Format(
    "mpi4py.bench pingpong", _read, marks=("PingPong Test", r"# Size \["), begins=_TITLE,
    heading=_HEADING,
)  # fmt: skip
