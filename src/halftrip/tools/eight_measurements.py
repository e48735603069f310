"""A report on eight measurements: the time of 100,000 exchanges in ms, with the least, the most and
the average of all measurements; and that of one exchange. Printed, too, are the line of least
squares through the latter, time = s + r x size, of each measurement, with its residuals, and cold
exchanges.

An exchange is a message and its reply. The measurements are launches of one program, and it did not
warm up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.records import Measurement
from halftrip.tools.lines import Lines, WrongLineError, number, whole, wrong
from halftrip.tools.printing import PrintedCurve, curves, is_pingpong, lacks, mean, printed, texts
from halftrip.tools.tables import Format, TableRow, ToolTable, settings, timed

TOOL = "eight-measurements"
_TOTAL, _EXCHANGE = "total (ms)", "exchange (ms)"
_SUMMARIES = ("Min", "Max", "Average")
_TITLE = re.compile(r"Table 1\. .*? for (?P<count>[\d,]+) communications in MPI Ping-Pong\s*")
_TITLE_LINE = "Table 1. Timing result of {} for {:,} communications in MPI Ping-Pong"
_NAMES = re.compile(r"Size\t(?P<names>(?:Meas\d+\t)+)Min\tMax\tAverage\s*")
_UNITS = re.compile(r"\(Bytes\)\t\(ms\)\s*")
_SINGLE_TITLE = r"Table 2\. Timing result per single communication "
_SINGLE_TITLE_LINE = "Table 2. Timing result per single communication of {} in MPI Ping-Pong"
_SINGLE_NAMES = re.compile(r"Size \(Bytes\)(?P<names>(?:\tMeas\d+ \(ms\))+)\s*")
_ENDS = re.compile(r"Table \d")
_ROW = re.compile(r"\d+\t")
_MOST_EXCHANGES = 10**12
_COUNT = 100_000
_FEWEST_SIZES = 2
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_HOW = "halftrip run eight-measurements"


# Reads.


def _read(lines: Lines, first: int) -> Sequence[ToolTable]:
    count = _count(lines, first)
    heading, found = _heading(
        lines, first, _NAMES, "Size, Meas1, ..., Min, Max, Average between tabs"
    )
    units, _ = _heading(lines, heading, _UNITS, "(Bytes) and (ms)")
    names = found["names"].split()
    totals = _rows(lines, units, len(names) + len(_SUMMARIES))
    singles = _singles(lines, units, names)
    rows = []
    for launch in range(len(names)):
        for line, size, cells in totals:
            figures = {_TOTAL: cells[launch]}
            if launch == 0:
                figures |= dict(zip(_SUMMARIES, cells[len(names) :], strict=True))
            if size in singles:
                figures[_EXCHANGE] = singles[size][launch]
            rows.append(_row(line, size, figures, count, launch))
    configuration = settings("mpi", "pingpong", cache="hot", places="own")
    return [
        ToolTable(TOOL, first, configuration, "mean", rows, warm_up=0, facts={"count": str(count)})
    ]


def _count(lines: Lines, first: int) -> int:
    title = _TITLE.fullmatch(lines[first])
    if title is None:
        wrong(first, "not the whole title of Table 1")
    count = whole(first, title["count"].replace(",", ""))
    if not 0 < count <= _MOST_EXCHANGES:
        wrong(first, f"{title['count']} communications")
    return count


def _heading(
    lines: Lines, line: int, pattern: re.Pattern[str], said: str
) -> tuple[int, re.Match[str]]:
    """The line below that one, blank ones left out, which has to match."""
    return lines.next(line, pattern, _ROW, f"it ends before the heading: {said}")


def _rows(lines: Lines, heading: int, columns: int) -> list[tuple[int, int, list[str]]]:
    """The rows below a heading, as the number of the line, the size, and so many cells."""

    def read(n: int, line: str) -> tuple[int, int, list[str]]:
        size, *cells = line.rstrip().split("\t")
        if len(cells) != columns:
            wrong(n, f"{len(cells)} figures below {columns} columns")
        for cell in cells:
            number(n, cell)
        return n, whole(n, size), cells

    return lines.rows(heading, read, _ENDS, decimals=True)


def _singles(lines: Lines, last: int, names: Sequence[str]) -> dict[int, list[str]]:
    """The cells of Table 2 by size; none where there is no such table."""
    title = lines.first(_SINGLE_TITLE, after=last)
    if title is None:
        return {}
    said = "Size (Bytes), Meas1 (ms), ... between tabs"
    heading, _ = _heading(lines, title, _SINGLE_NAMES, said)
    found: dict[int, list[str]] = {}
    for line, size, cells in _rows(lines, heading, len(names)):
        if size <= max(found, default=-1):
            lines.doubt(WrongLineError(line, f"size {size} comes behind {max(found)}"))
            break
        found[size] = cells
    return found


def _row(line: int, size: int, figures: dict[str, str], count: int, launch: int) -> TableRow:
    # From ms of all exchanges to ns one way.
    unit, none = 1e6 / count / 2, "exchanges that took no time"
    return timed(line, size, figures[_TOTAL], unit, figures, none, iterations=count, launch=launch)


# Prints.


def render(document: Document) -> str:
    """The tables of each curve. Raises UsageError for a run without a ping-pong."""
    return texts(map(_tables, curves(document, TOOL, is_pingpong, "ping-pong", _HOW)))


def _tables(curve: PrintedCurve) -> list[str]:
    count = int(curve.fact("count")) if curve.is_own else _COUNT
    launches = {row.configuration.size: _by_launch(curve, row) for row in curve.rows}
    numbers = sorted({launch for of_size in launches.values() for launch in of_size})
    if any(len(of_size) < len(numbers) for of_size in launches.values()):
        lacks(TOOL, "complete set of launches, each with all sizes", _HOW)
    times = {
        size: [2 * mean(of_size[n]) / 1e6 for n in numbers] for size, of_size in launches.items()
    }
    tables: tuple[list[str], list[str]] = ([], [])
    for row in curve.rows:
        size = row.configuration.size
        cells = _cells(row, times[size], count)
        for lines, names in zip(tables, ((_TOTAL, *_SUMMARIES), (_EXCHANGE,)), strict=True):
            lines.append("\t".join([str(size), *(each for name in names for each in cells[name])]))
    measured = [f"Meas{n}" for n in range(1, len(numbers) + 1)]
    singles = "\t".join(["Size (Bytes)", *(f"{name} (ms)" for name in measured)])
    many = _WORDS[len(numbers)] if len(numbers) < len(_WORDS) else str(len(numbers))
    what = f"{many} separate measurement{'s' * (len(numbers) > 1)}"
    said = [] if curve.is_own else [f"Measured by {curve.measured_by()}: {curve.says()}", ""]
    return [
        *said,
        _TITLE_LINE.format(what, count),
        "",
        "\t".join(["Size", *measured, *_SUMMARIES]),
        "(Bytes)\t(ms)" + "\t" * (len(measured) + len(_SUMMARIES) - 1),
        *tables[0],
        "",
        _SINGLE_TITLE_LINE.format(what),
        "",
        singles,
        *tables[1],
        *_fits(times, measured),
        *_first(launches, numbers, singles),
    ]


def _by_launch(curve: PrintedCurve, row: Row) -> dict[int, list[Measurement]]:
    found: dict[int, list[Measurement]] = {}
    for each in curve.measurements(row):
        found.setdefault(each.launch, []).append(each)
    return found


def _cells(row: Row, times: Sequence[float], count: int) -> dict[str, list[str]]:
    """The cells of a row by column, as they were printed where there are as many; `times` are those
    of one exchange, ms."""
    totals = [count * each for each in times]
    summaries = (min(totals), max(totals), sum(totals) / len(totals))
    cells = {
        _TOTAL: [f"{each:.2f}" for each in totals],
        _EXCHANGE: [f"{each:.5f}" for each in times],
        **{name: [f"{each:.2f}"] for name, each in zip(_SUMMARIES, summaries, strict=True)},
    }
    reported = printed(row, TOOL)
    for name, made in cells.items():
        said = [each.figures[name] for each in reported if name in each.figures]
        cells[name] = said if len(said) == len(made) else made
    return cells


def _fits(times: Mapping[int, Sequence[float]], names: Sequence[str]) -> list[str]:
    """The line of least squares of each measurement, and by how much it is wrong."""
    if len(times) < _FEWEST_SIZES:
        return []
    sizes = np.array(list(times), dtype=float)
    lines = [
        "",
        "Table 3. Least squares fit, Time = s + r*Size, of a single exchange",
        "",
        "\t".join(["Measurement", "s (us)", "r (ns/byte)", "worst residual (us)", "worst (%)"]),
    ]
    for name, each in zip(names, zip(*times.values(), strict=True), strict=True):
        us = 1e3 * np.array(each)
        slope, start = np.polyfit(sizes, us, 1)
        residuals = us - (start + slope * sizes)
        worst = residuals[np.argmax(np.abs(residuals))]
        # Times may be 0 where they were rounded: nothing is a share of them.
        share = f"{100 * np.max(np.abs(residuals) / us):.0f}" if np.all(us > 0) else "-"
        cells = [f"{start:.3f}", f"{1e3 * slope:.4f}", f"{worst:.3f}", share]
        lines.append("\t".join([name, *cells]))
    return lines


def _first(
    launches: Mapping[int, Mapping[int, Sequence[Measurement]]],
    numbers: Sequence[int],
    heading: str,
) -> list[str]:
    """The very first exchange of each size in each launch, which is cold; nothing where nobody has
    timed it."""
    rows = []
    for size, of_size in launches.items():
        firsts = [of_size[n][0].first for n in numbers]
        if None in firsts:
            return []
        rows.append("\t".join([str(size), *(f"{(ns or 0) / 1e6:.5f}" for ns in firsts)]))
    title = "Table 4. The first exchange of each size, cold, which is in no other table"
    return ["", title, "", heading, *rows]


FORMAT = Format(
    "the eight measurements", _read, marks=("communications in MPI Ping-Pong",), begins=_TITLE
)
