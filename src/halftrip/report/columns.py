"""The columns of halftrip's tables: the name of each, its unit, and its cell for a row."""

from __future__ import annotations

import math
from collections.abc import Callable

from halftrip.analysis.rows import Row
from halftrip.analysis.verdict import Verdict
from halftrip.report.cells import NOTHING, number
from halftrip.report.layout import ALWAYS, BRIEF, MORE, Column
from halftrip.results.patterns import is_in_turn
from halftrip.units import format_size, significant

_FEWEST_DIGITS, _MOST_DIGITS = 2, 5


def supported_digits(width: float) -> int:
    """How many significant digits of a figure its interval supports; `width` is the wider side of
    that, as a share of the figure (infinite: there is none). The interval then shows in the last
    digit, and by at most ten of its steps in the one before that."""
    if not 0 < width < math.inf:
        return 3
    return min(max(math.floor(-math.log10(width)) + 2, _FEWEST_DIGITS), _MOST_DIGITS)


def width_of(verdict: Verdict) -> str:
    """The interval's wider side, as a share of the figure."""
    if not math.isfinite(verdict.width):
        return "± ?"
    return f"± {significant(100 * verdict.width, 2)} %" if verdict.width < 1 else "> 100 %"


def one_way_times(rtt: bool) -> Callable[[Row], float]:
    """How many one-way times a row shows as its time: with `rtt` those of a round trip, else 1."""

    def times(row: Row) -> float:
        configuration = row.configuration
        return configuration.messages_per_iteration if rtt and configuration.window == 1 else 1

    return times


def is_round_trip(row: Row) -> bool:
    """Whether an iteration of this row is a round trip."""
    return is_in_turn(row.configuration.pattern, row.configuration.mode)


def _us(ns: float | None, digits: int = 3) -> str:
    return number(ns, digits, 1e3)


def _megabytes(rate: float | None, digits: int = 3) -> str:
    return number(rate, digits, 1e6)


def _digits(row: Row) -> int:
    return supported_digits(row.verdict.width)


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


SIZE = Column("size", "bytes", lambda row: format_size(row.configuration.known_size), rank=ALWAYS)
_WIDTH = Column("95 %", "", lambda row: width_of(row.verdict), rank=ALWAYS)
_SAMPLES = Column("samples", "", _samples, rank=MORE + 2)
_CORE_TO_CORE = Column("core-to-core", "ns", _core_to_core, rank=MORE + 1)


def latency_columns(rtt: bool) -> tuple[Column, ...]:
    """The columns of patterns whose result is the time of a message: one way, or with `rtt` the
    round trip."""
    times = one_way_times(rtt)

    def us(value: Callable[[Row], float], more: int = 0) -> Callable[[Row], str]:
        return lambda row: _us(value(row) * times(row), _digits(row) + more)

    low, high = us(lambda row: row.summary.low, 1), us(lambda row: row.summary.high, 1)
    return (
        SIZE,
        Column(
            "round trip" if rtt else "latency",
            "us",
            us(lambda row: row.summary.latency),
            rank=ALWAYS,
        ),
        _WIDTH,
        Column("95 % interval", "us", lambda row: _between(low(row), high(row)), rank=MORE + 4),
        Column("adjusted", "us", us(_adjusted), rank=MORE + 6),
        Column(
            "p99",
            "us",
            lambda row: _us(row.summary.p99.value * times(row)),
            rank=BRIEF,
        ),
        Column("max", "us", lambda row: _us(row.summary.max * times(row)), rank=MORE + 3),
        Column(
            "bandwidth",
            "MB/s",
            lambda row: _megabytes(row.summary.bandwidth, min(_digits(row), 4)),
            rank=BRIEF,
        ),
        Column(
            "first message",
            "us",
            lambda row: _us(row.summary.first * times(row)),
            rank=MORE + 5,
        ),
        Column("there", "us", lambda row: _way(row, "there"), rank=MORE + 4),
        Column("back", "us", lambda row: _way(row, "back"), rank=MORE + 4),
        Column("clock error", "us", lambda row: _way(row, "error", 2), rank=MORE + 4),
        _SAMPLES,
        _CORE_TO_CORE,
    )


