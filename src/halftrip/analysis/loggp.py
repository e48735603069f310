"""The parameters of LogGP of a run: of each transport, pair and settings (`stats.loggp`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from halftrip.analysis.repeats import Repeats, repeats
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ONE_WAY, ROUND_TRIP, SHAPES, STREAM, Pattern
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats import loggp
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate, combined
from halftrip.units import significant, size_in_words

# The command that measures all that the model needs.
COMMAND = "halftrip run loggp"
# Beyond this factor, a line of g and G does not describe the times between messages.
MISFIT = 1.1
# A round trip is not known if its interval reaches to this many times its median.
_UNKNOWN = 3.0


class Parameter(NamedTuple):
    """A parameter with its 95 % interval; None where it cannot be told, and then the reason."""

    estimate: Estimate | None
    reason: str = ""


class Overheads(NamedTuple):
    """How long both ends are busy with a message of `size` bytes, ns: `send` is o_s, `receive` o_r,
    and `both` their sum. `delay` is the initiator's delay, ns (None: no delay was long enough).
    `half` is half of a round trip without a delay, ns, and `predicted` the same by the model."""

    size: int
    delay: int | None
    both: Parameter
    send: Parameter
    receive: Parameter
    half: Estimate | None
    predicted: Parameter


class LogGPFit(NamedTuple):
    """The parameters of one path: L and g in ns, G in ns per byte, and the overheads by size.

    `path` is the configuration of its ping-pong with a size of 0. `latency` is L, from messages of
    `size` bytes (None: no size tells it). `misfit` is the largest factor by which a time between
    messages is surely off the line of g and G, at `misfit_at` bytes. `window` is how many messages
    a window of the streams has (None: there are no streams).
    """

    path: Configuration
    over: Over | None
    size: int | None
    latency: Parameter
    overheads: tuple[Overheads, ...]
    gap: Parameter
    per_byte: Parameter
    misfit: float | None
    misfit_at: int | None
    window: int | None

    @property
    def smallest(self) -> Overheads | None:
        """The overheads of the smallest size, which o_s and o_r without a size stand for."""
        return self.overheads[0] if self.overheads else None


def loggp_fits(run: Run, has: Callable[[Configuration], bool] = lambda _: True) -> list[LogGPFit]:
    """The parameters of each path that has blocking ping-pongs or streams among the configurations
    that `has` selects, in the order of the run. Imported runs have no parameters, as no other tool
    measures with delays."""
    paths: dict[Configuration, dict[Configuration, Sequence[Measurement]]] = {}
    for configuration, measurements in run.by_configuration.items():
        path = _path_of(configuration)
        if path is not None and has(configuration):
            paths.setdefault(path, {})[configuration] = measurements
    return [_fit(path, rows) for path, rows in paths.items()]


def _path_of(configuration: Configuration) -> Configuration | None:
    """The ping-pong of size 0 of a path; None for what the model has no use for."""
    c = configuration
    if c.pattern not in ONE_WAY or c.mode != "blocking" or c.rate is not None:
        return None
    return msgspec.structs.replace(
        c, pattern=ROUND_TRIP, size=0, window=1, delay=0, places="same", size_known=True
    )


class _Rows:
    """The times of iterations of a path's rows, ns, which are computed when they are asked for."""

    def __init__(self, rows: Mapping[Configuration, Sequence[Measurement]]) -> None:
        self._rows = rows
        self._known: dict[Configuration, Repeats | None] = {}
        # By pattern, window, delay and size; of several that differ in `places`, the first.
        self._by_kind: dict[tuple[str, int, int], dict[int, Configuration]] = {}
        for each in rows:
            sizes = self._by_kind.setdefault((each.pattern, each.window, each.delay), {})
            sizes.setdefault(each.size, each)

    @property
    def is_imported(self) -> bool:
        return any(m.reported is not None for found in self._rows.values() for m in found)

    def kinds(self, pattern: Pattern) -> list[tuple[int, int]]:
        """The windows and delays of a pattern's rows."""
        return [(window, delay) for name, window, delay in self._by_kind if name == pattern]

    def sizes(self, pattern: Pattern, window: int, delay: int) -> dict[int, Configuration]:
        return self._by_kind.get((pattern, window, delay), {})

    def time(self, pattern: Pattern, window: int, delay: int, size: int) -> Estimate | None:
        """The time of an iteration; None where it was not measured, or took no time."""
        configuration = self.sizes(pattern, window, delay).get(size)
        if configuration is None:
            return None
        found = self.repeats_of(configuration)
        if found is None or not found.middle > 0:
            return None
        return found.estimate.scaled(configuration.messages_per_iteration)

    def repeats_of(self, configuration: Configuration) -> Repeats | None:
        if configuration not in self._known:
            self._known[configuration] = repeats(configuration, self._rows[configuration])
        return self._known[configuration]

    @property
    def over(self) -> Over | None:
        """Whether the intervals of the rows that were used are over launches or slices."""
        found = [each for each in self._known.values() if each is not None]
        if not found:
            return None
        return "launches" if any(each.launches > 1 for each in found) else "slices"


