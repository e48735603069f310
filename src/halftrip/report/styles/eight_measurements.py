"""As a report on eight measurements prints them: the time of 100,000 exchanges, with the least, the
most and the average of all measurements; that of one exchange; and the line of least squares
through the latter, time = s + r x size, of each measurement, with its residuals.

An exchange is a message and its reply. A measurement is a launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.styles.figures import (
    Curve,
    curves,
    fact,
    lacks,
    mean,
    measured_by,
    measurements,
    printed,
)
from halftrip.results.records import Measurement

TOOL = "eight-measurements"
TOTAL, EXCHANGE = "total (ms)", "exchange (ms)"
SUMMARIES = ("Min", "Max", "Average")
_COUNT = 100_000
_FEWEST_SIZES = 2
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def render(document: Document) -> str:
    """The tables of each curve. Raises UsageError for a run without a ping-pong."""
    found = curves(
        document, TOOL, lambda each: each.pattern == "pingpong" and each.directions == 1,
        "ping-pong", "halftrip run eight-measurements",
    )  # fmt: skip
    return "\n".join("".join(f"{line}\n" for line in _tables(document, each)) for each in found)


def _tables(document: Document, curve: Curve) -> list[str]:
    source = curve.source
    own = source is not None and source.tool == TOOL
    count = int(fact(source, "count")) if source is not None and own else _COUNT
    launches = {row.configuration.size: _by_launch(document, row) for row in curve.rows}
    numbers = sorted({launch for of_size in launches.values() for launch in of_size})
    if any(len(of_size) < len(numbers) for of_size in launches.values()):
        lacks(
            TOOL, "complete set of launches, each with all sizes", "halftrip run eight-measurements"
        )
    cells = {row.configuration.size: _cells(row) if own else {} for row in curve.rows}
    times = {
        size: [2 * mean(of_size[n]) / 1e6 for n in numbers] for size, of_size in launches.items()
    }
    names = [f"Meas{n}" for n in range(1, len(numbers) + 1)]
    many = _WORDS[len(numbers)] if len(numbers) < len(_WORDS) else str(len(numbers))
    what = f"{many} separate measurement{'s' * (len(numbers) > 1)}"
    said = [] if own else [f"Measured by {measured_by(document, curve)}: {curve.says()}", ""]
    return [
        *said,
        f"Table 1. Timing result of {what} for {count:,} communications in MPI Ping-Pong",
        "",
        "\t".join(["Size", *names, *SUMMARIES]),
        "(Bytes)\t(ms)" + "\t" * (len(names) + len(SUMMARIES) - 1),
        *(_totals(size, each, cells[size], count) for size, each in times.items()),
        "",
        f"Table 2. Timing result per single communication of {what} in MPI Ping-Pong",
        "",
        "\t".join(["Size (Bytes)", *(f"{name} (ms)" for name in names)]),
        *(_singles(size, each, cells[size]) for size, each in times.items()),
        *_fits(times, names),
        *_first(launches, numbers, names),
    ]


def _by_launch(document: Document, row: Row) -> dict[int, list[Measurement]]:
    found: dict[int, list[Measurement]] = {}
    for each in measurements(document, row):
        found.setdefault(each.launch, []).append(each)
    return found


def _cells(row: Row) -> dict[str, list[str]]:
    """What was printed of a row, by column; a summary has one cell."""
    reported = printed(row, TOOL)
    return {
        name: [each.figures[name] for each in reported if name in each.figures]
        for name in (TOTAL, EXCHANGE, *SUMMARIES)
    }


def _totals(
    size: int, times: Sequence[float], cells: Mapping[str, Sequence[str]], count: int
) -> str:
    """The line of a size in Table 1; `times` are those of one exchange, ms."""
    totals = [count * each for each in times]
    summaries = (min(totals), max(totals), sum(totals) / len(totals))
    made = [f"{each:.2f}" for each in totals]
    made = _as_printed(cells.get(TOTAL, ()), made)
    for name, value in zip(SUMMARIES, summaries, strict=True):
        made += _as_printed(cells.get(name, ()), [f"{value:.2f}"])
    return "\t".join([str(size), *made])


def _singles(size: int, times: Sequence[float], cells: Mapping[str, Sequence[str]]) -> str:
    made = _as_printed(cells.get(EXCHANGE, ()), [f"{each:.5f}" for each in times])
    return "\t".join([str(size), *made])


def _as_printed(cells: Sequence[str], made: list[str]) -> list[str]:
    """The cells as they were printed, where there are as many."""
    return list(cells) if len(cells) == len(made) else made


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
    names: Sequence[str],
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
    heading = "\t".join(["Size (Bytes)", *(f"{name} (ms)" for name in names)])
    return ["", title, "", heading, *rows]
