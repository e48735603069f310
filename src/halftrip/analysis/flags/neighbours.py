"""Flags about a row beside other rows of the same run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.flags.companions import unlike_others
from halftrip.analysis.flags.flag import Evidence, Finding, percent, us
from halftrip.analysis.layers import kind_of
from halftrip.analysis.like_states import alike
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import STREAM
from halftrip.results.records import Measurement
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.quantile import Interval
from halftrip.stats.summary import SliceTimes
from halftrip.units import format_size, significant, size_name

# A size is an outlier if its time is off by more than this factor from every time that its
# neighbours predict.
_OFF = 1.3
# A size and two neighbours on each side.
_FEWEST_IN_CURVE = 5
# A row contradicts another by this factor; less may be how a machine varies from second to second.
# The first row of a tool that does not warm up is slower than a larger one by as much.
_CONTRADICTS = 1.25
# Two sizes predict the time of a third one that is at most this many times their distance away.
_FARTHEST = 4.5
# Rows whose core-to-core round trips differ by more than this factor were in different states.
_SAME_STATE = 1.25
# A figure without an interval may be off by this factor, so that two of them contradict each other
# where they differ by five: healthy published tables have no such pair, those of which we know that
# a row is wrong have factors of 6 to 94 (tests/unit/analysis/test_published_figures.py).
_OFF_ALONE = 2.0
_UNLIKE = _CONTRADICTS * _OFF_ALONE**2

# Sizes that contradict larger ones, at least so many whose times are within this factor, have
# waited for a timer: those of kernels and libraries tick every 0.1 ms at the most, ns.
_FEWEST_ALIKE = 3
_ALIKE = 1.1
_TICK = 1e5
_ALIKE_ADVICE = (
    "all such sizes take as long: they wait for a timer; look for what delays small messages or "
    "acknowledgements (Nagle's algorithm, a progress thread, interrupt coalescing)"
)

# Over shared memory a message over MPI takes no longer than so many without, and this, ns: with
# MPICH and Open MPI it is up to six, or 0.6 us, and 4 us where the kernel has to carry it.
_AS_MANY, _MPI_ADDS = 8.0, 2e3

CurveRows = list[Evidence]


def curves(rows: Iterable[Evidence]) -> list[CurveRows]:
    """The rows of each curve that has several, in order of size."""
    groups: dict[Configuration, CurveRows] = {}
    for row in rows:
        groups.setdefault(row.configuration.curve, []).append(row)
    # One row alone has nothing beside it.
    several = [curve for curve in groups.values() if len(curve) > 1]
    return [sorted(curve, key=lambda row: row.configuration.size) for curve in several]


def in_states(rows: CurveRows) -> list[CurveRows]:
    """The rows of a curve in each state of the machine in which any of them is shown: those that
    have figures in it, or do not go with it. What is found of figures in another state than that
    which is shown of a row is nothing about that row."""
    states = {row.state.level: row for row in rows if row.state is not None}
    if not states:
        return [rows]
    found = []
    for first in states.values():
        every = (alike([first], (row, *row.others)) for row in rows)
        found.append([both[1] for both in every if both is not None])
    return found


def outlier_sizes(curve: CurveRows) -> dict[Configuration, Finding]:
    """Sizes whose time does not fit their neighbours: neither those on both sides nor, as at a
    change of protocol, those on one side. The worst is found first and left out of the curve, so
    that it does not spoil what its neighbours are compared with."""
    rows = [row for row in curve if row.summary.latency > 0]
    found: dict[Configuration, Finding] = {}
    while len(rows) >= _FEWEST_IN_CURVE:
        points = [(float(row.configuration.size), row.summary.latency) for row in rows]
        departures = [_departure(points, i) for i in range(len(rows))]
        surely = [
            abs(departure) - _uncertainty(row)
            for departure, row in zip(departures, rows, strict=True)
        ]
        worst = int(np.argmax(surely))
        row = rows[worst]
        if surely[worst] <= math.log(_OFF):
            break
        expected = row.summary.latency / math.exp(departures[worst])
        found[row.configuration] = Finding(
            f"{us(row.summary.latency)}, where the sizes around it lead to {us(expected)}"
        )
        rows = [other for other in rows if other is not row]
    return found


# Bytes and ns.
_Point = tuple[float, float]


def _departure(points: Sequence[_Point], i: int) -> float:
    """The logarithm of the factor between the time of point `i` and the nearest time that its
    neighbours predict; 0 if it lies between two predictions, and for the two points at each end,
    which have neighbours on one side only."""
    if i < 2 or i > len(points) - 3:
        return 0.0
    size, time = points[i]
    # The curve may step just before this point or after it.
    low, high = sorted((points[i - 1][1], points[i + 1][1]))
    expected = [low, high]
    for a, b in ((i - 1, i + 1), (i - 2, i - 1), (i + 1, i + 2)):
        expected += _times_on_lines(points[a], points[b], size)
    if low <= time <= high or min(expected) <= time <= max(expected):
        return 0.0
    return min((math.log(time / value) for value in expected), key=abs)


def _times_on_lines(a: _Point, b: _Point, size: float) -> list[float]:
    """The times at another size on the straight line through two points (a latency and bytes over a
    bandwidth), and on the line through their logarithms, if they are above 0. Empty if the size is
    too far away."""
    share = (size - a[0]) / (b[0] - a[0])
    if not -_FARTHEST <= share <= 1 + _FARTHEST:
        return []
    straight = a[1] + share * (b[1] - a[1])
    exponent = math.log(b[1] / a[1]) / math.log((b[0] + 1) / (a[0] + 1))
    curved = a[1] * ((size + 1) / (a[0] + 1)) ** exponent
    return [value for value in (straight, curved) if value > 0]


def _uncertainty(row: Evidence) -> float:
    """How wide the interval of a row is, as a logarithm; infinite if it has none, or one that
    reaches 0."""
    summary = row.summary
    if math.isnan(summary.low) or summary.low <= 0:
        return math.inf
    return math.log(summary.high / summary.low)


def faster_when_larger(curve: CurveRows) -> dict[Configuration, Finding]:
    """Messages that are slower than a larger one, which could carry them: a guideline of Traeff,
    Gropp and Thakur, Self-consistent MPI Performance Guidelines (TPDS 2010)."""
    bounds = [_bounds(row) for row in curve]
    # Each row with all larger ones at once: there may be 10,000 sizes.
    limits = _CONTRADICTS * np.array([each.high for each in bounds])
    slower = []
    for place, row in enumerate(curve):
        faster = np.flatnonzero(bounds[place].low > limits[place + 1 :]) + place + 1
        larger = next((curve[n] for n in faster if _is_slower(row, curve[n])), None)
        if larger is not None:
            slower.append((row, larger))
    waits = _waits([row for row, _ in slower])
    return {
        row.configuration: Finding(
            f"{us(row.summary.latency)}, where {size_name(larger.configuration.known_size)} take "
            f"{us(larger.summary.latency)}: more goes faster",
            advice=_ALIKE_ADVICE if waits else "",
        )
        for row, larger in slower
    }


def _waits(rows: Sequence[Evidence]) -> bool:
    """Whether the times of several sizes are a wait that does not depend on the size, nor on the
    distance."""
    times = [row.summary.latency for row in rows]
    if len(times) < _FEWEST_ALIKE or max(times) > _ALIKE * min(times) or min(times) < _TICK:
        return False
    return all(2 * _distance(row) < row.summary.latency for row in rows)


def _distance(row: Evidence) -> float:
    """What a message takes at least on its way, as far as is known: half of the shortest round trip
    of a TCP connection between the two ranks, and the delay that the plan has, ns."""
    pair = set(row.configuration.pair)
    trips = [
        each.path.tcp.min_rtt_us
        for each in row.run.connections
        if {each.rank, each.peer} == pair and each.path.tcp and each.path.tcp.min_rtt_us
    ]
    return row.configuration.delay + min(trips, default=0) * 1e3 / 2


def cold_first_row(curve: Sequence[Evidence]) -> dict[Configuration, Finding]:
    """The first row of a table whose tool did not warm up, where a larger message was faster;
    `curve` is in order of size."""
    if len(curve) < 2:
        return {}
    first, *later = curve
    source = first.run.source_of.get(first.configuration)
    if source is None or source.warm_up != 0:
        return {}
    fastest = min(later, key=lambda row: row.summary.latency)
    times = first.summary.latency / fastest.summary.latency
    if not times >= _CONTRADICTS:
        return {}
    return {
        first.configuration: Finding(
            f"{us(first.summary.latency)}, {significant(times, 2)} times as long as "
            f"{size_name(fastest.configuration.known_size)}: the first row, and {source.tool} "
            "does not warm up",
        )
    }


def slower_in_a_stream(rows: Iterable[Evidence]) -> dict[Configuration, Finding]:
    """Streams that get less through than a ping-pong, whose messages wait for each other; and
    streams both ways at once that get less through than one way."""
    # At a rate, or with a delay, the time between messages is not the path's.
    known = [row for row in rows if row.configuration.rate is None and not row.configuration.delay]
    streams = [row for row in known if row.configuration.shape.is_stream]
    if not streams:
        return {}
    configurations = {_anywhere(row.configuration): row for row in known}
    found: dict[Configuration, Finding] = {}
    for row in streams:
        configuration = row.configuration
        if configuration.mode not in ("blocking", "nonblocking"):
            continue
        if configuration.shape.is_one_way:
            # A nonblocking ping-pong would have both messages on their way at once.
            pingpong = _anywhere(configuration.round_trip)
            # The messages of a window and its acknowledgement should each take no longer than half
            # a round trip.
            found |= _less_through(
                row, configurations.get(pingpong), (configuration.window + 1) / configuration.window
            )
        else:
            stream = msgspec.structs.replace(configuration, pattern=STREAM)
            found |= _less_through(row, configurations.get(_anywhere(stream)), 2.0)
    return found


def slower_than_shm(rows: Iterable[Evidence]) -> dict[Configuration, Finding]:
    """Messages over MPI that take much longer than those that are otherwise alike over shared
    memory: the MPI goes another way."""
    known = [row for row in rows if not row.configuration.is_rate]
    over_mpi = [row for row in known if row.configuration.transport == "mpi"]
    # There may be a map of 30,000 pairs, all of one transport.
    shm = [row for row in known if over_mpi and row.configuration.transport == "shm"]
    lower = {kind_of(row.configuration): row for row in shm}
    found = {}
    for row in over_mpi:
        other = lower.get(kind_of(row.configuration)) if lower else None
        both = None if other is None else alike([row], (other, *other.others))
        if both is None or not _is_slower(*both, _AS_MANY):
            continue
        other = both[1]
        if _bounds(row).low > _AS_MANY * _bounds(other).high + _MPI_ADDS:
            seen = f"{us(row.summary.latency)}, where shm takes {us(other.summary.latency)}"
            found[row.configuration] = Finding(f"{seen}: it hardly goes through shared memory")
    return found


def _anywhere(configuration: Configuration) -> Configuration:
    """The same wherever its messages lie: a ping-pong has one place only."""
    return msgspec.structs.replace(configuration, places="same")


def _less_through(
    row: Evidence, other: Evidence | None, factor: float
) -> dict[Configuration, Finding]:
    """A flag on `row` if a message takes longer there than `factor` messages of `other`."""
    both = None if other is None else alike([row], (other, *other.others))
    if both is None or not _is_slower(*both, factor):
        return {}
    other = both[1]
    share = row.configuration.directions * other.summary.latency / row.summary.latency
    seen = (
        f"it gets {percent(share)} of the bandwidth of {other.configuration.pattern} through at "
        "the same size"
    )
    window, cache = _footprint(row), _cache(row)
    if cache is None or not _footprint(other) <= cache < window:
        return {row.configuration: Finding(seen)}
    seen += f"; its window takes {format_size(window)}, more than the cache of {format_size(cache)}"
    return {row.configuration: Finding(seen, advice="use --places same, or a smaller --window")}


def _footprint(row: Evidence) -> int:
    """The bytes of an end that the messages of a window go through."""
    configuration = row.configuration
    places = configuration.window if configuration.message_places == "own" else 1
    return places * configuration.size


def _cache(row: Evidence) -> int | None:
    """The largest cache of the core of an end, bytes; None where none is known."""
    cores = {each.core for each in row.ranks} - {None}
    known = [each for each in row.run.thresholds if each.acts == "cache" and each.value]
    return max((each.value for each in known if cores & {*each.cores}), default=None)


def _is_slower(one: Evidence, other: Evidence, factor: float = 1.0) -> bool:
    """Whether a message of `one` surely takes longer than `factor` messages of `other`, by their
    intervals; not where these were taken in different states of the machine."""
    rtts = [rtt for row in (one, other) if (rtt := row.median_rtt) is not None]
    if len(rtts) == 2 and _differ(*rtts):
        return False
    return _bounds(one).low / factor > _CONTRADICTS * _bounds(other).high


def _differ(one: float, other: float) -> bool:
    """Whether two core-to-core round trips are those of different states; not if one is NaN."""
    return max(one, other) > _SAME_STATE * min(one, other)


def _bounds(row: Evidence) -> Interval:
    """Where the latency of a row surely lies: its interval, if it has one."""
    summary = row.summary
    if not math.isnan(summary.low):
        return Interval(summary.low, summary.high)
    # A time of 0 is one that the clock could not tell.
    most = summary.latency * _OFF_ALONE if summary.latency > 0 else math.inf
    return Interval(summary.latency / _OFF_ALONE, most)


def unlike_itself(rows: Iterable[Evidence]) -> dict[Configuration, Finding]:
    """Rows of a few launches, or slices of one launch, of which one is several times slower than
    another. Where there are more, the interval tells where the latency is."""
    found = {}
    for row in rows:
        kind = "launch" if len(row.times.by_launch) > 1 else "slice"
        if not _may_differ([each.median.median for _, each in row.counted]):
            continue
        known = sorted(_stretches(row), key=lambda each: each.time)
        if not 2 <= len(known) < FEWEST_FOR_INTERVAL:
            continue
        (fastest, near, _), (slowest, far, slices) = known[0], known[-1]
        if fastest <= 0 or slowest <= _UNLIKE * fastest or _differ(near, far):
            continue
        times = significant(slowest / fastest, 2)
        if row.measurements[0].reported is not None:
            kind = "table of its source"
        seen = f"one {kind} took {us(slowest)}, {times} times as long as another, {us(fastest)}"
        others = [each for stretch in known[:-1] for each in stretch.slices]
        beside = unlike_others(row, slices, others)
        advice = "measure that one again without it" if beside else ""
        found[row.configuration] = Finding("; ".join(filter(None, (seen, beside))), advice=advice)
    return found


def _may_differ(medians: Sequence[float]) -> bool:
    """Whether launches with these medians of slices may be unlike: theirs lie within these."""
    return bool(medians) and max(medians) > _UNLIKE * min(medians)


class _Stretch(NamedTuple):
    """The median time of slices, their median core-to-core round trip (NaN: not known), ns, and
    these slices."""

    time: float
    rtt: float
    slices: Sequence[Measurement]


def _stretches(row: Evidence) -> list[_Stretch]:
    """Each launch that counts, or each slice where there is one launch."""
    groups: dict[int, list[tuple[Measurement, SliceTimes]]] = {}
    for each in row.counted:
        groups.setdefault(each[0].launch, []).append(each)
    launches = list(groups.values())
    if len(launches) == 1:
        launches = [[each] for each in launches[0]]
    return [
        _Stretch(
            median([times.median.median for _, times in slices]),
            _median_of_known([times.rtt for _, times in slices]),
            [measurement for measurement, _ in slices],
        )
        for slices in launches
    ]


def _median_of_known(rtts: Sequence[float]) -> float:
    known = [rtt for rtt in rtts if not math.isnan(rtt)]
    return median(known) if known else math.nan
