"""A chart: what is drawn, without its size and its colours."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import altair as alt

from halftrip.report.document import Document
from halftrip.texts import printable

# A record of a data set: texts, numbers, None. One of a transport names it as `transport`.
Record = dict[str, Any]
View = alt.Chart | alt.LayerChart
# The place of empty messages on an axis of sizes, which is logarithmic, bytes.
EMPTY = 0.5
# An axis over more decades than these has labels at powers of ten only.
_FEW_DECADES = 3
# Beside the outermost figures on a logarithmic axis there is room for this factor.
_ROOM = 1.4


class Subject(NamedTuple):
    """A run that is drawn: its name, which is that of its file, and its document."""

    name: str
    document: Document


class Curve(NamedTuple):
    """A line of figures for a terminal, which has no bands: a name, and its figures by place; NaN
    between two that are not joined."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


# The unit of message sizes in a terminal; empty messages stand at EMPTY.
BYTES = "bytes"


class Drawing(NamedTuple):
    """A chart for a terminal: the units and the kinds of both axes, and its curves; `points` are
    not joined."""

    x: str
    y: str
    curves: Sequence[Curve]
    x_is_log: bool = False
    y_is_log: bool = False
    points: bool = False


class Grid(NamedTuple):
    """A heat map for a terminal: the names of its lines and columns, and a figure for each; NaN
    where there is none."""

    names: Sequence[str]
    values: Sequence[Sequence[float]]


class Chart(NamedTuple):
    """What is drawn: `view` is an Altair chart without a size and a title, with the data sets of
    `data` by name. `lines` say what all of it has in common, and what is left out, `marks` what
    bands, bars and the like mean; `text` says what it shows to who cannot see it. `height` is in
    pixels, for a width of 640."""

    name: str
    title: str
    lines: Sequence[str]
    marks: Sequence[str]
    view: View
    data: Mapping[str, Sequence[Record]]
    text: str
    drawing: Drawing | Grid
    height: int = 300


def slug(*words: object) -> str:
    """A name for a chart, of small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(map(str, words)).lower()).strip("-")


def named(data: str) -> alt.NamedData:
    """The data set of this name."""
    return alt.NamedData(name=data)


def text(value: str) -> str:
    """A text from a run, which anybody may have written, in one line."""
    return printable(value, 200)


def layered(*layers: alt.Chart) -> View:
    """Marks on top of each other."""
    return alt.LayerChart(layer=[*layers])


def visible(chart: alt.Chart) -> alt.Chart:
    """The same without the transports that its reader has hidden."""
    return chart.transform_filter("indexof(hidden, datum.transport) < 0")


# Axes.


def log_scale(values: Iterable[float], room: float = _ROOM) -> alt.Scale:
    """A logarithmic scale for these values, and for a factor of `room` on both sides; those that
    have no place on one are left out."""
    known = [each for each in values if 0 < each < math.inf]
    if not known:
        return alt.Scale(type="log")
    return alt.Scale(type="log", domain=[min(known) / room, max(known) * room], nice=False)


def _mantissas(values: Iterable[float]) -> str:
    known = [each for each in values if 0 < each < math.inf]
    few = not known or math.log10(max(known) / min(known)) <= _FEW_DECADES
    return "[1, 2, 5]" if few else "[1]"


# Of a tick on a logarithmic axis, the power of ten at or below it.
_POWER = "pow(10, floor(log(datum.value) / LN10 + 1e-9))"


def _log_axis(title: str, label: str, values: Iterable[float]) -> alt.Axis:
    """A logarithmic axis with this expression for its labels."""
    is_labelled = f"indexof({_mantissas(values)}, round(datum.value / {_POWER})) >= 0"
    return alt.Axis(
        title=title,
        labelExpr=f"{is_labelled} ? {label} : ''",
        labelOverlap="greedy",
        labelSeparation=4,
        tickCount=8,
        gridOpacity=alt.condition(is_labelled, alt.value(1), alt.value(0.25)),
    )


def si_axis(title: str, unit: str, values: Iterable[float], is_log: bool = True) -> alt.Axis:
    """An axis in a unit with SI prefixes: ``1µs``, ``20GB/s``."""
    label = f"format(datum.value, '~s') + '{unit}'"
    if is_log:
        return _log_axis(title, label, values)
    return alt.Axis(title=title, labelExpr=label, tickCount=6)


def ratio_axis(title: str, values: Iterable[float]) -> alt.Axis:
    """A logarithmic axis of ratios."""
    return _log_axis(title, "format(datum.value, '.3~f')", values)


def time_axis(title: str, values: Iterable[float]) -> alt.Axis:
    """An axis of times in seconds."""
    return si_axis(title, "s", values)


def bandwidth_axis(title: str, values: Iterable[float]) -> alt.Axis:
    """An axis of bytes per second, 1 GB = 10^9 bytes."""
    return si_axis(title, "B/s", values)


def size_axis(sizes: Iterable[float], field: str = "x", room: float = _ROOM) -> alt.X:
    """The axis of message sizes, bytes, by powers of two, for a `field` of records, with `room`
    beside the outermost as `log_scale` has it; empty messages stand left of all."""
    known = sorted({max(each, EMPTY) for each in sizes}) or [1.0]
    low, high = (math.log2(each) for each in (max(known[0], 1.0), max(known[-1], 1.0)))
    step = max(1, math.ceil((high - low) / 12))
    first = step * math.ceil(low / step)
    ticks = [2.0**power for power in range(first, math.floor(high) + 1, step)]
    if len(ticks) < 2:
        ticks = [each for each in known if each >= 1][:12]
    if known[0] < 1:
        ticks = [EMPTY, *ticks]
    label = (
        "datum.value < 1 ? '0' : "
        "datum.value >= 1073741824 ? format(datum.value / 1073741824, '.4~r') + 'G' : "
        "datum.value >= 1048576 ? format(datum.value / 1048576, '.4~r') + 'M' : "
        "datum.value >= 1024 ? format(datum.value / 1024, '.4~r') + 'K' : "
        "format(datum.value, '.4~r')"
    )
    return alt.X(
        f"{field}:Q",
        scale=log_scale(known if len(known) > 1 else [known[0] / 2, known[0] * 2], room),
        axis=alt.Axis(
            title="message size, bytes (K, M, G: powers of 1024)",
            values=ticks,
            labelExpr=label,
            labelOverlap="greedy",
            grid=False,
        ),
    )


def place_of_size(size: int) -> float:
    """Where a size stands on that axis."""
    return float(size) if size else EMPTY


# Values for people.


def in_seconds(ns: float) -> float | None:
    """A time, ns, in s; None where it is not known."""
    return ns * 1e-9 if math.isfinite(ns) else None


def rounded(value: float) -> float:
    """A figure to be drawn, to five digits: no picture shows more, and a page would be larger."""
    return float(f"{value:.5g}")


def known(value: float | None) -> float | None:
    """A figure; None where it is not known: JSON has no other word for it."""
    return value if value is not None and math.isfinite(value) else None