def _fit(path: Configuration, measured: Mapping[Configuration, Sequence[Measurement]]) -> LogGPFit:
    rows = _Rows(measured)
    lacking = Parameter(None, f"no delays in what another tool has measured; measure it: {COMMAND}")
    nothing = LogGPFit(path, None, None, lacking, (), lacking, lacking, None, None, None)
    if rows.is_imported:
        return nothing
    windows = {window for window, delay in rows.kinds(STREAM) if window > 1 and not delay}
    window = max(windows, default=None)
    gap, per_byte, found = _gaps(rows, window)
    overheads = tuple(_overheads(rows, size) for size in sorted(_delayed_sizes(rows)))
    size, latency = _latency(overheads, per_byte)
    return LogGPFit(
        path=path,
        over=rows.over,
        size=size,
        latency=latency,
        overheads=tuple(_with_prediction(each, latency, per_byte) for each in overheads),
        gap=gap,
        per_byte=per_byte,
        misfit=found.misfit if found else None,
        misfit_at=found.misfit_at if found else None,
        window=window,
    )


def _delayed_sizes(rows: _Rows) -> set[int]:
    """The sizes of ping-pongs and streams with delays."""
    return {
        size
        for pattern in ONE_WAY
        for window, delay in rows.kinds(pattern)
        if delay
        for size in rows.sizes(pattern, window, delay)
    }


# g and G.


def _gaps(rows: _Rows, window: int | None) -> tuple[Parameter, Parameter, loggp.Gaps | None]:
    if window is None:
        lacking = Parameter(None, _measure("no stream with a window of several messages"))
        return lacking, lacking, None
    streams = []
    for size in sorted(rows.sizes(STREAM, window, 0)):
        one, several = rows.time(STREAM, 1, 0, size), rows.time(STREAM, window, 0, size)
        if one is not None and several is not None:
            streams.append(loggp.StreamTimes(size, one, several, window - 1))
    if len(streams) < loggp.FEWEST_SIZES:
        reason = f"streams with windows of 1 and of {window} of {len(streams)} sizes, not of 3"
        lacking = Parameter(None, _measure(reason))
        return lacking, lacking, None
    early = [each.size for each in streams if not each.between().value > 0]
    if early:
        reason = f"{window} messages of {size_in_words(early[0])} took no longer than 1"
        lacking = Parameter(None, f"{reason}; measure for longer: --time 1s")
        return lacking, lacking, None
    found = loggp.gaps(streams)
    return _figure(found.gap), _figure(found.per_byte), found


# o_s and o_r.


def _overheads(rows: _Rows, size: int) -> Overheads:
    round_trip = rows.time(ROUND_TRIP, 1, 0, size)
    half = None if round_trip is None else round_trip.scaled(0.5)
    delay, reason = _long_enough(rows, ROUND_TRIP, size, round_trip)
    stream, no_stream = _delayed_stream(rows, size, round_trip)
    both = send = receive = Parameter(None, reason)
    pingpong = None if delay is None else rows.time(ROUND_TRIP, 1, delay, size)
    if pingpong is not None and delay is not None:
        both = _figure(loggp.both_overheads(pingpong, delay))
    send = Parameter(None, no_stream)
    if stream is not None:
        send = _figure(loggp.send_overhead(*stream))
        if pingpong is not None and delay is not None:
            receive = _figure(loggp.receive_overhead(pingpong, delay, *stream))
    elif pingpong is not None:
        receive = Parameter(None, no_stream)
    return Overheads(size, delay, both, send, receive, half, Parameter(None))


