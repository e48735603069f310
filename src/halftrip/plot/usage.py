"""What both ends spent, beside what went through."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from halftrip.analysis.rows import Row
from halftrip.errors import UsageError
from halftrip.plot.chart import (
    BYTES,
    Chart,
    Curve,
    Drawing,
    Record,
    Subject,
    View,
    known,
    layered,
    named,
    place_of_size,
    size_axis,
    slug,
    visible,
)
from halftrip.plot.curves import bandwidth
from halftrip.plot.series import Line, colour, in_common, lines_of, shape
from halftrip.units import size_in_words

_ENDS = ("initiator", "responder")
_DASHES = ([1, 0], [5, 4])
_LOAD_SAYS = (
    "Load: CPU time as a share of the time; above 100 % where several threads ran. An end that "
    "polls uses its core whenever it has it, however little it sends."
)


def usage(subjects: Sequence[Subject]) -> list[Chart]:
    """The CPU load of both ends by size, a chart for each pattern, and below it the bandwidth.
    Raises UsageError where no row's usage is known."""
    patterns = dict.fromkeys(
        row.configuration.pattern
        for subject in subjects
        for row in subject.document.rows
        if _has_usage(row)
    )
    if not patterns:
        raise UsageError("--kind usage: no row has the resource usage of its ends")
    throughput = {chart.name: chart for chart in _bandwidths(subjects)}
    charts = []
    for pattern in patterns:

        def drawn(row: Row, pattern: str = pattern) -> bool:
            return _has_usage(row) and row.configuration.pattern == pattern

        charts.append(_chart(pattern, lines_of(subjects, drawn)))
        beside = throughput.get(slug("bandwidth", pattern))
        charts += [] if beside is None else [beside]
    return charts


def _bandwidths(subjects: Sequence[Subject]) -> list[Chart]:
    try:
        return bandwidth(subjects)
    except UsageError:
        # Empty messages have none.
        return []


def _has_usage(row: Row) -> bool:
    ends = row.usage or ()
    return row.configuration.size_known and any(known(spent.load) is not None for spent in ends)


def _chart(pattern: str, lines: Sequence[Line]) -> Chart:
    names = [*dict.fromkeys(line.name for line in lines)]
    records = [record for line in lines for record in _records(line)]
    title = f"CPU load of both ends: {pattern}"
    busiest = max(records, key=lambda each: each["y"])
    return Chart(
        name=slug("usage", pattern),
        title=title,
        lines=[
            *in_common(lines),
            _LOAD_SAYS,
        ],
        marks=[],
        view=_view(names, records),
        data={"points": records},
        text=f"{title}. Highest: {100 * busiest['y']:.0f} % ({busiest['series']}, "
        f"{busiest['end']}, {busiest['size']}).",
        drawing=Drawing(
            BYTES,
            "load",
            [
                Curve(
                    f"{name}, {end}",
                    *_columns(
                        [each for each in records if (each["series"], each["end"]) == (name, end)]
                    ),
                )
                for name in names
                for end in _ENDS
            ],
            x_is_log=True,
        ),
        height=220,
    )


def _columns(records: Sequence[Record]) -> tuple[list[float], list[float]]:
    ordered = sorted(records, key=lambda each: float(each["x"]))
    return [each["x"] for each in ordered], [each["y"] for each in ordered]


def _records(line: Line) -> list[Record]:
    if line.row.usage is None:
        return []
    return [
        {
            "series": line.name,
            "transport": line.configuration.transport,
            "key": f"{line.key} {end}",
            "end": end,
            "x": place_of_size(line.configuration.size),
            "y": spent.load,
            "kernel": known(spent.kernel_share),
            "size": size_in_words(line.configuration.size),
        }
        for end, spent in zip(_ENDS, line.row.usage, strict=True)
        if known(spent.load) is not None
    ]


def _view(names: Sequence[str], records: Sequence[Record]) -> View:
    points = visible(alt.Chart(named("points")))
    x = size_axis(each["x"] for each in records)
    top = max([1.05, *(each["y"] for each in records)])
    y = alt.Y("y:Q", scale=alt.Scale(domain=[0, top]), axis=alt.Axis(title="CPU load", format="%"))
    dashes = alt.StrokeDash(
        "end:N",
        scale=alt.Scale(domain=[*_ENDS], range=[*_DASHES]),
        legend=alt.Legend(title=None, symbolType="stroke"),
    )
    tip = [
        alt.Tooltip("series:N", title="what"),
        alt.Tooltip("end:N"),
        alt.Tooltip("size:N"),
        alt.Tooltip("y:Q", format=".1%", title="load"),
        alt.Tooltip("kernel:Q", format=".1%", title="of that in the kernel"),
    ]
    return layered(
        points.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=colour(names), strokeDash=dashes, detail="key:N"
        ),
        points.mark_point(size=30, opacity=1, filled=True).encode(
            x=x, y=y, color=colour(names), shape=shape(names), tooltip=tip
        ),
    )
