"""A report on measurements of so many exchanges each, in two tables: their time in ms, with the
least, the most and the average of all; and the time of one exchange, a message and its reply.

The measurements are launches of one program, and it did not warm up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from halftrip.convert.tables import Format, Row, Table, settings
from halftrip.convert.text import Lines, last_place, number, whole, wrong
from halftrip.report.styles.eight_measurements import EXCHANGE, SUMMARIES, TOOL, TOTAL

_TITLE = re.compile(r"Table 1\. .*? for (?P<count>[\d,]+) communications in MPI Ping-Pong\s*")
_NAMES = re.compile(r"Size\t(?P<names>(?:Meas\d+\t)+)Min\tMax\tAverage\s*")
_UNITS = re.compile(r"\(Bytes\)\t\(ms\)\s*")
_SINGLE_TITLE = re.compile(r"Table 2\. Timing result per single communication .*")
_SINGLE_NAMES = re.compile(r"Size \(Bytes\)(?P<names>(?:\tMeas\d+ \(ms\))+)\s*")
_MOST_EXCHANGES = 10**12


def _recognised(lines: Lines) -> int | None:
    return lines.first(_TITLE.pattern)


def _read(lines: Lines) -> Sequence[Table]:
    first = _recognised(lines)
    if first is None:
        wrong(1, "no title: Table 1. ... communications in MPI Ping-Pong")
    if again := lines.first(_TITLE.pattern, after=first):
        wrong(again, "a second Table 1: import each by itself")
    count = _count(lines, first)
    heading = _below(lines, first, _NAMES, "Size, Meas1, ..., Min, Max, Average between tabs")
    units = _below(lines, heading, _UNITS, "(Bytes) and (ms)")
    names = _NAMES.fullmatch(lines[heading])["names"].split()  # type: ignore[index]
    totals = list(_rows(lines, units, len(names) + len(SUMMARIES)))
    if not totals:
        wrong(units, "no rows below it")
    singles = _singles(lines, totals[-1][0], names)
    rows = []
    for launch in range(len(names)):
        for line, size, cells in totals:
            figures = {TOTAL: cells[launch]}
            if launch == 0:
                figures |= dict(zip(SUMMARIES, cells[len(names) :], strict=True))
            if size in singles:
                figures[EXCHANGE] = singles[size][launch]
            rows.append(_row(line, size, figures, count, launch))
    configuration = settings("mpi", "pingpong", cache="hot", places="own")
    return [Table(TOOL, first, configuration, "mean", rows, warm_up=0, facts={"count": str(count)})]


def _count(lines: Lines, first: int) -> int:
    title = _TITLE.fullmatch(lines[first])
    if title is None:
        wrong(first, "not the whole title of Table 1")
    count = whole(first, title["count"].replace(",", ""))
    if not 0 < count <= _MOST_EXCHANGES:
        wrong(first, f"{title['count']} communications")
    return count


def _below(lines: Lines, line: int, pattern: re.Pattern[str], said: str) -> int:
    """The number of the line below that one, blank ones left out, which has to match."""
    for n in range(line + 1, len(lines) + 1):
        if pattern.fullmatch(lines[n]):
            return n
        if lines[n].strip():
            wrong(n, f"not the heading: {said}")
    return wrong(len(lines), f"it ends before the heading: {said}")


def _rows(lines: Lines, heading: int, columns: int) -> Iterator[tuple[int, int, list[str]]]:
    """The rows below a heading, as the number of the line, the size, and so many cells."""
    for n in range(heading + 1, len(lines) + 1):
        if not lines[n].strip():
            return
        size, *cells = lines[n].rstrip().split("\t")
        if len(cells) != columns:
            wrong(n, f"{len(cells)} figures below {columns} columns")
        for cell in cells:
            number(n, cell)
        yield n, whole(n, size), cells


def _singles(lines: Lines, last: int, names: Sequence[str]) -> dict[int, list[str]]:
    """The cells of Table 2 by size; none where there is no such table."""
    title = lines.first(_SINGLE_TITLE.pattern, after=last)
    if title is None:
        return {}
    heading = _below(lines, title, _SINGLE_NAMES, "Size (Bytes), Meas1 (ms), ... between tabs")
    found: dict[int, list[str]] = {}
    for line, size, cells in _rows(lines, heading, len(names)):
        if size <= max(found, default=-1):
            wrong(line, f"size {size} comes behind {max(found)}")
        found[size] = cells
    return found


def _row(line: int, size: int, figures: dict[str, str], count: int, launch: int) -> Row:
    total = number(line, figures[TOTAL])
    if not total > 0:
        wrong(line, "exchanges that took no time")
    # From ms of all exchanges to ns one way.
    factor = 1e6 / count / 2
    step = factor * last_place(figures[TOTAL])
    return Row(line, size, factor * total, figures, iterations=count, launch=launch, step=step)


FORMAT = Format("the eight measurements", _recognised, _read)