def _way(row: Row, name: str, digits: int | None = None) -> str:
    known = row.one_way is not None and row.one_way.is_known
    return _us(getattr(row.one_way, name), digits or _digits(row)) if known else NOTHING


def _adjusted(row: Row) -> float:
    return math.nan if row.adjusted is None else row.adjusted.median


def _bandwidth_interval(row: Row) -> str:
    if not row.summary.bandwidth > 0 or row.is_over_all_time:
        return NOTHING
    # From the interval of the initiator's times, for the bandwidth of all directions.
    size = row.configuration.payload * row.delivered * row.bandwidth / row.summary.bandwidth
    ends = [size / ns * 1e9 if ns > 0 else math.nan for ns in (row.summary.high, row.summary.low)]
    return _between(*(_megabytes(end, _digits(row) + 1) for end in ends))


def _width_of_rate(row: Row) -> str:
    return NOTHING if row.is_over_all_time else width_of(row.verdict)


def _each_way(row: Row) -> str:
    if row.each_way is None:
        return NOTHING
    return f"{_megabytes(row.each_way[0])} + {_megabytes(row.each_way[1])}"


def _window_us(value: Callable[[Row], float]) -> Callable[[Row], str]:
    return lambda row: _us(value(row) * row.configuration.messages_per_iteration)


# For patterns whose result is a bandwidth.
RATE_COLUMNS = (
    SIZE,
    Column("bandwidth", "MB/s", lambda row: _megabytes(row.bandwidth, _digits(row)), rank=ALWAYS),
    Column("95 %", "", _width_of_rate, rank=ALWAYS),
    Column("95 % interval", "MB/s", _bandwidth_interval, rank=MORE + 4),
    Column("messages", "10^6/s", lambda row: number(row.rate, 3, 1e6), rank=BRIEF),
    Column("receiver", "MB/s", lambda row: _megabytes(row.peer_bandwidth), rank=MORE + 3),
    Column("each way", "MB/s", _each_way),
    Column("window p99", "us", _window_us(lambda row: row.summary.p99.value), rank=MORE + 3),
    Column("max", "us", _window_us(lambda row: row.summary.max), rank=MORE + 5),
    Column("first window", "us", _window_us(lambda row: row.summary.first), rank=MORE + 5),
    _SAMPLES,
    _CORE_TO_CORE,
)

# Of datagrams, which can be lost.
DELIVERY_COLUMNS = (
    Column("sent", "", lambda row: f"{row.delivery.sent:,}" if row.delivery else NOTHING),
    Column("lost", "%", lambda row: _share(row, "lost"), rank=BRIEF),
    Column("reordered", "%", lambda row: _share(row, "reordered")),
    Column("jitter", "us", lambda row: _jitter(row)),
)
# Of several launches.
LAUNCH_COLUMNS = (
    Column("launches", "", lambda row: str(row.launches)),
    Column("between", "%", lambda row: _component(row, "between")),
    Column("within", "%", lambda row: _component(row, "within")),
)
VERIFIED = Column(
    "verified", "", lambda row: NOTHING if row.verified is None else f"{row.verified:,}"
)
VERDICT = Column("verdict", "", lambda row: row.verdict.word, is_text=True, rank=ALWAYS)
CAUSE = Column(
    "cause",
    "",
    lambda row: row.verdict.cause.name if row.verdict.cause is not None else "",
    is_text=True,
    rank=BRIEF,
)


def _component(row: Row, name: str) -> str:
    return NOTHING if row.components is None else number(100 * getattr(row.components, name), 2)


def _share(row: Row, name: str) -> str:
    if row.delivery is None or not row.delivery.sent:
        return NOTHING
    return number(100 * getattr(row.delivery, name) / row.delivery.sent, 2)


def _jitter(row: Row) -> str:
    return NOTHING if row.delivery is None else _us(row.delivery.jitter)
