"""A path of known truth, in virtual time: what a measurement of it has to find is known beforehand.

Given as a table of the plan:

    [simulated]
    latency = "2us"                   # of an empty message, one way
    bandwidth = "10GB"                # bytes per second
    segments = [{ from = "64K", latency = "5us", bandwidth = "20GB" }]
    noise = { kind = "ar1", spread = 0.05, correlation = 0.6 }
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.errors import UsageError
from halftrip.units import parse_duration, parse_share, parse_size

Floats = npt.NDArray[np.float64]
Kind = Literal["none", "lognormal", "ar1"]

# After so many turns of both states nothing of the first is left.
_FORGOTTEN = 50.0


class Segment(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"start": "from"}
):
    """From `start` bytes on, one way takes `latency` seconds, and a byte 1 / `bandwidth`; what is
    None goes on as it was before."""

    start: int
    latency: float | None = None
    bandwidth: float | None = None


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Factors with a median of 1 by which exchanges take longer or shorter: none, lognormal with
    `spread` as the standard deviation of the logarithm, or the same with the autocorrelation of a
    first-order process, `correlation` from one exchange to the next.

    The median is that of single exchanges. A sample of several is a sum, whose median is nearer to
    its mean: more, by up to the share `spread` ** 2 / 2."""

    kind: Kind = "none"
    spread: float = 0.0
    correlation: float = 0.0


class Spikes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The `share` of exchanges that take `extra` seconds more."""

    share: float = 0.0
    extra: float = 0.0


class Modes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A second state, in which everything takes `factor` times as long: the `share` of the time,
    for `dwell` seconds each time on average. With `moves_line` the line between the cores takes as
    many times longer then, as it does where virtual cores move apart."""

    factor: float = 1.0
    share: float = 0.0
    dwell: float = 0.01
    moves_line: bool = False


class Ticking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clock that moves on in steps of `step` seconds. `claimed` is what it says of that."""

    step: float = 0.0
    claimed: float = 1e-9


class Truth(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is so about a simulated path. Times are seconds, `bandwidth` is bytes per second.

    `segments` say what changes from some size on. `first` is how much longer the first exchange
    takes, `warm_up` how many exchanges it takes until that has faded. `drift` is by which share all
    gets slower in each second. `loss` is the share of messages that get lost; a timeout then
    passes. `launch` is the spread of a factor that each launch has to itself (the standard
    deviation of its logarithm). `line` is the cache-line round trip.
    """

    latency: float = 1e-6
    bandwidth: float = 10e9
    segments: tuple[Segment, ...] = ()
    noise: Noise = Noise(kind="lognormal", spread=0.02)
    spikes: Spikes = Spikes()
    modes: Modes = Modes()
    drift: float = 0.0
    first: float = 0.0
    warm_up: int = 0
    clock: Ticking = Ticking()
    loss: float = 0.0
    launch: float = 0.0
    line: float = 100e-9
    seed: int = 1

    def one_way(self, size: int) -> float:
        """How long a message of `size` bytes takes one way in the usual state, without noise, s."""
        latency, bandwidth = self.at(size)
        return latency + size / bandwidth

    def at(self, size: int) -> tuple[float, float]:
        """The latency, s, and the bandwidth, bytes per second, that hold for `size` bytes."""
        latency, bandwidth = self.latency, self.bandwidth
        for segment in sorted(self.segments, key=lambda segment: segment.start):
            if size >= segment.start:
                latency = latency if segment.latency is None else segment.latency
                bandwidth = bandwidth if segment.bandwidth is None else segment.bandwidth
        return latency, bandwidth


