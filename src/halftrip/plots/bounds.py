"""Where curves bend, and the bound of the machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

from halftrip.analysis.breakpoints import Breakpoint
from halftrip.plots.chart import EMPTY, Record
from halftrip.plots.series import DrawnRow
from halftrip.stats.median import median
from halftrip.units import format_size

# Bounds of several runs that differ by less than this factor are one line.
_SAME_BOUND = 1.4


def bends_of(lines: Sequence[DrawnRow]) -> list[tuple[DrawnRow, Breakpoint]]:
    """The breakpoints of the curves that have been refined, each with a line of that curve."""
    found: dict[tuple[str, Breakpoint], DrawnRow] = {}
    by_row = {(line.subject.name, line.configuration): line for line in lines}
    for subject in dict.fromkeys(line.subject.name for line in lines):
        document = next(line.subject.document for line in lines if line.subject.name == subject)
        for curve in document.curves:
            of_curve = [
                by_row[key]
                for row in curve.rows.values()
                if (key := (subject, row.configuration)) in by_row
            ]
            for bend in curve.breakpoints if of_curve else ():
                found.setdefault((of_curve[0].key, bend), of_curve[0])
    return [(line, bend) for (_, bend), line in found.items()]


def bend_record(line: DrawnRow, bend: Breakpoint) -> Record:
    """The mark of a breakpoint."""
    low, high = (max(float(each), EMPTY) for each in bend)
    return {
        "series": line.name,
        "transport": line.configuration.transport,
        "x": math.sqrt(low * high),
        "low": low,
        "high": high,
        "what": f"{line.name} bends from {format_size(bend.low)} to {format_size(bend.high)} bytes",
    }


def bounds(lines: Sequence[DrawnRow]) -> list[Record]:
    """The machine's own limit of latencies, of all runs in which one core has talked to another."""
    documents = {line.subject.name: line.subject.document for line in lines}.values()
    halves = sorted(
        median(document.baselines.core_to_core_rtts) / 2
        for document in documents
        if document.baselines.core_to_core_rtts
        and len({each.host for each in document.run.first_ranks}) == 1
    )
    groups: list[list[float]] = []
    for half in halves:
        if groups and half <= _SAME_BOUND * groups[-1][0]:
            groups[-1].append(half)
        else:
            groups.append([half])
    return [{"y": median(group) * 1e-9, "what": _bound_in_words(group)} for group in groups]


def _bound_in_words(halves: Sequence[float]) -> str:
    low, high = f"{halves[0]:.0f}", f"{halves[-1]:.0f}"
    return f"half a core-to-core round trip, {low if low == high else f'{low} to {high}'} ns"
