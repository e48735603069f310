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
# Of so many sizes, each has a label.
_MOST_SIZES = 13
# An axis over more decades than these has labels at powers of ten only.
_FEW_DECADES = 3
# An axis of less than this factor has a label at each tick.
_NARROW = 8.0
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


def curves_of(
    records: Sequence[Record],
    names: Sequence[str],
    x: str = "x",
    y: str = "y",
    label: str = "series",
    joined: str | None = None,
) -> list[Curve]:
    """A curve of the fields `x` and `y` of records for each of these names, which stand in the
    field `label`, with a gap where the field `joined` changes."""
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    last: dict[str, object] = {}
    for each in records:
        name = each[label]
        if name not in found:
            continue
        xs, ys = found[name]
        if joined is not None and last.setdefault(name, each[joined]) != each[joined]:
            xs.append(math.nan)
            ys.append(math.nan)
            last[name] = each[joined]
        xs.append(each[x])
        ys.append(each[y])
    return [Curve(name, *columns) for name, columns in found.items()]


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


class Bar(NamedTuple):
    """A bar for a terminal: its name, its figure with the interval, None where there is none, the
    figure in words, and which ends of the interval are drawn nearer than they are."""

    name: str
    value: float
    low: float | None
    high: float | None
    text: str
    is_open: tuple[bool, bool] = (False, False)


class Bars(NamedTuple):
    """Bars for a terminal, which begin at `foot`; points on a logarithmic axis where it is None."""

    foot: float | None
    bars: Sequence[Bar]


# The colours of a heat map, or its characters, are of values that differ by this factor at least.
LEAST_RANGE = 1.2


class Grid(NamedTuple):
    """A heat map for a terminal: the names of its lines, and a figure for each column; NaN where
    there is none to be, infinite where it is missing. A group begins at each of the `breaks`."""

    names: Sequence[str]
    values: Sequence[Sequence[float]]
    breaks: Sequence[int] = ()


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
    drawing: Drawing | Bars | Grid
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


def _is_labelled(values: Iterable[float]) -> str:
    """An expression: whether a tick of a logarithmic axis for these values has a label. Between few
    of them, all have one; over some decades 1, 2 and 5; over many, powers of ten."""
    known = [each for each in values if 0 < each < math.inf]
    ratio = max(known) / min(known) if known else 1.0
    if ratio <= _NARROW:
        return "true"
    mantissas = "[1, 2, 5]" if math.log10(ratio) <= _FEW_DECADES else "[1]"
    mantissa = f"datum.value / {_POWER}"
    return (
        f"(indexof({mantissas}, round({mantissa})) >= 0 && "
        f"abs({mantissa} - round({mantissa})) < 0.001)"
    )


# Of a tick on a logarithmic axis, the power of ten at or below it.
_POWER = "pow(10, floor(log(datum.value) / LN10 + 1e-9))"


def _log_axis(title: str, label: str, values: Iterable[float]) -> alt.Axis:
    """A logarithmic axis with this expression for its labels."""
    is_labelled = _is_labelled(values)
    return alt.Axis(
        title=title,
        labelExpr=f"{is_labelled} ? {label} : ''",
        labelOverlap="greedy",
        tickCount=8,
        gridOpacity=alt.condition(is_labelled, alt.value(1), alt.value(0.25)),
    )


def si_axis(title: str, unit: str, values: Iterable[float], is_log: bool = True) -> alt.Axis:
    """An axis in a unit with SI prefixes: ``1µs``, ``20GB/s``."""
    label = f"format(datum.value, '.3~s') + '{unit}'"
    if is_log:
        return _log_axis(title, label, values)
    return alt.Axis(title=title, labelExpr=label, labelOverlap="greedy", tickCount=6)


def ratio_axis(title: str, values: Iterable[float]) -> alt.Axis:
    """A logarithmic axis of ratios."""
    return _log_axis(title, "format(datum.value, '.3~f')", values)


def size_axis(sizes: Iterable[float], field: str = "x", room: float = _ROOM) -> alt.X:
    """The axis of message sizes, bytes, by powers of two, for a `field` of records, with `room`
    beside the outermost as `log_scale` has it; empty messages stand left of all."""
    known = sorted({max(each, EMPTY) for each in sizes}) or [1.0]
    ticks = known
    if len(known) > _MOST_SIZES:
        low, high = (math.log2(max(each, 1.0)) for each in (known[0], known[-1]))
        step = max(1, math.ceil((high - low) / _MOST_SIZES))
        powers = range(math.ceil(low), math.floor(high) + 1, step)
        ticks = [*known[: known[0] < 1], *(2.0**power for power in powers)]
    label = (
        "datum.value < 1 ? '0' : "
        "datum.value % 1073741824 === 0 ? datum.value / 1073741824 + 'G' : "
        "datum.value % 1048576 === 0 ? datum.value / 1048576 + 'M' : "
        "datum.value % 1024 === 0 ? datum.value / 1024 + 'K' : format(datum.value, 'd')"
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


def rounded(value: float) -> float:
    """A figure to be drawn, to five digits: no picture shows more, and a page would be larger."""
    return float(f"{value:.5g}")


def known(value: float | None) -> float | None:
    """A figure; None where it is not known: JSON has no other word for it."""
    return value if value is not None and math.isfinite(value) else None
