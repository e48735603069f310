"""The round trips of Hpcbench's mpitest, which are halved when they are read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halftrip.analysis.rows import Row
from halftrip.tools.hpcbench.log import TOOL
from halftrip.tools.hpcbench.throughput import LONGEST_LINE, REPETITION, repetitions
from halftrip.tools.lines import Lines, WrongLineError, layout, positive, quoted, whole, wrong
from halftrip.tools.printing import PrintedCurve, mean
from halftrip.tools.tables import TableRow, ToolTable, settings, timed
from halftrip.units import format_size

KIND = "round trip"
COLUMNS = (REPETITION, "Round Trip Time")
_LINE = "MPI Round Trip Time ({n}) : {time} {unit}"
_BEGINS_ROW = re.compile(r"MPI Round Trip Time \(")
BEGIN = layout(_LINE, n=r"\d+")
_HOSTS_LINE = "{}(Master-node) <--> {}(Secondary-node)"
_HOSTS = re.compile(r"(?P<master>\S+)\(Master-node\) <-+> (?P<slave>\S+)\(Secondary-node\)\s*")
# As the tool spells it.
_TITLE_LINE = "MPI communicaiton Round Trip Time (latency) test"
_SIZE_LINE = "Message size (Bytes) : {size}"
_SUMMARY_LINE = "MPI RTT min/avg/max = {min}/{avg}/{max} {unit}"
_SUMMARY = layout(_SUMMARY_LINE, **dict.fromkeys(("min", "avg", "max"), r"[^\s/]+"))
_UNITS = {"usec": 1e3, "msec": 1e6}
# Above so many us, the tool prints ms.
_MOST_US = 1e3
_NO_TIME = "a round trip that took no time"


def read(lines: Lines, first: int) -> tuple[ToolTable, str, int]:
    """The table of the round trips whose first is line number `first`, its name, and the number of
    the last line."""
    above = first - 1
    hosts: list[str] = []
    # The hosts, and what it is a test of.
    for line in range(max(first - 2, 1), first):
        if len(lines[line]) > LONGEST_LINE:
            continue
        if found := _HOSTS.fullmatch(lines[line]):
            hosts, above = [found["master"], found["slave"]], line - 1
    heading = "\n".join(lines[line].rstrip() for line in range(above + 1, first))
    times, at, n = _times(lines, first)
    said, summary = layout(_SIZE_LINE).fullmatch(lines[at]), _SUMMARY.fullmatch(lines[n])
    assert said is not None
    assert summary is not None
    size = whole(at, said["size"])
    if int(times[-1][1]) != len(times):
        lines.doubt(WrongLineError(n, f"{len(times)} of {times[-1][1]} round trips"))
    least, mean, most = (
        _unit(n, summary["unit"]) * positive(n, summary[name], _NO_TIME)
        for name in ("min", "avg", "max")
    )
    if not least <= mean <= most:
        wrong(n, "min, avg and max are not in order")
    rows = [_row(line, size, time, unit, int(place) - 1) for line, place, time, unit in times]
    facts = {
        "kind": KIND,
        "heading": heading,
        "summary": "\n".join(lines[line].rstrip() for line in (at, n)),
    }
    configuration = settings("mpi", "pingpong", buffers="separate", cache="hot", places="same")
    table = ToolTable(TOOL, first, configuration, "mean", rows, hosts=hosts, facts=facts)
    return table, f"round trip of {format_size(size)}", n


def _times(lines: Lines, first: int) -> tuple[list[tuple[int, str, str, str]], int, int]:
    """The line, number, time and unit of each round trip, and the lines that say the size of a
    message and sum them up."""
    times: list[tuple[int, str, str, str]] = []
    at = 0
    for line, text in lines.below(first - 1):
        if found := BEGIN.fullmatch(text):
            if times and found["n"] == "1":
                break
            if times and int(found["n"]) <= int(times[-1][1]):
                after = f"round trip {found['n']} behind {times[-1][1]}"
                lines.doubt(WrongLineError(line, after))
                continue
            times.append((line, found["n"], found["time"], found["unit"]))
        elif _BEGINS_ROW.match(text):
            lines.doubt(WrongLineError(line, "not all of a round trip"))
        elif layout(_SIZE_LINE).fullmatch(text):
            at = line
        elif at and _SUMMARY.fullmatch(text):
            return times, at, line
    return wrong(
        first, "no lines Message size (Bytes) : and MPI RTT min/avg/max = below the round trips"
    )


def _unit(line: int, unit: str) -> float:
    if unit not in _UNITS:
        wrong(line, f"{quoted(unit)} is neither usec nor msec")
    return _UNITS[unit]


def _row(line: int, size: int, time: str, unit: str, place: int) -> TableRow:
    figures = dict(zip(COLUMNS, (str(place + 1), f"{time} {unit}"), strict=True))
    half = _unit(line, unit) / 2
    return timed(line, size, time, half, figures, _NO_TIME, slice=place)


def printed(curve: PrintedCurve, row: Row) -> list[str]:
    """The mean round trip of each repetition of a row."""
    times = [2 * mean(each) / 1e3 for each in repetitions(curve, row.configuration)]
    three = {"min": min(times), "avg": sum(times) / len(times), "max": max(times)}
    scale, unit = (1e3, "msec") if three["avg"] > _MOST_US else (1.0, "usec")
    return [
        _HOSTS_LINE.format(*map(curve.document.run.names.host, row.configuration.pair)),
        _TITLE_LINE,
        *(line((str(n), f"{time / scale:.3f} {unit}")) for n, time in enumerate(times, 1)),
        _SIZE_LINE.format(size=row.configuration.size),
        _SUMMARY_LINE.format(
            **{name: f"{time / scale:.3f}" for name, time in three.items()}, unit=unit
        ),
    ]


def line(cells: Sequence[str]) -> str:
    time, _, unit = cells[1].partition(" ")
    return _LINE.format(n=cells[0], time=time, unit=unit)
