"""The columns of tables of rows: of figures, as `analysis.figures` has them, and of several."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE, Figure, Of
from halftrip.analysis.figures import BY_NAME
from halftrip.analysis.rows import Row
from halftrip.render.blocks import Column
from halftrip.report.fields import Field
from halftrip.report.numbers import NOTHING, USUAL_DIGITS, digits_of, in_unit, number, width_of
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
        return configuration.messages_per_iteration if rtt and configuration.window == 1 else 1

    return times


def is_round_trip(row: Row) -> bool:
    """Whether an iteration of this row is a round trip."""
    return row.configuration.is_in_turn


def column(
    name: str,
    times: Callable[[Row], float] | None = None,
    digits: Callable[[Row], int] | None = None,
    **changes: Any,
) -> Column:
    """The column of a figure, but for these `changes` of how it is `Shown`; so many `times` it."""
    figure = BY_NAME[name]
    shown = figure.shown._replace(**changes)
    if digits is None and shown.digits is None:
        digits = digits_of

    def value(row: Row) -> Any:
        found = figure.value(row)
        return found if times is None or found is None else found * times(row)

    made = figure_column(figure._replace(of=value, shown=shown), digits)
    if "heading" in changes:
        unit = name.rpartition("_")[2]
        return made._replace(key=f"{shown.heading.replace(' ', '_')}_{unit}")
    return made


def figure_column(figure: Figure[Of], digits: Callable[[Of], int] | None = None) -> Column:
    """The column of a figure of whatever has a line, with so many `digits`, if that depends on the
    line."""
    heading, unit, rank, usual, is_rare, says = figure.shown
    is_text = figure.type == "text"

    def cell(of: Of) -> str:
        value = figure.value(of)
        if is_text:
            return value or ""
        return in_unit(value, unit, (usual or USUAL_DIGITS) if digits is None else digits(of))

    return Column(heading, unit, cell, is_text, is_rare, rank, says, figure.name, figure.value)


def _few_digits(row: Row) -> int:
    return digits_of(row, 4)


def _samples(row: Row) -> str:
    times = f" x{row.iterations}" if row.iterations > 1 else ""
    return f"{row.summary.samples:,}{times}"


def _core_to_core(row: Row) -> str:
    if row.core_to_core_rtt is None:
        return NOTHING
    low, high = row.core_to_core_rtt
    return f"{low:.0f}" if high <= 1.1 * low else f"{low:.0f} to {high:.0f}"


def _between(low: str, high: str) -> str:
    return NOTHING if NOTHING in (low, high) else f"{low} to {high}"


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
_STATE = column("state")
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
        ends = (end * times(row) for end in (row.summary.low, row.summary.high))
        return _between(*(number(end, digits_of(row) + 1, 1e3) for end in ends))

    return (
        SIZE,
        column("latency_ns", times, heading="round trip" if rtt else "latency"),
        _STATE,
        _WIDTH,
        Column("95 % interval", "us", interval, rank=MORE + 4),
        column("adjusted_latency_ns", times),
        column("p99_ns", times),
        column("max_ns", times),
        column("bandwidth_bytes_per_s", digits=_few_digits),
        column("first_message_ns", times),
        column("there_ns"),
        column("back_ns"),
        Column("clock error", "us", _clock_error, rank=MORE + 4),
        _SAMPLES,
        _CORE_TO_CORE,
    )


def _clock_error(row: Row) -> str:
    return NOTHING if row.known_one_way is None else number(row.known_one_way.error, 2, 1e3)


def _bandwidth_interval(row: Row) -> str:
    if not row.summary.bandwidth > 0 or row.is_over_all_time:
        return NOTHING
    # From the interval of the initiator's times, for the bandwidth of all directions.
    size = row.configuration.payload * row.delivered * row.bandwidth / row.summary.bandwidth
    ends = [size / ns * 1e9 if ns > 0 else math.nan for ns in (row.summary.high, row.summary.low)]
    return _between(*(number(end, digits_of(row) + 1, 1e6) for end in ends))


def _width_of_rate(row: Row) -> str:
    return NOTHING if row.is_over_all_time else width_of(row.verdict.width)


def _each_way(row: Row) -> str:
    if row.each_way is None:
        return NOTHING
    return " + ".join(number(way, 3, 1e6) for way in row.each_way)


def _of_window(row: Row) -> float:
    return row.configuration.messages_per_iteration


# For patterns whose result is a bandwidth.
RATE_COLUMNS = (
    SIZE,
    column("total_bandwidth_bytes_per_s"),
    _STATE,
    Column("95 %", "", _width_of_rate, rank=ALWAYS),
    Column("95 % interval", "MB/s", _bandwidth_interval, rank=MORE + 4),
    column("messages_per_s"),
    column("peer_bandwidth_bytes_per_s"),
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
DELIVERY_COLUMNS = (
    column("sent"),
    Column("lost", "%", _share("lost"), rank=BRIEF),
    Column("reordered", "%", _share("reordered")),
    column("jitter_ns"),
)
# Of several launches.
LAUNCH_COLUMNS = (
    Column("launches", "", lambda row: str(row.launches)),
    Column("between", "%", _component("between"), says=_LAUNCHES_SAY),
    Column("within", "%", _component("within")),
)
VERIFIED = column("verified")
VERDICT = column("verdict")
CAUSE = column("cause")
