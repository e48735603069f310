"""Draws figures of one message size as bars, or as points where bars could not be seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from halftrip.plots.chart import Bar, Bars, Record, View, layered, log_scale, named, visible
from halftrip.plots.points import Axis, Points, arrows_of, channel, levels_of, within
from halftrip.plots.series import colour, fill

# On a linear axis, an interval is drawn up to so many times its figure.
_FARTHEST_ON_LINEAR = 4.0
# The longest of bars that can be seen is at most so many times the shortest.
_SEEN = 20.0
# Behind the longest bar, its text needs this share of what the bars take.
_TEXT_SHARE = 0.3
# Pixels of the longest name of a bar, of a letter, and of a chart on a narrow page.
_LONGEST_NAME, _LETTER, _NARROW = 320, 6.5, 340


def for_bars(records: Sequence[Record]) -> list[Record]:
    """The records with intervals that leave the bars of others visible on a linear axis."""
    return [within(each, _FARTHEST_ON_LINEAR) for each in records]


def only_size(records: Sequence[Record], label: str = "series") -> str | None:
    """The `size` that all records have, where bars can show them; None where they have several, or
    where two have the same label."""
    sizes = {each["size"] for each in records}
    labels = {each[label] for each in records}
    return next(iter(sizes)) if len(sizes) == 1 and len(labels) == len(records) else None


def interval_says(is_bars: bool, marks: str = "Bars") -> str:
    """The marks that are intervals: in a chart of points, they are these."""
    return "Lines at the ends of bars" if is_bars else marks


def from_zero(axis: alt.Axis, values: Sequence[float], records: Sequence[Record] = ()) -> Axis:
    """A linear axis for bars of these values, with room for the texts of these `records`."""
    low, high = min([0.0, *values]), max([0.0, *values])
    span = high - low or 1.0
    most = high + _share_of_texts(records) * span
    return Axis(alt.Scale(domain=[low * 1.05, most], nice=False), axis)


def on_log(
    axis: alt.Axis,
    values: Sequence[float],
    records: Sequence[Record] = (),
    foot: float | None = None,
) -> Axis:
    """The same as a logarithmic axis, for points, or for bars that begin at `foot`; values that
    have no place on one are left out."""
    known = [each for each in values if each > 0]
    most = max(known) * (max(known) / min(known)) ** _share_of_texts(records)
    return Axis(log_scale([*known, most]), axis, foot)


def are_far_apart(records: Sequence[Record]) -> bool:
    """Whether the bars of some would be too short to be seen beside the longest."""
    figures = [each["y"] for each in records]
    return bool(min(figures) * _SEEN < max(figures))


def _share_of_texts(records: Sequence[Record]) -> float:
    """The room for texts behind the longest bar as a share of what the bars take, on a narrow page,
    too, where long names leave little."""
    if not records:
        return _TEXT_SHARE
    name, text = (_LETTER * max(len(each[of]) for each in records) for of in ("series", "figure"))
    room = _NARROW - min(name, _LONGEST_NAME) - text
    return min(1.0, max(_TEXT_SHARE, text / max(room, text)))


def bars_view(points: Points) -> View:
    """A bar for each figure, with its interval across its end and its text behind both; a point
    where bars have nowhere to begin."""
    axis, look, label = points.axis, points.look, points.label
    names = [each[label] for each in points.records]
    drawn = visible(alt.Chart(named("points")))
    y = alt.Y(
        f"{label}:N",
        sort=names,
        axis=alt.Axis(title=None, labelLimit=_LONGEST_NAME, ticks=False, grid=axis.foot is None),
    )
    x, low, high = (channel(alt.X, axis, name) for name in ("y", "low", "high"))
    hues = colour(points.names, has_legend=False)
    filled: dict[str, Any] = {"color": hues}
    if look.hollow is not None:
        filled = {"stroke": hues, "fill": fill(points.names, look.hollow, has_legend=False)}
    at = {"x": x, "y": y, "tooltip": [*points.tip], **filled}
    if axis.foot is None:
        mark = drawn.mark_point(size=90, opacity=1, filled=look.hollow is None).encode(**at)
    else:
        bar = drawn.mark_bar(height=alt.RelativeBandSize(0.6), fillOpacity=0.7, strokeWidth=1.5)
        mark = bar.encode(x2=alt.X2Datum(axis.foot), **at)
    layers = [*levels_of(points, alt.X, False)]
    if axis.foot is not None:
        layers.append(mark)
    interval = drawn.transform_filter("datum.low !== null && datum.high !== null")
    layers += [
        interval.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2("high:Q"), y=y),
        *(
            interval.mark_tick(thickness=2, size=12, opacity=1).encode(x=end, y=y)
            for end in (low, high)
        ),
    ]
    layers += [arrow.encode(x=end, y=y, color=hues) for arrow, end in arrows_of(points, alt.X)]
    if axis.foot is None:
        # On top of its interval.
        layers.append(mark)
    text = drawn.transform_calculate(end=f"max({axis.foot or 0}, datum.y, datum.high)")
    layers.append(
        text.mark_text(
            align="left", baseline="middle", dx=6 if axis.foot is not None else 9
        ).encode(x=channel(alt.X, axis, "end"), y=y, text=alt.Text("figure:N"))
    )
    return layered(*layers, *levels_of(points, alt.X, True))


def terminal_bars(points: Points) -> Bars:
    found = [
        Bar(
            each[points.label],
            each["y"],
            each["low"],
            each["high"],
            each["figure"],
            ("open_low" in each, "open_high" in each),
        )
        for each in points.records
    ]
    return Bars(points.axis.foot, found)
