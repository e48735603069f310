"""Who talks how fast with whom: a heat map of all pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from halftrip.errors import UsageError
from halftrip.plots.chart import Chart, Grid, Record, Subject, View, layered, named, slug, text
from halftrip.report.numbers import number
from halftrip.results.configuration import Configuration
from halftrip.views.matrix import Matrix, by_setting

# Of each transport and pattern, the smallest and the largest of more sizes than these.
_MOST_SIZES = 2
# Figures stand in the fields of so many hosts or fewer.
_MOST_WITH_FIGURES = 12
_FIELD, _LEAST, _MOST = 44, 160, 620
_HALF = 0.5


def pairs(subjects: Sequence[Subject]) -> list[Chart]:
    """A heat map for each configuration that several pairs have measured. Raises UsageError where
    there is none."""
    charts = []
    for run, subject in enumerate(subjects):
        every = [each for each in by_setting(subject.document) if len(each[1][0].values) > 1]
        chosen = _outermost(every)
        made = [
            _chart(subject, slug("pairs", run, place), matrices[0])
            for place, (_, matrices) in enumerate(chosen)
        ]
        if len(chosen) < len(every):
            said = (
                f"{len(chosen)} of {len(every)} configurations are drawn, of the smallest and the "
                "largest messages; choose others with -s."
            )
            made[0] = made[0]._replace(lines=[*made[0].lines, said])
        charts += made
    if not charts:
        raise UsageError(
            "--kind pairs: one pair has been measured; --pairs all measures all of them"
        )
    return charts


def _outermost(
    every: Sequence[tuple[Configuration, Sequence[Matrix]]],
) -> list[tuple[Configuration, Sequence[Matrix]]]:
    """Of each curve, the settings of the smallest and the largest size."""
    curves: dict[Configuration, list[tuple[Configuration, Sequence[Matrix]]]] = {}
    for each in every:
        curves.setdefault(each[0].curve, []).append(each)
    found = []
    for of_curve in curves.values():
        ordered = sorted(of_curve, key=lambda each: each[0].size)
        found += ordered if len(ordered) <= _MOST_SIZES else [ordered[0], ordered[-1]]
    return found


def _chart(subject: Subject, name: str, matrix: Matrix) -> Chart:
    (one, other), slowest = max(matrix.values.items(), key=lambda each: matrix.slowness(each[1]))
    factor = matrix.slowness(slowest)
    unit = matrix.figure.unit
    said = (
        f"Slowest: {text(one)} and {text(other)}, {number(slowest)} {unit}, {number(factor)} times "
        "as slow as the median pair."
    )
    title, what = map(text, matrix.title.rsplit(": ", 1))
    return Chart(
        name=name,
        title=f"All pairs: {title}",
        lines=[f"{what}. run {subject.name}", said, *filter(None, [matrix.state])],
        marks=["Framed: the slowest pair. Blank: not measured."],
        view=_view(matrix),
        data={"pairs": _records(matrix)},
        text=f"All pairs of {len(matrix.hosts)}: {title}. {said}",
        drawing=Grid([*map(text, matrix.hosts)], _grid(matrix)),
        height=max(_LEAST, min(_MOST, _FIELD * len(matrix.hosts))),
    )


def _records(matrix: Matrix) -> list[Record]:
    names = {host: text(host) for host in matrix.hosts}
    worst = max(map(matrix.slowness, matrix.values.values()))
    return [
        {
            "one": names[here],
            "other": names[there],
            "slowness": matrix.slowness(value),
            "figure": f"{number(value)} {matrix.figure.unit}",
            "short": number(value, 2),
            "is_worst": matrix.slowness(value) == worst,
            "is_dark": _position(matrix, value) > _HALF,
        }
        for pair, value in matrix.values.items()
        for here, there in (pair, pair[::-1])
    ]


def _top(matrix: Matrix) -> float:
    """The slowness at the end of the colours."""
    return max(1.2, *map(matrix.slowness, matrix.values.values()))


def _least(matrix: Matrix) -> float:
    """The slowness at their beginning."""
    return min(1.0, *map(matrix.slowness, matrix.values.values()))


def _position(matrix: Matrix, value: float) -> float:
    """Where a value is between both, from 0 to 1."""
    span = math.log(_top(matrix) / _least(matrix))
    return math.log(matrix.slowness(value) / _least(matrix)) / span


def _grid(matrix: Matrix) -> list[list[float]]:
    def cell(one: str, other: str) -> float:
        value = None if one == other else matrix.between(one, other)
        return math.nan if value is None else matrix.slowness(value)

    return [[cell(one, other) for other in matrix.hosts] for one in matrix.hosts]


def _view(matrix: Matrix) -> View:
    names = [*map(text, matrix.hosts)]
    scale = alt.Scale(type="log", domain=[_least(matrix), _top(matrix)], nice=False)

    def axis(title: str) -> alt.Axis:
        return alt.Axis(title=title, labelOverlap="greedy", labelAngle=0, labelLimit=120)

    hues = alt.Color(
        "slowness:Q",
        scale=scale,
        legend=alt.Legend(
            title=["times as slow as", "the median pair"],
            format=".2~f",
            values=[_least(matrix), 1.0, _top(matrix)],
        ),
    )
    x = alt.X("other:N", sort=names, scale=alt.Scale(domain=names), axis=axis(""))
    y = alt.Y("one:N", sort=names, scale=alt.Scale(domain=names), axis=axis(""))
    base = alt.Chart(named("pairs"))
    tip = [
        alt.Tooltip("one:N", title="one"),
        alt.Tooltip("other:N", title="other"),
        alt.Tooltip("figure:N", title="figure"),
        alt.Tooltip("slowness:Q", format=".3~f", title="times as slow"),
    ]
    marks = [
        base.mark_rect(stroke=None).encode(x=x, y=y, color=hues, tooltip=tip),
        base.transform_filter("datum.is_worst")
        .mark_rect(filled=False, strokeWidth=2, color="#0072B2")
        .encode(x=x, y=y),
    ]
    if len(names) <= _MOST_WITH_FIGURES:
        marks.append(
            base.mark_text(fontSize=10).encode(
                x=x,
                y=y,
                text="short:N",
                color=alt.condition("datum.is_dark", alt.value("#FFFFFF"), alt.value("#1B1F24")),
            )
        )
    return layered(*marks)
