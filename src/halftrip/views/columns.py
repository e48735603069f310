"""The columns of tables of rows: of figures, as `analysis.figures` has them, and of several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE, Figure, TableKind
from halftrip.analysis.figures import BY_NAME, FIGURES
from halftrip.analysis.rows import Row
from halftrip.render.blocks import Column
from halftrip.report.fields import Field
from halftrip.report.numbers import NOTHING, digits_of, in_unit, number, width_of
from halftrip.results.configuration import Configuration
from halftrip.units import format_size

_LAUNCHES_SAY = (
    "95 %: over the medians of launches (of two to five, Student's t of their logarithms); "
    "between: by how much launches differ beyond that, within: slices of one; standard "
    "deviations, 0 where nothing is left."
)


def one_way_times(rtt: bool) -> Callable[[Row], float]:
    """How many one-way times a row shows as its time: with `rtt` those of a round trip, else 1."""

    def times(row: Row) -> float:
        configuration = row.configuration
        return configuration.messages_per_iteration if rtt and not configuration.has_window else 1

    return times


def is_round_trip(row: Row) -> bool:
    """Whether an iteration of this row is a round trip."""
    return row.configuration.is_in_turn


def column(name: str, times: Callable[[Row], float] | None = None, **changes: Any) -> Column:
    """The column of a figure, but for these `changes` of how it is `Shown`; so many `times` it."""
    figure = BY_NAME[name]
    shown = figure.shown._replace(**changes)

    def value(row: Row) -> Any:
        found = figure.value(row)
        return found if times is None or found is None else found * times(row)

    made = figure_column(figure._replace(of=value, shown=shown))
    if "heading" in changes:
        unit = name.rpartition("_")[2]
        return made._replace(key=f"{shown.heading.replace(' ', '_')}_{unit}")
    return made


def figure_column(figure: Figure[Any]) -> Column:
    """The column of a figure of whatever has a line; only of a row an interval says how many digits
    it has."""
    heading, unit, rank, digits, is_rare, says, *_ = figure.shown
    is_text = figure.type == "text"

    def cell(of: Any) -> str:
        value = figure.value(of)
        if is_text:
            return value or ""
        return in_unit(value, unit, digits_of(of, figure.shown.most) if digits is None else digits)

    return Column(heading, unit, cell, is_text, is_rare, rank, says, figure.name, figure.value)


def columns_of(
    figures: Iterable[Figure[Any]],
    first: Sequence[str | Column],
    made: Callable[[Figure[Any]], Column] = figure_column,
) -> tuple[Column, ...]:
    """The `first` columns, of which those of figures stand by name, then those of all others of
    these figures that are shown; each is `made` of a figure."""
    own = {each.name: each for each in figures if each.shown.heading}
    named = (*first, *(name for name in own if name not in first))
    return tuple(each if isinstance(each, Column) else made(own[each]) for each in named)


def _of_table(kind: TableKind) -> list[Figure[Row]]:
    return [each for each in FIGURES if kind in each.shown.tables]


def _samples(row: Row) -> str:
    times = f" x{row.iterations}" if row.iterations > 1 else ""
    return f"{row.summary.samples:,}{times}"


def _core_to_core(row: Row) -> str:
    if row.core_to_core_rtt is None:
        return NOTHING
    low, high = row.core_to_core_rtt
    return f"{low:.0f}" if high <= 1.1 * low else f"{low:.0f} to {high:.0f}"


def _interval(row: Row, low: float, high: float, scale: float) -> str:
    """The ends of the interval of a row, or that it is wider than the figure."""
    if 1 <= row.verdict.width < math.inf:
        return width_of(row.verdict.width)
    ends = [number(each, digits_of(row) + 1, scale) for each in (low, high)]
    return NOTHING if NOTHING in ends else " to ".join(ends)


_STATED_DIGITS = 5
_STATED_SAYS = "as stated: the interval that the source states; other columns have it at 95 %."


def _stated(of: Callable[[Row, float], float], scale: float) -> Column:
    """The interval that a source states; `of` is the figure of a row by the time of a message."""

    def cell(row: Row) -> str:
        if row.stated is None:
            return NOTHING
        ends = sorted(of(row, each) for each in (row.stated.low, row.stated.high))
        said = " to ".join(number(each, _STATED_DIGITS, scale) for each in ends)
        return f"{said} ({100 * row.stated.level:g} %)"

    return Column("as stated", "MB/s" if scale == 1e6 else "us", cell, rank=MORE, says=_STATED_SAYS)


def _bandwidth_by(row: Row, time: float) -> float:
    return row.bandwidth * row.summary.latency / time if time else math.nan


# A field that all tables have, where lines differ in it.
TRANSPORT = Field("transport", lambda each: each.transport)


def setting_column(
    field: Field, of: Callable[[Any], Configuration] = lambda line: line.configuration
) -> Column:
    """The column of a field in which lines differ; `of` gives the configuration of a line."""
    return Column(field.name, "", lambda line: field.of(of(line)), is_text=True, rank=ALWAYS)


SIZE = Column(
    "size",
    "bytes",
    lambda row: format_size(row.configuration.known_size),
    rank=ALWAYS,
    value=lambda row: row.configuration.known_size,
)
_WIDTH = Column("95 %", "", lambda row: width_of(row.verdict.width), rank=ALWAYS)
_SAMPLES = Column("samples", "", _samples, rank=MORE + 2)
_CORE_TO_CORE = Column(
    "core-to-core",
    "ns",
    _core_to_core,
    rank=MORE + 1,
    says="core-to-core: a cache line to the other core and back, lowest to highest in the row.",
)


def latency_columns(rtt: bool) -> tuple[Column, ...]:
    """The columns of patterns whose result is the time of a message: one way, or with `rtt` the
    round trip."""
    times = one_way_times(rtt)

    def interval(row: Row) -> str:
        factor, summary = times(row), row.summary
        return _interval(row, summary.low * factor, summary.high * factor, 1e3)

    def made(figure: Figure[Any]) -> Column:
        changes = {"heading": "round trip"} if rtt and figure.name == "latency_ns" else {}
        return column(figure.name, times if figure.shown.doubles else None, **changes)

    interval_column = Column("95 % interval", "us", interval, rank=MORE + 4)
    stated = _stated(lambda row, time: times(row) * time, 1e3)
    first = (SIZE, "latency_ns", "state", _WIDTH, interval_column, stated, "adjusted_latency_ns")
    return (
        *columns_of(_of_table("latency"), first, made),
        Column("clock error", "us", _clock_error, rank=MORE + 4),
        _SAMPLES,
        _CORE_TO_CORE,
    )


def _clock_error(row: Row) -> str:
    return NOTHING if row.known_one_way is None else number(row.known_one_way.error, 2, 1e3)


def _bandwidth_interval(row: Row) -> str:
    if not row.bandwidth > 0:
        return NOTHING
    bandwidth = row.over_time(row.bandwidth)
    return _interval(row, bandwidth.low, bandwidth.high, 1e6)


def _width_of_rate(row: Row) -> str:
    return NOTHING if row.is_over_all_time else width_of(row.verdict.width)


def _each_way(row: Row) -> str:
    if row.each_way is None:
        return NOTHING
    return " + ".join(number(way, 3, 1e6) for way in row.each_way)


def _of_window(row: Row) -> float:
    return row.configuration.messages_per_iteration


# For patterns whose result is a bandwidth.
_RATE_FIRST = (
    SIZE,
    "total_bandwidth_bytes_per_s",
    "state",
    Column("95 %", "", _width_of_rate, rank=ALWAYS),
    Column("95 % interval", "MB/s", _bandwidth_interval, rank=MORE + 4),
    _stated(_bandwidth_by, 1e6),
)
RATE_COLUMNS = (
    *columns_of(_of_table("rate"), _RATE_FIRST),
    Column("each way", "MB/s", _each_way),
    column("p99_ns", _of_window, heading="window p99", rank=MORE + 3),
    column("max_ns", _of_window, rank=MORE + 5),
    column("first_message_ns", _of_window, heading="first window", rank=MORE + 5),
    _SAMPLES,
    _CORE_TO_CORE,
)


def _share(name: str) -> Callable[[Row], str]:
    """So many of the datagrams."""

    def cell(row: Row) -> str:
        if row.delivery is None or not row.delivery.sent:
            return NOTHING
        return number(100 * getattr(row.delivery, name) / row.delivery.sent, 2)

    return cell


def _component(name: str) -> Callable[[Row], str]:
    return lambda row: (
        NOTHING if row.components is None else number(100 * getattr(row.components, name), 2)
    )


# Of datagrams, which can be lost.
_DELIVERY_FIRST = (
    "sent",
    Column("lost", "%", _share("lost"), rank=BRIEF),
    Column("reordered", "%", _share("reordered")),
)
DELIVERY_COLUMNS = columns_of(_of_table("delivery"), _DELIVERY_FIRST)
# Of several launches.
LAUNCH_COLUMNS = (
    Column("launches", "", lambda row: str(row.launches)),
    Column("between", "%", _component("between"), says=_LAUNCHES_SAY),
    Column("within", "%", _component("within")),
)
VERIFIED = column("verified")
VERDICT = column("verdict")
CAUSE = column("cause")
