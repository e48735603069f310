"""What both ends spent, beside what went through."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.plots.bars import from_zero, only_size
from halftrip.plots.by_size import by_size
from halftrip.plots.chart import Chart, Record, Subject, known, place_of_size
from halftrip.plots.curves import bandwidths
from halftrip.plots.parts import by_few_sizes, said_once
from halftrip.plots.points import (
    Axis,
    Look,
    Points,
    record,
)
from halftrip.plots.series import LONG, DrawnRow, in_common, lines_by_pattern
from halftrip.units import size_in_words

_ENDS = ("initiator", "responder")
_DASHES = alt.StrokeDash(
    "end:N",
    scale=alt.Scale(domain=[*_ENDS], range=[[1, 0], [5, 4]]),
    legend=alt.Legend(title=None, symbolType="stroke", symbolSize=LONG),
)
_LOOK = Look(size=30, joined="key", width=2.0, dashes=lambda _: _DASHES)
_TIP = (
    alt.Tooltip("series:N", title="what"),
    alt.Tooltip("end:N"),
    alt.Tooltip("size:N"),
    alt.Tooltip("y:Q", format=".1%", title="load"),
    alt.Tooltip("kernel:Q", format=".1%", title="of that in the kernel"),
)
_LOAD_SAYS = (
    "Load: CPU time as a share of the time; above 100 % where several threads ran. An end that "
    "polls uses its core whenever it has it, however little it sends."
)


def usage(subjects: Sequence[Subject]) -> list[Chart]:
    """The CPU load of both ends by size, a chart for each pattern, and below it the bandwidth.
    Raises UsageError where no row's usage is known."""
    found = lines_by_pattern(subjects, _has_usage)
    if not found:
        raise UsageError("--kind usage: no row has the resource usage of its ends")
    beside = bandwidths(subjects)
    return [
        chart
        for pattern, lines in found.items()
        for chart in (*_charts(pattern, lines), *beside.get(pattern, []))
    ]


def _has_usage(row: Row) -> bool:
    ends = row.usage or ()
    return row.configuration.size_known and any(known(spent.load) is not None for spent in ends)


def _charts(pattern: str, lines: Sequence[DrawnRow]) -> list[Chart]:
    names = [*dict.fromkeys(line.name for line in lines)]
    parts = by_few_sizes(lines, lambda line: line.configuration.size, lambda line: line.name)
    return said_once([_chart(pattern, part, names) for part in parts])


def _chart(pattern: str, lines: Sequence[DrawnRow], names: Sequence[str]) -> Chart:
    records = [record for line in lines for record in _records(line)]
    size = only_size(records, "label")
    loads = [each["y"] for each in records]
    busiest = max(records, key=lambda each: each["y"])
    axis = alt.Axis(title="CPU load", format="%")
    scale = alt.Scale(domain=[0, max([1.05, *loads])])
    return by_size(
        "usage",
        pattern,
        "CPU load of both ends",
        Points(
            records=records,
            names=names,
            axis=Axis(scale, axis) if size is None else from_zero(axis, loads),
            unit="load",
            look=_LOOK,
            tip=_TIP,
            label="label",
        ),
        text=f"Highest: {busiest['figure']} ({busiest['label']}, {busiest['size']}).",
        lines=[*in_common(lines), _LOAD_SAYS],
        height=220,
    )


def _records(line: DrawnRow) -> list[Record]:
    if line.row.usage is None:
        return []
    return [
        record(
            line.name,
            line.configuration.transport,
            place_of_size(line.configuration.size),
            (spent.load, math.nan, math.nan),
            f"{100 * spent.load:.0f} %",
            key=f"{line.key} {end}",
            label=f"{line.name}, {end}",
            end=end,
            kernel=known(spent.kernel_share),
            size=size_in_words(line.configuration.size),
        )
        for end, spent in zip(_ENDS, line.row.usage, strict=True)
        if known(spent.load) is not None
    ]
