"""The columns of halftrip's table: the name of each, its unit, and its cell for a row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from halftrip.report.cells import NOTHING, number
from halftrip.report.rows import Row
from halftrip.results.patterns import is_in_turn
from halftrip.units import format_size


class Column(NamedTuple):
    """A column: its name, its unit, and its cell for a row."""

    name: str
    unit: str
    cell: Callable[[Row], str]
    # Left out where no row has the figure.
    optional: bool = False


def _us(ns: float | None, digits: int = 3) -> str:
    return number(ns, digits, 1e3)


def _megabytes(rate: float | None, digits: int = 3) -> str:
    return number(rate, digits, 1e6)


def one_way_times(rtt: bool) -> Callable[[Row], float]:
    """How many one-way times a row shows as its time: with `rtt` those of a round trip, else 1."""
    return lambda row: (
        row.configuration.messages_per_iteration if rtt and row.configuration.window == 1 else 1
    )


def is_round_trip(row: Row) -> bool:
    """Whether an iteration of this row is a round trip."""
    return is_in_turn(row.configuration.pattern, row.configuration.mode)


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


SIZE = Column("size", "bytes", lambda row: format_size(row.configuration.size))
SAMPLES = Column("samples", "", _samples)
CORE_TO_CORE = Column("core-to-core", "ns", _core_to_core)


def latency_columns(rtt: bool) -> tuple[Column, ...]:
    """The columns of patterns whose result is the time of a message: one way, or with `rtt` the
    round trip."""
    times = one_way_times(rtt)

    def us(value: Callable[[Row], float], digits: int = 3) -> Callable[[Row], str]:
        return lambda row: _us(value(row) * times(row), digits)

    low, high = us(lambda row: row.summary.low, 4), us(lambda row: row.summary.high, 4)
    return (
        SIZE,
        Column("round trip" if rtt else "latency", "us", us(lambda row: row.summary.latency, 4)),
        Column("95 % interval", "us", lambda row: _between(low(row), high(row))),
        Column("adjusted", "us", us(_adjusted, 4), optional=True),
        Column("p99", "us", us(lambda row: row.summary.p99.value), optional=True),
        Column("max", "us", us(lambda row: row.summary.max), optional=True),
        Column("bandwidth", "MB/s", lambda row: _megabytes(row.summary.bandwidth)),
        Column("first message", "us", us(lambda row: row.summary.first)),
        SAMPLES,
        CORE_TO_CORE,
    )


def _adjusted(row: Row) -> float:
    return math.nan if row.adjusted is None else row.adjusted.median


def _bandwidth_interval(row: Row) -> str:
    if not row.summary.bandwidth > 0 or row.is_over_all_time:
        return NOTHING
    # From the interval of the initiator's times, for the bandwidth of all directions.
    size = row.configuration.size * row.delivered * row.bandwidth / row.summary.bandwidth
    ends = [size / ns * 1e9 if ns > 0 else math.nan for ns in (row.summary.high, row.summary.low)]
    return _between(_megabytes(ends[0], 4), _megabytes(ends[1], 4))


def _each_way(row: Row) -> str:
    if row.each_way is None:
        return NOTHING
    return f"{_megabytes(row.each_way[0])} + {_megabytes(row.each_way[1])}"


def _received(row: Row) -> str:
    return _megabytes(row.peer_bandwidth)


def _window_us(value: Callable[[Row], float]) -> Callable[[Row], str]:
    return lambda row: _us(value(row) * row.configuration.messages_per_iteration)


# For patterns whose result is a bandwidth.
RATE_COLUMNS = (
    SIZE,
    Column("bandwidth", "MB/s", lambda row: _megabytes(row.bandwidth, 4)),
    Column("95 % interval", "MB/s", _bandwidth_interval),
    Column("messages", "10^6/s", lambda row: number(row.rate, 3, 1e6)),
    Column("receiver", "MB/s", _received, optional=True),
    Column("each way", "MB/s", _each_way, optional=True),
    Column("window p99", "us", _window_us(lambda row: row.summary.p99.value), optional=True),
    Column("max", "us", _window_us(lambda row: row.summary.max), optional=True),
    Column("first window", "us", _window_us(lambda row: row.summary.first)),
    SAMPLES,
    CORE_TO_CORE,
)

# Where messages can be lost.
DELIVERY_COLUMNS = (
    Column("sent", "", lambda row: f"{row.delivery.sent:,}" if row.delivery else NOTHING),
    Column("lost", "%", lambda row: _share(row, "lost")),
    Column("reordered", "%", lambda row: _share(row, "reordered")),
    Column("jitter", "us", lambda row: _jitter(row), optional=True),
)
# Where there are several launches.
LAUNCH_COLUMNS = (
    Column("launches", "", lambda row: str(row.launches)),
    Column("between", "%", lambda row: _component(row, "between")),
    Column("within", "%", lambda row: _component(row, "within")),
)
VERIFIED = Column(
    "verified", "", lambda row: NOTHING if row.verified is None else f"{row.verified:,}"
)


def _component(row: Row, name: str) -> str:
    return NOTHING if row.components is None else number(100 * getattr(row.components, name), 2)


def _share(row: Row, name: str) -> str:
    if row.delivery is None or not row.delivery.sent:
        return NOTHING
    return number(100 * getattr(row.delivery, name) / row.delivery.sent, 2)


def _jitter(row: Row) -> str:
    return NOTHING if row.delivery is None else _us(row.delivery.jitter)