class Path:
    """A path of which `truth` is so, in one launch: it has a clock of its own, which only its
    exchanges move on. `timeout` is how long is waited for what got lost, s."""

    def __init__(self, truth: Truth, launch: int = 0, timeout: float = 1.0) -> None:
        self.truth = truth
        self.now = 0.0
        self._timeout = timeout
        self._random = np.random.default_rng([truth.seed, launch])
        self._factor = float(np.exp(truth.launch * self._random.normal()))
        self._correlated = float(self._random.normal())
        self._slow = bool(self._random.random() < truth.modes.share)
        self._until = self._dwell()
        self._made = 0

    def begin_case(self) -> None:
        """The next exchange is the first of a case."""
        self._made = 0

    def line(self) -> float:
        """The cache-line round trip at this moment, s."""
        self._change_state()
        moved = self.truth.modes.factor if self.truth.modes.moves_line and self._slow else 1.0
        return self.truth.line * moved * float(np.exp(0.01 * self._random.normal()))

    def exchanges(self, one: float, count: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """How long each of `count` exchanges takes of which one takes `one` seconds, shape
        (count,), s, and which of them got lost; these took a timeout."""
        if count == 0:
            return np.empty(0), np.empty(0, dtype=np.bool_)
        truth = self.truth
        times = one * self._factor * self._noise(count)
        if truth.spikes.share:
            times += truth.spikes.extra * (self._random.random(count) < truth.spikes.share)
        if truth.first:
            made = self._made + np.arange(count)
            fading = np.exp(-made / truth.warm_up) if truth.warm_up else (made == 0)
            times += truth.first * fading
        lost = self._random.random(count) < truth.loss
        times = self._in_time(times, lost)
        self._made += count
        return times, lost

    def read_clock(self, times: Floats) -> Floats:
        """What a clock makes of consecutive times, s: it is looked at before and after each."""
        step = self.truth.clock.step
        if not step:
            return times
        moments = self._random.random() * step + np.concatenate(([0.0], np.cumsum(times)))
        return np.diff(np.floor(moments / step) * step)

    def _noise(self, count: int) -> Floats:
        noise = self.truth.noise
        if noise.kind == "none" or not noise.spread:
            return np.ones(count)
        normal = self._random.normal(size=count)
        if noise.kind == "ar1":
            normal = self._correlate(normal, noise.correlation)
        return np.asarray(np.exp(noise.spread * normal))

    def _correlate(self, normal: Floats, correlation: float) -> Floats:
        """x[i] = correlation * x[i - 1] + what is new, with a variance of 1 throughout."""
        from scipy.signal import lfilter

        new = normal * math.sqrt(1.0 - correlation**2)
        series, _ = lfilter([1.0], [1.0, -correlation], new, zi=[correlation * self._correlated])
        self._correlated = float(series[-1])
        return np.asarray(series)

    def _in_time(self, times: Floats, lost: npt.NDArray[np.bool_]) -> Floats:
        """How long exchanges take that took `times` in the usual state and without drift: one after
        the other, each in the state, and with the drift, of the moment when it begins."""
        work = np.concatenate(([0.0], np.cumsum(np.where(lost, 0.0, times))))
        ends = [*np.flatnonzero(lost).tolist(), times.size]
        taken = np.empty_like(times)
        begin = 0
        for end in ends:
            while begin < end:
                self._change_state()
                begin = self._in_state(times, work, taken, begin, end)
            if begin < times.size:
                taken[begin] = self._timeout
                self.now += self._timeout
                begin += 1
        return taken

    def _in_state(self, times: Floats, work: Floats, taken: Floats, begin: int, end: int) -> int:
        """Fills in `taken` from `begin` on, to `end` or to where the state changes; returns which
        is the next. `work` is how much of `times` went before each."""
        drift = self.truth.drift
        factor = self.truth.modes.factor if self._slow else 1.0
        # The moment t after work w, with dt / dw = factor * (1 + drift * t), and the other way
        # round.
        lag = 1.0 + drift * self.now
        left = (self._until - self.now) / (factor * lag)
        if drift:
            left = math.log1p(drift * factor * left) / (drift * factor)
        # At least one: it begins before the state ends.
        stop = begin + max(1, int(np.searchsorted(work[begin:end] - work[begin], left)))
        gone = factor * (work[begin : stop + 1] - work[begin])
        moments = lag * (np.expm1(drift * gone) / drift if drift else gone)
        taken[begin:stop] = factor * times[begin:stop] if not drift else np.diff(moments)
        self.now += float(moments[-1])
        return stop

    def _change_state(self) -> None:
        """Enters the state of this moment."""
        modes = self.truth.modes
        if modes.share and self.now - self._until > _FORGOTTEN * modes.dwell / modes.share:
            # Dwell times are exponential: what follows does not depend on what was.
            self._slow = bool(self._random.random() < modes.share)
            self._until = self.now + self._dwell()
        while self._until <= self.now:
            self._slow = not self._slow
            self._until += self._dwell()

    def _dwell(self) -> float:
        """How long the state lasts that has just begun, s."""
        modes = self.truth.modes
        usual = modes.dwell * (1.0 - modes.share) / modes.share if modes.share else math.inf
        mean = modes.dwell if self._slow else usual
        return float(self._random.exponential(mean)) if math.isfinite(mean) else math.inf


# Reading a table of a plan.


class _Range(NamedTuple):
    """What a number may be: from `least` to `most`, itself allowed where `closed`."""

    least: float
    most: float
    closed: bool = True


# What every number may be, by its key. Beyond, nothing is like a network any more, and times do not
# fit into whole ns, or all exchanges of a sample into memory.
_LONGEST = 3600.0
_DURATION = _Range(0, _LONGEST)
_SHARE = _Range(0, 1, closed=False)
_RANGES = {
    "latency": _Range(1e-9, _LONGEST),
    "line": _Range(1e-9, _LONGEST),
    "bandwidth": _Range(1e3, 1e15),
    "from": _Range(0, 1 << 60),
    "first": _DURATION,
    "extra": _DURATION,
    "warm_up": _Range(0, 1e9),
    "dwell": _Range(1e-6, _LONGEST),
    "factor": _Range(1e-3, 1e3),
    "step": _Range(0, 1e-3),
    "claimed": _Range(0, 1e-3),
    "spread": _Range(0, 1),
    "launch": _Range(0, 1),
    "drift": _Range(0, 10),
    "share": _SHARE,
    "loss": _SHARE,
    "correlation": _SHARE,
    "seed": _Range(0, (1 << 63) - 1),
}
# How a number is read that is written as text; others are numbers.
_TEXTS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys(
        ("latency", "line", "first", "extra", "dwell", "step", "claimed"), parse_duration
    ),
    **dict.fromkeys(("from", "bandwidth"), parse_size),
    **dict.fromkeys(("share", "loss", "drift", "spread", "correlation", "launch"), parse_share),
}


