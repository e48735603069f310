"""Draws figures with intervals as points, by message size or in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from halftrip.plots.chart import Record, View, known, layered, named, visible
from halftrip.plots.series import colour, dash, fill, shape
from halftrip.plots.thinning import extremes
from halftrip.report.numbers import FARTHEST

# Of more figures, those that stand out are drawn: each has three marks or so.
_MOST_FIGURES = 1500
# The opacity of what is there only to be compared with.
_FAINT = 0.3


class Axis(NamedTuple):
    """An axis of figures; bars begin at `foot` (None: they have nowhere to begin)."""

    scale: alt.Scale
    axis: alt.Axis
    foot: float | None = 0.0


class Level(NamedTuple):
    """A line at the figure `y` of each record of this data set. `has_text`: it is dashed, and has
    the text `what`; `is_shaded`: so is what is between the figures `low` and `high`."""

    data: str
    has_text: bool = False
    is_shaded: bool = False


class Moment(NamedTuple):
    """A dashed line at the place `x` of each record of this data set, with a tooltip of this title:
    of one series, or of all."""

    data: str
    title: str
    of_series: bool = False


class Look(NamedTuple):
    """How points look: their `size`, and where they are `hollow`, an expression (None: nowhere).
    Those with the same value of the field `joined` have a line between them, with a `width`, an
    `opacity` and dashes. `has_band`: a band shows intervals, too. Figures are `faint` where that
    expression is true."""

    size: int
    hollow: str | None = None
    has_shapes: bool = True
    interval_width: float = 1.5
    joined: str | None = None
    width: float = 1.5
    opacity: float = 1.0
    dashes: Callable[[Sequence[str]], alt.StrokeDash] | None = dash
    has_band: bool = False
    faint: str | None = None


class Points(NamedTuple):
    """Figures to draw, of series with these names: see `record`. `unit` is that of the axis in a
    terminal, which is logarithmic if it `is_log`, `tip` what a tooltip shows, and `data` has what
    `levels` and `moments` are of. The field `label` names a bar, and a curve in a terminal."""

    records: Sequence[Record]
    names: Sequence[str]
    axis: Axis
    unit: str
    look: Look
    tip: Sequence[alt.Tooltip]
    is_log: bool = False
    data: Mapping[str, Sequence[Record]] = {}
    levels: Sequence[Level] = ()
    moments: Sequence[Moment] = ()
    label: str = "series"


def record(
    series: str, transport: str, x: float, figure: Sequence[float], text: str, **more: Any
) -> Record:
    """A figure with its interval, at a place, and as a `text`; ends that are not known are
    None."""
    value, low, high = figure
    made = {
        "series": series,
        "transport": transport,
        "x": x,
        "y": value,
        "low": known(low),
        "high": known(high),
        "figure": text,
        **more,
    }
    return within(made, FARTHEST)


def within(found: Record, farthest: float) -> Record:
    """The record with an interval that is drawn up to so many times its figure, and down to that
    part of it, as a wider one would set the scale for all others. An end that it goes beyond is
    `open_low` or `open_high`."""
    value, low, high = abs(found["y"]), found["low"], found["high"]
    if not value or low is None or high is None:
        return found
    least, most = value / FARTHEST if low > 0 else -farthest * value, farthest * value
    return (
        found
        | ({"low": least, "open_low": True} if low < least else {})
        | ({"high": most, "open_high": True} if high > most else {})
    )


def open_says(records: Sequence[Record]) -> list[str]:
    """What arrows mean; empty where there are none."""
    is_open = any(end in each for each in records for end in ("open_low", "open_high"))
    return ["An arrow: the interval goes on."] if is_open else []


def ends_of(records: Sequence[Record]) -> list[float]:
    """All figures, and the known ends of their intervals."""
    found = (each[name] for each in records for name in ("low", "y", "high"))
    return [each for each in found if each is not None]


def thinned(points: Points) -> tuple[Points, list[str]]:
    """The points, of many those that stand out in each stretch of a curve; and a line that says
    so."""
    records = points.records
    if len(records) <= _MOST_FIGURES:
        return points, []
    by_curve: dict[object, list[Record]] = {}
    for each in records:
        by_curve.setdefault(each[points.look.joined or points.label], []).append(each)
    kept: list[Record] = []
    for of_curve in by_curve.values():
        kept += _standing_out(of_curve, max(2, _MOST_FIGURES * len(of_curve) // len(records)))
    kept = _standing_out(kept, _MOST_FIGURES)
    said = f"{len(kept):,} of {len(records):,} figures are drawn: the lowest and the highest of "
    return points._replace(records=kept), [f"{said}each stretch."]


def _standing_out(records: Sequence[Record], most: int) -> list[Record]:
    return [records[n] for n in extremes(np.array([each["y"] for each in records]), most)]


def view_of(points: Points, x: alt.X) -> View:
    """The marks of points over this axis."""
    look, hues = points.look, colour(points.names)
    drawn = visible(alt.Chart(named("points")))
    y, low = (channel(alt.Y, points.axis, name) for name in ("y", "low"))
    layers = [*levels_of(points, alt.Y, False), *_moments(points, x, False)]
    if look.has_band:
        band = drawn.mark_area(opacity=0.22, interpolate="linear")
        layers.append(
            band.encode(
                x=x, y=low, y2=alt.Y2("high:Q"), color=hues, detail=alt.Detail(f"{look.joined}:N")
            )
        )
    if look.joined is not None:
        line = drawn.mark_line(strokeWidth=look.width, opacity=look.opacity)
        if look.faint is not None:
            line = line.encode(opacity=_opacity(look.faint, look.opacity))
        dashes = {} if look.dashes is None else {"strokeDash": look.dashes(points.names)}
        layers.append(
            line.encode(x=x, y=y, color=hues, detail=alt.Detail(f"{look.joined}:N"), **dashes)
        )
    if any(each["low"] is not None for each in points.records):
        interval = drawn.mark_rule(strokeWidth=look.interval_width)
        layers.append(interval.encode(x=x, y=low, y2=alt.Y2("high:Q"), color=hues))
        for arrow, end in arrows_of(points, alt.Y):
            layers.append(arrow.encode(x=x, y=end, color=hues))
    filled = look.hollow is None
    more: dict[str, Any] = {} if filled else {"fill": fill(points.names, look.hollow or "")}
    more |= {"shape": shape(points.names)} if look.has_shapes else {}
    mark = {"filled": True} if filled else {"strokeWidth": 1.5}
    point = drawn.mark_point(size=look.size, opacity=1, **mark)
    layers.append(point.encode(x=x, y=y, color=hues, tooltip=[*points.tip], **more))
    if look.faint is not None:
        layers[-1] = layers[-1].encode(opacity=_opacity(look.faint, 1.0))
    return layered(*layers, *_moments(points, x, True), *levels_of(points, alt.Y, True))


def _opacity(faint: str, otherwise: float) -> Any:
    return alt.condition(faint, alt.value(_FAINT), alt.value(otherwise))


def arrows_of(points: Points, kind: type[alt.X | alt.Y]) -> Iterator[tuple[alt.Chart, Any]]:
    """The marks at ends of intervals that go on, each with its place on the axis of figures."""
    shapes = (
        ("triangle-down", "triangle-up") if kind is alt.Y else ("triangle-left", "triangle-right")
    )
    for end, form in zip(("low", "high"), shapes, strict=True):
        if any(f"open_{end}" in each for each in points.records):
            drawn = visible(alt.Chart(named("points"))).transform_filter(f"datum.open_{end}")
            yield (
                drawn.mark_point(shape=form, filled=True, size=80, opacity=1),
                channel(kind, points.axis, end),
            )


def channel(kind: type[alt.X | alt.Y], axis: Axis, field: str) -> Any:
    return kind(f"{field}:Q", scale=axis.scale, axis=axis.axis)


def levels_of(points: Points, figure: type[alt.X | alt.Y], has_text: bool) -> Iterator[alt.Chart]:
    """The lines at figures, which are on this axis."""
    across, end = ("y", alt.Y2) if figure is alt.Y else ("x", alt.X2)
    for level in points.levels:
        if level.has_text != has_text or not points.data[level.data]:
            continue
        base = alt.Chart(named(level.data))
        at = {across: channel(figure, points.axis, "y")}
        if level.is_shaded:
            low = {across: channel(figure, points.axis, "low"), f"{across}2": end("high:Q")}
            yield base.mark_rect(opacity=0.5).encode(**low)
        if not has_text:
            yield base.mark_rule().encode(**at)
            continue
        yield base.mark_rule(strokeDash=[8, 4]).encode(**at, tooltip=alt.Tooltip("what:N"))
        # A text beside an upright line would stand on bars: there, it is below the title.
        if across == "y":
            text = base.mark_text(align="right", baseline="bottom", dy=-3, dx=-4)
            yield text.encode(x=alt.value("width"), **at, text=alt.Text("what:N"))


def _moments(points: Points, x: alt.X, of_series: bool) -> Iterator[alt.Chart]:
    for each in points.moments:
        if each.of_series != of_series or not points.data[each.data]:
            continue
        tip = alt.Tooltip("what:N", title=each.title)
        base = alt.Chart(named(each.data))
        if of_series:
            rule = visible(base).mark_rule(strokeDash=[3, 3], strokeWidth=1)
            yield rule.encode(x=x, color=colour(points.names), tooltip=tip)
        else:
            yield base.mark_rule(strokeDash=[3, 3]).encode(x=x, tooltip=tip)
