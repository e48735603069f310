"""What each layer of software adds to the one below it, by message size."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from halftrip.errors import UsageError
from halftrip.plot.chart import (
    BYTES,
    Chart,
    Drawing,
    Record,
    Subject,
    View,
    curves_of,
    known,
    layered,
    named,
    place_of_size,
    si_axis,
    size_axis,
    slug,
    text,
    visible,
)
from halftrip.plot.series import colour, dash, needed, shape
from halftrip.units import size_in_words
from halftrip.views.layers import Added, above, added, below

# Around 0 the axis is linear, up to about this time, s.
_LINEAR = 1e-8


def layers(subjects: Sequence[Subject]) -> list[Chart]:
    """What each layer adds to the time of a message, a chart for each pattern. Raises UsageError
    where no row has a layer below it."""
    every = [(subject, each) for subject in subjects for each in added(subject.document)]
    every = [(subject, each) for subject, each in every if math.isfinite(each.cost.value)]
    patterns = dict.fromkeys(each.configuration.pattern for _, each in every)
    if not patterns:
        raise UsageError(
            "--kind layers: no transport here is built on another one that was measured alike; "
            "halftrip run -t mpi,mpi4py measures two"
        )
    return [
        _chart(pattern, [both for both in every if both[1].configuration.pattern == pattern])
        for pattern in patterns
    ]


def _chart(pattern: str, every: Sequence[tuple[Subject, Added]]) -> Chart:
    fields = needed(each.configuration for _, each in every)
    several = len({subject.name for subject, _ in every}) > 1

    def name(subject: Subject, each: Added) -> str:
        run = f", {subject.name}" if several else ""
        return text(f"{above(each, fields)} over {below(each)}{run}")

    records = [_record(name(subject, each), each) for subject, each in every]
    names = [*dict.fromkeys(each["series"] for each in records)]
    title = f"What each layer adds to the time of a message: {pattern}"
    return Chart(
        name=slug("layers", pattern),
        title=title,
        lines=[
            "Over the layer below, in all else alike.",
        ],
        marks=[
            "Bars: 95 % interval, from those of both.",
            f"The axis is linear around 0, up to about {_LINEAR * 1e9:g} ns.",
        ],
        view=_view(names, records),
        data={"points": records, "zero": [{"y": 0.0}]},
        text=f"{title}. " + "; ".join(_in_words(each) for each in records[:8]) + ".",
        drawing=Drawing(
            BYTES,
            "s",
            curves_of(records, names),
            x_is_log=True,
        ),
        height=280,
    )


def _in_words(record: Record) -> str:
    return f"{record['series']} at {record['size']}: {record['y'] * 1e6:+.3g} us"


def _record(name: str, each: Added) -> Record:
    cost = each.cost.scaled(1e-6)
    return {
        "series": name,
        "transport": each.configuration.transport,
        "x": place_of_size(each.size),
        "y": cost.value,
        "low": known(cost.low),
        "high": known(cost.high),
        "size": size_in_words(each.size),
        "ratio": known(each.ratio.value),
    }


def _view(names: Sequence[str], records: Sequence[Record]) -> View:
    ends = [each[end] for each in records for end in ("low", "y", "high") if each[end] is not None]
    most = max(abs(each) for each in ends)
    decades = range(-8, math.ceil(math.log10(max(most, 10 * _LINEAR))) + 1)
    ticks = [sign * 10.0**power for power in decades for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    shown = [each for each in ticks if 10 * min(low, 0) <= each <= 10 * max(high, 0)]
    scale = alt.Scale(type="symlog", constant=_LINEAR)
    labels = si_axis("added to the time of a message", "s", [], is_log=False).to_dict()
    axis = alt.Axis(
        title=labels["title"], labelExpr=labels["labelExpr"], values=sorted([0.0, *shown])
    )
    x = size_axis(each["x"] for each in records)
    points = visible(alt.Chart(named("points")))
    hues = colour(names)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale, axis=axis)

    tip = [
        alt.Tooltip("series:N", title="what"),
        alt.Tooltip("size:N"),
        alt.Tooltip("y:Q", format="+.3s", title="adds, s"),
        alt.Tooltip("ratio:Q", format=".3~f", title="ratio of times"),
    ]
    return layered(
        alt.Chart(named("zero")).mark_rule().encode(y=y("y")),
        points.mark_line(strokeWidth=1.5, opacity=0.6).encode(
            x=x, y=y("y"), color=hues, strokeDash=dash(names)
        ),
        points.mark_rule(strokeWidth=1.5).encode(x=x, y=y("low"), y2="high:Q", color=hues),
        points.mark_point(size=36, opacity=1, filled=True).encode(
            x=x, y=y("y"), color=hues, shape=shape(names), tooltip=tip
        ),
    )