def parse_truth(table: Any) -> Truth:
    """The truth that a table of a plan tells. Raises UsageError that says what is wrong."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{table!r} is not a table")
    try:
        return msgspec.convert(_read(table), Truth)
    except msgspec.ValidationError as error:
        raise UsageError(_explained(str(error))) from None


# What msgspec calls the kinds of values.
_KINDS = {
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "array": "a list",
    "str": "text",
    "bool": "true or false",
    "null": "nothing",
}


def _explained(mistake: str) -> str:
    """What msgspec calls "Expected `float`, got `str` - at `$.modes.factor`", by its place."""
    what, _, path = mistake.partition(" - at `$.")
    if kinds := re.fullmatch(r"Expected `(\w+).*`, got `(\w+)`", what):
        expected, got = (_KINDS.get(kind, kind) for kind in kinds.groups())
        what = f"expected {expected}, got {got}"
    elif unknown := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
        what = f"no such key as {unknown[1]!r}"
    elif missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        what = f"{missing[1]} is missing"
    elif wrong := re.fullmatch(r"Invalid enum value (.*)", what, re.DOTALL):
        what = f"{wrong[1]} is none of {', '.join(get_args(Kind))}"
    return f"{path.rstrip('`')}: {what}" if path else what


def truth_record(truth: Truth) -> dict[str, Any]:
    """The table that tells it again."""
    record: dict[str, Any] = msgspec.to_builtins(truth)
    record["segments"] = [
        {name: value for name, value in segment.items() if value is not None}
        for segment in record["segments"]
    ]
    return record


def _read(table: Mapping[str, Any], place: str = "") -> dict[str, Any]:
    """The table, which stands at `place`, with all its numbers as such, each in its range."""
    return {str(name): _value(str(name), value, place) for name, value in table.items()}


def _value(name: str, value: Any, place: str) -> Any:
    here = f"{place}.{name}" if place else name
    if isinstance(value, Mapping):
        return _read(value, here)
    if isinstance(value, list | tuple):
        return [
            _read(item, f"{here}[{number}]") if isinstance(item, Mapping) else item
            for number, item in enumerate(value)
        ]
    if isinstance(value, str) and name in _TEXTS:
        try:
            value = _TEXTS[name](value)
        except UsageError as error:
            raise UsageError(f"{here}: {error}") from None
    if name in _RANGES and isinstance(value, int | float):
        _check(here, value, _RANGES[name])
    return value


def _check(here: str, value: float, allowed: _Range) -> None:
    """Raises UsageError for what is out of its range, no number among that."""
    inside = allowed.least <= value <= allowed.most
    if not inside or (value == allowed.most and not allowed.closed):
        upper = f"{allowed.most:g}" if allowed.closed else f"less than {allowed.most:g}"
        raise UsageError(f"{here}: {value} is out of range; from {allowed.least:g} to {upper}")
