"""Latency, bandwidth and messages per second by message size."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import altair as alt

from halftrip.analysis.breakpoints import Breakpoint
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
    bandwidth_axis,
    known,
    layered,
    log_scale,
    named,
    place_of_size,
    si_axis,
    size_axis,
    slug,
    time_axis,
    visible,
)
from halftrip.plot.landmarks import bend_record, bends_of, bounds
from halftrip.plot.series import Line, colour, dash, fill, in_common, lines_of, shape
from halftrip.report.numbers import number
from halftrip.units import size_in_words

# Two sizes are joined if the larger is at most this many times the smaller: between others, more
# may have happened than anybody has measured.
_NEAR = 4.1
_JOINED_SAYS = (
    "Sizes at most four times apart are joined, if there is no jump between them, and none failed."
)


class _Figure(NamedTuple):
    """What a picture of curves shows: its kind and title, the figure of a row and its interval, in
    the unit of the axis, and that axis."""

    kind: str
    title: str
    of: Callable[[Row], tuple[float, float, float]]
    axis: Callable[[str, Iterable[float]], alt.Axis]
    has: Callable[[Row], bool]
    more_is_better: bool


def _latency(row: Row) -> tuple[float, float, float]:
    summary = row.summary
    return summary.latency * 1e-9, summary.low * 1e-9, summary.high * 1e-9


def _scaled(row: Row, value: float) -> tuple[float, float, float]:
    """A figure that is inverse to the time, with its interval."""
    summary = row.summary
    if row.is_over_all_time or not 0 < summary.low <= summary.latency <= summary.high:
        return value, math.nan, math.nan
    return value, value * summary.latency / summary.high, value * summary.latency / summary.low


_LATENCY = _Figure(
    "latency",
    "One-way latency",
    _latency,
    time_axis,
    lambda row: not row.configuration.is_rate,
    False,
)
_BANDWIDTH = _Figure(
    "bandwidth",
    "Bandwidth",
    lambda row: _scaled(row, row.bandwidth),
    bandwidth_axis,
    lambda row: row.bandwidth > 0,
    True,
)
_RATE = _Figure(
    "rate",
    "Message rate",
    lambda row: _scaled(row, row.rate),
    lambda title, values: si_axis(title, "/s", values),
    lambda row: row.rate > 0,
    True,
)
_TITLES = {
    "latency": "one-way latency",
    "bandwidth": "bandwidth (1 GB = 10^9 B)",
    "rate": "messages per second",
}
# What a figure is of, where the pattern leaves that open.
_MEANS = {
    "latency": "Latency: half of a round trip, where there is one.",
    "bandwidth": "Bandwidth: payload, in all directions in which it is sent at once.",
    "rate": "Messages: in all directions in which they are sent at once.",
}


def latency(subjects: Sequence[Subject]) -> list[Chart]:
    """The latencies of all rows whose result is the time of a message. Raises UsageError where
    there are none."""
    charts = _charts(subjects, _LATENCY)
    if charts:
        return charts
    raise UsageError(
        "--kind latency: no row's result is the time of a message; --kind bandwidth shows the rest"
    )


def bandwidth(subjects: Sequence[Subject]) -> list[Chart]:
    """The bandwidths of all rows. Raises UsageError where there are none."""
    charts = _charts(subjects, _BANDWIDTH)
    if charts:
        return charts
    raise UsageError("--kind bandwidth: no row has a bandwidth; --kind latency shows times")


def rate(subjects: Sequence[Subject]) -> list[Chart]:
    """The messages per second of all rows. Raises UsageError where there are none."""
    charts = _charts(subjects, _RATE)
    if charts:
        return charts
    raise UsageError("--kind rate: no row has messages per second")


def _charts(subjects: Sequence[Subject], figure: _Figure) -> list[Chart]:
    """A chart for each pattern."""

    def drawn(row: Row) -> bool:
        return row.configuration.size_known and figure.has(row) and figure.of(row)[0] > 0

    patterns = dict.fromkeys(
        row.configuration.pattern
        for subject in subjects
        for row in subject.document.rows
        if drawn(row)
    )

    def of(pattern: str) -> Callable[[Row], bool]:
        return lambda row: drawn(row) and row.configuration.pattern == pattern

    return [_chart(each, lines_of(subjects, of(each)), figure) for each in patterns]


def _chart(pattern: str, lines: Sequence[Line], figure: _Figure) -> Chart:
    names = [*dict.fromkeys(line.name for line in lines)]
    bends = bends_of(lines)
    records = _records(lines, figure, bends)
    data = {
        "points": records,
        "bends": [bend_record(*each) for each in bends],
        "bounds": bounds(lines) if figure is _LATENCY else [],
    }
    values = [value for each in records for value in (each["y"], each["low"], each["high"])]
    values += [each["y"] for each in data["bounds"]]
    known_values = [value for value in values if value is not None]
    x = size_axis(each["x"] for each in records)
    scale, axis = log_scale(known_values), figure.axis(_TITLES[figure.kind], known_values)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    title = f"{figure.title} by message size: {pattern}"
    return Chart(
        name=slug(figure.kind, pattern),
        title=title,
        lines=[*in_common(lines), *_doubts(lines, figure)],
        marks=_says(lines, figure, records, bends),
        view=_view(names, x, y, data),
        data=data,
        text=f"{title}. {_in_words(lines, figure)}",
        drawing=Drawing(BYTES, _UNITS[figure.kind], _curves(records), True, True),
    )


_UNITS = {"latency": "s", "bandwidth": "B/s", "rate": "/s"}


def _doubts(lines: Sequence[Line], figure: _Figure) -> list[str]:
    """How many points have no interval, and how many others are not to be trusted."""
    unknown = [line for line in lines if not math.isfinite(figure.of(line.row)[1])]
    bad = sum(line.row.verdict.word == "no" for line in lines if line not in unknown)
    said = []
    if unknown:
        said.append(f"{_points(len(unknown), len(lines))} no interval.")
    if bad:
        said.append(f"{_points(bad, len(lines))} the verdict no: do not rely on them.")
    return said


def _points(count: int, every: int) -> str:
    if count == every:
        return "The point has" if every == 1 else f"All {every} points have"
    return f"{count} of {every} points {'has' if count == 1 else 'have'}"


def _says(
    lines: Sequence[Line],
    figure: _Figure,
    records: Sequence[Record],
    bends: Sequence[tuple[Line, Breakpoint]],
) -> list[str]:
    """What the figures are, and what bands, bars and lines mean, as far as there are any."""
    statistics = dict.fromkeys(
        "median" if line.row.source is None else line.row.source.statistic for line in lines
    )
    said = [f"{_MEANS[figure.kind]} Points: the {' or '.join(statistics)}."]
    if any(each["low"] is not None for each in records):
        said.append("Bands and bars: its 95 % interval.")
    said = [" ".join([*said, "Hollow: the verdict no, or no interval."])]
    if len({each["piece"] for each in records}) < len(records):
        said.append(_JOINED_SAYS)
    if bends:
        said.append("Dashed and upright: where a curve bends or jumps.")
    return said


# Records.


def _records(
    lines: Sequence[Line], figure: _Figure, bends: Sequence[tuple[Line, Breakpoint]]
) -> list[Record]:
    records = []
    curves: dict[str, list[Line]] = {}
    for line in lines:
        curves.setdefault(line.key, []).append(line)
    for key, of_curve in curves.items():
        ordered = sorted(of_curve, key=lambda line: line.configuration.size)
        jumps = [each for line, each in bends if line.key == key]
        piece = 0
        for place, line in enumerate(ordered):
            if place and not _joined(ordered[place - 1], line, jumps):
                piece += 1
            records.append(_record(line, figure, f"{key}-{piece}"))
    return records


def _record(line: Line, figure: _Figure, piece: str) -> Record:
    value, low, high = figure.of(line.row)
    verdict = line.row.verdict
    has_interval = math.isfinite(low) and math.isfinite(high) and low > 0
    return {
        "series": line.name,
        "transport": line.configuration.transport,
        "x": place_of_size(line.configuration.size),
        "y": value,
        "low": known(low) if has_interval else None,
        "high": known(high) if has_interval else None,
        "piece": piece,
        "verdict": verdict.word,
        "what": line.name if line.name != line.configuration.transport else line.subject.name,
        "size": size_in_words(line.configuration.size),
        "figure": _figure_in_words(figure, value),
        "interval": " to ".join(_figure_in_words(figure, each) for each in (low, high))
        if has_interval
        else "none",
        "cause": "" if verdict.cause is None else verdict.cause.name,
    }


def _figure_in_words(figure: _Figure, value: float) -> str:
    if figure.kind == "latency":
        return f"{number(value * 1e9, 3, 1e3)} us"
    if figure.kind == "bandwidth":
        return f"{number(value, 3, 1e6)} MB/s"
    return f"{number(value, 3)} /s"


def _joined(one: Line, other: Line, jumps: Sequence[Breakpoint]) -> bool:
    """Whether a straight line between two neighbours says what is between them."""
    low, high = one.configuration.size, other.configuration.size
    if low == 0 or high > _NEAR * low:
        return False
    # One that is known less precisely is a change of slope, which lines follow.
    jumped = Breakpoint(low, high) in jumps
    failed = any(
        failure.configuration.curve == one.configuration.curve
        and low < failure.configuration.size < high
        for failure in one.subject.document.failures
    )
    return not jumped and not failed


# Marks.


def _view(
    names: Sequence[str], x: alt.X, y: Callable[[str], alt.Y], data: dict[str, list[Record]]
) -> View:
    tip = [
        alt.Tooltip("what:N", title="what"),
        alt.Tooltip("size:N", title="size"),
        alt.Tooltip("figure:N", title="figure"),
        alt.Tooltip("interval:N", title="95 %"),
        alt.Tooltip("verdict:N", title="verdict"),
        alt.Tooltip("cause:N", title="cause"),
    ]
    points = visible(alt.Chart(named("points")))
    hues = colour(names)
    layers = [
        points.mark_area(opacity=0.22, interpolate="linear").encode(
            x=x, y=y("low"), y2="high:Q", color=hues, detail="piece:N"
        ),
        points.mark_line(strokeWidth=2).encode(
            x=x, y=y("y"), color=hues, strokeDash=dash(names), detail="piece:N"
        ),
        points.mark_rule(strokeWidth=1.5).encode(x=x, y=y("low"), y2="high:Q", color=hues),
        points.mark_point(size=38, strokeWidth=1.5, opacity=1).encode(
            x=x,
            y=y("y"),
            color=hues,
            fill=fill(names, "datum.verdict === 'no'"),
            shape=shape(names),
            tooltip=tip,
        ),
    ]  # fmt: skip
    if data["bends"]:
        layers.append(
            visible(alt.Chart(named("bends")))
            .mark_rule(strokeDash=[3, 3], strokeWidth=1)
            .encode(x=x, color=hues, tooltip=alt.Tooltip("what:N", title="bend"))
        )
    if data["bounds"]:
        bound = alt.Chart(named("bounds"))
        layers.append(bound.mark_rule(strokeDash=[8, 4]).encode(y=y("y"), tooltip="what:N"))
        layers.append(
            bound.mark_text(align="right", baseline="bottom", dy=-3, dx=-4).encode(
                x=alt.value("width"), y=y("y"), text="what:N"
            )
        )
    return layered(*layers)


# For who cannot see it, and for terminals.


def _in_words(lines: Sequence[Line], figure: _Figure) -> str:
    """The best line at the smallest size and at the largest."""
    said = []
    sizes = sorted({line.configuration.size for line in lines})
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        at_size = [line for line in lines if line.configuration.size == size]
        best = (max if figure.more_is_better else min)(
            at_size, key=lambda line: figure.of(line.row)[0]
        )
        word = "highest" if figure.more_is_better else "lowest"
        said.append(
            f"{word} at {size_in_words(size)}: "
            f"{_figure_in_words(figure, figure.of(best.row)[0])} ({best.name})"
        )
    count = len({line.key for line in lines})
    curves = "1 curve" if count == 1 else f"{count} curves"
    return f"{curves}; {'; '.join(said)}."


def _curves(records: Sequence[Record]) -> list[Curve]:
    found: dict[str, tuple[list[float], list[float], str]] = {}
    for each in records:
        x, y, piece = found.setdefault(each["series"], ([], [], each["piece"]))
        if x and piece != each["piece"]:
            x.append(math.nan)
            y.append(math.nan)
        x.append(each["x"])
        y.append(each["y"])
        found[each["series"]] = x, y, each["piece"]
    return [Curve(name, x, y) for name, (x, y, _) in found.items()]
