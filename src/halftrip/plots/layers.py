"""What each layer of software adds to the one below it, by message size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt

from halftrip.errors import UsageError
from halftrip.plots.bars import for_bars, from_zero, interval_says, only_size
from halftrip.plots.by_size import by_size
from halftrip.plots.chart import Chart, Record, Subject, known, place_of_size, si_axis, text
from halftrip.plots.parts import by_few_sizes, said_once
from halftrip.plots.points import (
    Axis,
    Level,
    Look,
    Points,
    ends_of,
    record,
)
from halftrip.plots.series import needed
from halftrip.units import size_in_words
from halftrip.views.layers import Added, above, added, below

# Around 0 the axis is linear, up to about this time, s.
_LINEAR = 1e-8
_TIP = (
    alt.Tooltip("series:N", title="what"),
    alt.Tooltip("size:N"),
    alt.Tooltip("y:Q", format="+.3s", title="adds, s"),
    alt.Tooltip("ratio:Q", format=".3~f", title="ratio of times"),
)


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
        chart
        for pattern in patterns
        for chart in _charts(
            pattern, [both for both in every if both[1].configuration.pattern == pattern]
        )
    ]


class _Layer(NamedTuple):
    name: str
    added: Added


def _charts(pattern: str, every: Sequence[tuple[Subject, Added]]) -> list[Chart]:
    fields = needed(each.configuration for _, each in every)
    several = len({subject.name for subject, _ in every}) > 1

    def name(subject: Subject, each: Added) -> str:
        run = f", {subject.name}" if several else ""
        return text(f"{above(each, fields)} over {below(each)}{run}")

    found = [_Layer(name(*each), each[1]) for each in every]
    names = [*dict.fromkeys(each.name for each in found)]
    parts = by_few_sizes(found, lambda each: each.added.size, lambda each: each.name)
    return said_once([_chart(pattern, part, names) for part in parts])


def _chart(pattern: str, found: Sequence[_Layer], names: Sequence[str]) -> Chart:
    records = [_record(each.name, each.added) for each in found]
    size = only_size(records)
    records = records if size is None else for_bars(records)
    linear = si_axis("added to the time of a message", "s", [], is_log=False)
    ends = ends_of(records)
    marks = [f"{interval_says(size is not None)}: 95 % interval, from those of both."]
    if size is None:
        marks.append(f"The axis is linear around 0, up to about {_LINEAR * 1e9:g} ns.")
    said = (f"{each['series']} at {each['size']}: {each['figure']}" for each in records[:8])
    return by_size(
        "layers",
        pattern,
        "What each layer adds to the time of a message",
        Points(
            records=records,
            names=names,
            axis=_axis(linear, ends) if size is None else from_zero(linear, ends),
            unit="s",
            look=Look(size=36, joined="series", opacity=0.6),
            tip=_TIP,
            data={"zero": [{"y": 0.0}]},
            levels=[Level("zero")],
        ),
        text="; ".join(said) + ".",
        lines=["Over the layer below, in all else alike."],
        marks=marks,
        height=280,
    )


def _record(name: str, each: Added) -> Record:
    cost = each.cost.scaled(1e-6)
    return record(
        name,
        each.configuration.transport,
        place_of_size(each.size),
        cost,
        f"{cost.value * 1e6:+.3g} us",
        size=size_in_words(each.size),
        ratio=known(each.ratio.value),
    )


def _axis(linear: alt.Axis, ends: Sequence[float]) -> Axis:
    """An axis that is linear around 0, and logarithmic on both sides of it."""
    most = max(abs(each) for each in ends)
    decades = range(-8, math.ceil(math.log10(max(most, 10 * _LINEAR))) + 1)
    ticks = [sign * 10.0**power for power in decades for sign in (-1, 1)]
    low, high = min(ends), max(ends)
    shown = [each for each in ticks if 10 * min(low, 0) <= each <= 10 * max(high, 0)]
    labels = linear.to_dict()
    axis = alt.Axis(
        title=labels["title"], labelExpr=labels["labelExpr"], values=sorted([0.0, *shown])
    )
    return Axis(alt.Scale(type="symlog", constant=_LINEAR), axis)