def _long_enough(
    rows: _Rows, pattern: Pattern, size: int, round_trip: Estimate | None
) -> tuple[int | None, str]:
    """The shortest delay of a pattern that is surely longer than the round trip of its size, so
    that it hides all but the overheads; or why there is none."""
    if round_trip is None:
        return None, _measure(f"no ping-pong of {size_in_words(size)} without a delay")
    # Without an interval, no delay is surely longer.
    least = round_trip.high
    if math.isnan(least):
        reason = f"the round trip of {size_in_words(size)} has no interval"
        return None, f"{reason}; measure several slices or launches"
    delays = sorted(
        {
            delay
            for window, delay in rows.kinds(pattern)
            if delay and size in rows.sizes(pattern, window, delay)
        }
    )
    found = next((delay for delay in delays if delay >= least), None)
    if found is not None:
        return found, ""
    if least > _UNKNOWN * round_trip.value:
        reason = f"the round trip of {size_in_words(size)} may be anything up to {_us(least)}"
        return None, f"{reason}; measure again, on cores that nothing else uses"
    name = "ping-pong" if SHAPES[pattern].replies else pattern
    reason = f"no {name} of {size_in_words(size)} with a delay above its round trip, {_us(least)}"
    if delays:
        return None, f"{reason}; measure it: --delay 0,{_round_delay(least)}"
    return None, _measure(reason)


def _delayed_stream(
    rows: _Rows, size: int, round_trip: Estimate | None
) -> tuple[tuple[loggp.StreamTimes, int] | None, str]:
    """A stream with a delay that is long enough, and the delay; or why there is none."""
    delay, reason = _long_enough(rows, STREAM, size, round_trip)
    if delay is None:
        return None, reason
    windows = sorted(
        window
        for window, of in rows.kinds(STREAM)
        if of == delay and size in rows.sizes(STREAM, window, of)
    )
    fewest, most = windows[0], windows[-1]
    # A single message has no delay.
    few, fewer_delay = (fewest, delay) if fewest < most else (1, 0)
    fewer = rows.time(STREAM, few, fewer_delay, size)
    more = rows.time(STREAM, most, delay, size)
    if fewer is None or more is None:
        return None, _measure(f"no stream of {size_in_words(size)} with a window of 1")
    return (loggp.StreamTimes(size, fewer, more, most - few), delay), ""


# L.


def _latency(overheads: Sequence[Overheads], per_byte: Parameter) -> tuple[int | None, Parameter]:
    """The smallest size that tells L, and L."""
    if not overheads:
        return None, Parameter(None, _measure("no ping-pong with a delay"))
    smallest = overheads[0]
    if smallest.half is None or smallest.both.estimate is None:
        return None, Parameter(None, smallest.both.reason)
    if smallest.size > 1 and per_byte.estimate is None:
        reason = f"G is not known, nor what {size_in_words(smallest.size)} take of it"
        return None, Parameter(None, f"{reason}: {per_byte.reason}")
    found = loggp.latency(smallest.half, smallest.both.estimate, smallest.size, per_byte.estimate)
    return smallest.size, _figure(found)


def _with_prediction(each: Overheads, latency: Parameter, per_byte: Parameter) -> Overheads:
    """The same with o_s + L + (s - 1) G + o_r, half of a round trip as the model has it."""
    if latency.estimate is None or each.both.estimate is None:
        return each
    if per_byte.estimate is None and each.size > 1:
        return each._replace(predicted=Parameter(None, per_byte.reason))
    terms = [(1.0, each.both.estimate), (1.0, latency.estimate)]
    if per_byte.estimate is not None:
        terms.append((float(max(each.size - 1, 0)), per_byte.estimate))
    return each._replace(predicted=_figure(combined(terms)))


def _figure(estimate: Estimate) -> Parameter:
    """The figure, if it has an interval."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return Parameter(None, "no interval; measure several slices or launches")
    return Parameter(estimate)


def _measure(lacking: str) -> str:
    return f"{lacking}; measure it: {COMMAND}"


def _round_delay(least: float) -> str:
    """A delay of at least so many ns, in round figures: 1, 2 or 5 and zeros."""
    power = 10 ** math.floor(math.log10(least))
    delay = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)
    return next(
        f"{delay // scale}{unit}"
        for unit, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
        if delay % scale == 0
    )


def _us(ns: float) -> str:
    return f"{significant(ns / 1e3, 2)} us"
