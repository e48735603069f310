"""What has changed from one run to others: ratios of times, with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import altair as alt

from halftrip.analysis.compared_run import ComparedRun, sides_of
from halftrip.analysis.comparison import Comparison
from halftrip.analysis.comparison import compare as compare_sides
from halftrip.analysis.row_change import RowChange
from halftrip.errors import UsageError
from halftrip.plots.bars import interval_says, on_log, only_size
from halftrip.plots.by_size import by_size
from halftrip.plots.chart import (
    Chart,
    Record,
    Subject,
    log_scale,
    place_of_size,
    ratio_axis,
    text,
)
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
from halftrip.report.fields import curve_name
from halftrip.results.names import Names
from halftrip.units import size_in_words

# An axis reaches at least so far from 1.
_NARROWEST = 0.05
# Rows of one size stand side by side: each this factor further right, all within the second.
_SHIFT, _MOST_SHIFTED = 1.07, 1.4
_WORDS = {"cannot tell": "not told apart"}
_TIP = (
    alt.Tooltip("series:N", title="what"),
    alt.Tooltip("size:N"),
    alt.Tooltip("figure:N", title="change"),
    alt.Tooltip("word:N", title="verdict"),
)


def compare(subjects: Sequence[Subject]) -> list[Chart]:
    """The ratio of times of each further run to the first one, or of the sides of a single one, a
    chart for each pattern. Raises UsageError for what cannot be compared."""
    found = comparisons(subjects)
    patterns = dict.fromkeys(
        row.configuration.pattern for each in found for row in each.rows if _is_drawn(row)
    )
    if not patterns:
        raise UsageError("--kind compare: no row of known size has a ratio")
    return [chart for pattern in patterns for chart in _charts(pattern, found)]


def comparisons(subjects: Sequence[Subject]) -> list[Comparison]:
    """The comparisons of the first run, or side, with each further one. Raises UsageError for what
    cannot be compared."""
    if len(subjects) == 1:
        sides = sides_of(subjects[0].document.run)
        if sides is None:
            raise UsageError("--kind compare: name two runs, BASE and NEW")
    else:
        sides = [_side(each) for each in subjects]
    try:
        return compare_sides(sides[0], sides[1:])
    except UsageError as error:
        raise UsageError(str(error).replace("; --", "; halftrip compare --")) from None


def _side(subject: Subject) -> ComparedRun:
    shown = {row.configuration for row in subject.document.rows}
    return ComparedRun.of(subject.document.run, subject.name, shown.__contains__)


def _is_drawn(row: RowChange) -> bool:
    return row.configuration.size_known and 0 < row.difference.ratio < math.inf


class _Point(NamedTuple):
    name: str
    row: RowChange


def _points(pattern: str, comparisons: Sequence[Comparison]) -> list[_Point]:
    rows = [
        (each.new.name, row)
        for each in comparisons
        for row in each.rows
        if row.configuration.pattern == pattern and _is_drawn(row)
    ]
    fields = needed(row.configuration for _, row in rows)
    several = len(comparisons) > 1
    return [
        _Point(text(curve_name(row.configuration, fields, Names({})) + (f", {new}" * several)), row)
        for new, row in rows
    ]


def _charts(pattern: str, comparisons: Sequence[Comparison]) -> list[Chart]:
    points = _points(pattern, comparisons)
    names = [*dict.fromkeys(point.name for point in points)]
    parts = by_few_sizes(points, lambda each: each.row.configuration.size, lambda each: each.name)
    return said_once([_chart(pattern, comparisons, part, names) for part in parts])


def _chart(
    pattern: str, comparisons: Sequence[Comparison], points: Sequence[_Point], names: Sequence[str]
) -> Chart:
    step = min(_SHIFT, _MOST_SHIFTED ** (1 / max(1, len(names) - 1)))
    middle = (len(names) - 1) / 2
    shifts = {name: step ** (place - middle) for place, name in enumerate(names)}
    records = [_record(point, shifts[point.name]) for point in points]
    size = only_size(records)
    if size is not None:
        # What became slower first.
        records.sort(key=lambda each: -each["y"])
    base = text(comparisons[0].base.name)
    news = text(", ".join(each.new.name for each in comparisons))
    threshold = comparisons[0].threshold
    counts = {
        word: sum(point.row.word == word for point in points)
        for word in ("slower", "faster", "same", "cannot tell")
    }
    said = ", ".join(f"{count} {_WORDS.get(word, word)}" for word, count in counts.items() if count)
    others = [
        configuration
        for each in comparisons
        for configuration in (
            *each.only_base, *each.only_new, *(refused.configuration for refused in each.refused)
        )
    ]  # fmt: skip
    alone = sum(configuration.pattern == pattern for configuration in others)
    rows = "1 row" if alone == 1 else f"{alone} rows"
    within = f"Shaded: within the threshold of {100 * threshold:g} %."
    beside = " Rows of a size stand side by side." if size is None else ""
    marks = [
        f"{interval_says(size is not None)}: 95 % interval. {within}",
        f"Hollow: not told apart.{beside}",
    ]
    ends = ends_of(records)
    reach = [*ends, 1 - _NARROWEST, 1 + _NARROWEST]
    axis = ratio_axis("ratio of times", ends)
    return by_size(
        "compare",
        pattern,
        f"Time of {news} / time of {base}",
        Points(
            records=records,
            names=names,
            axis=Axis(log_scale(reach), axis) if size is None else on_log(axis, reach, foot=1.0),
            unit="ratio",
            look=Look(size=40, hollow="datum.word === 'cannot tell'"),
            tip=_TIP,
            data={"same": [{"low": 1 / (1 + threshold), "high": 1 + threshold, "y": 1.0}]},
            levels=[Level("same", is_shaded=True)],
        ),
        text=f"Rows: {said}.",
        lines=[
            f"Rows: {said}. Above 1: slower than {base}.",
            *([f"Left out: {rows} of one run only, or that cannot be compared."] if alone else []),
        ],
        marks=marks,
        sizes=[place_of_size(point.row.configuration.size) for point in points],
        height=260,
    )


def _record(point: _Point, shift: float) -> Record:
    configuration, difference = point.row.configuration, point.row.difference
    return record(
        point.name,
        configuration.transport,
        place_of_size(configuration.size) * shift,
        (difference.ratio, difference.low, difference.high),
        f"{100 * (difference.ratio - 1):+.2g} %",
        word=point.row.word,
        size=size_in_words(configuration.size),
    )
