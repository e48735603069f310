"""A path of known truth, in virtual time: what a measurement of it has to find is known beforehand.

Given as a table of the plan:

    [simulated]
    latency = "2us"                   # of an empty message, one way
    bandwidth = "10GB"                # bytes per second
    segments = [{ from = "64K", latency = "5us", bandwidth = "20GB" }]
    noise = { kind = "ar1", spread = 0.05, correlation = 0.6 }
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_type_hints

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.errors import UsageError
from halftrip.fields import one_of
from halftrip.units import parse_duration, parse_share, parse_size

Floats = npt.NDArray[np.float64]

# After so many turns of both states nothing of the first is left.
_FORGOTTEN = 50.0
_WHOLE = ("seed", "warm_up")

# Beside 1, a number does not hold it.
_NOTHING = 1e-17


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

    kind: Literal["none", "lognormal", "ar1"] = "none"
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

    def rest(self, seconds: float) -> None:
        """Lets time pass without an exchange."""
        self.now += seconds

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
        series = normal * math.sqrt(1.0 - correlation**2)
        series[0] += correlation * self._correlated
        # Of sums over the last k values those over the last 2 k follow, until nothing is left to be
        # added (Hillis and Steele, CACM 29, 1986): a loop in Python, or scipy, takes a second.
        reach = 1
        while reach < series.size and correlation**reach > _NOTHING:
            series[reach:] += correlation**reach * series[:-reach].copy()
            reach *= 2
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
            return
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

_SECONDS = ("latency", "first", "line", "extra", "dwell", "step", "claimed")
_SIZES = ("from", "bandwidth")
_SHARES = ("share", "loss", "drift", "spread", "correlation", "launch")
# The tables within the table; `segments` is a list of them.
_TABLES: dict[str, type[msgspec.Struct]] = {
    "segments": Segment,
    "noise": Noise,
    "spikes": Spikes,
    "modes": Modes,
    "clock": Ticking,
}
_NOISES = get_args(get_type_hints(Noise)["kind"])
_WEEK = 7 * 86400.0
# What has to be more than 0, and less than this; what may be 0 as well; and what is a share.
_POSITIVE = {"latency": _WEEK, "line": _WEEK, "dwell": _WEEK, "bandwidth": 1e18, "factor": 1e6}
_NOT_NEGATIVE = {"first": _WEEK, "extra": _WEEK, "step": _WEEK, "claimed": _WEEK, "from": 1e18,
                 "warm_up": 1e9, "seed": 1e18, "spread": 10.0, "launch": 10.0,
                 "drift": 1e3}  # fmt: skip
_LESS_THAN_ONE = ("share", "loss", "correlation")


def parse_truth(table: Any) -> Truth:
    """The truth that a table of a plan tells. Raises UsageError that says what is wrong."""
    try:
        return msgspec.convert(_read(table, Truth, ""), Truth, strict=False)
    except msgspec.ValidationError as error:
        # Of what is a number or a truth value by its form, so the key is all that there is to say.
        said, _, where = str(error).replace("`", "").partition(" - at $.")
        raise UsageError(f"{where}: {said[0].lower()}{said[1:]}".removeprefix(": ")) from None


def truth_record(truth: Truth) -> dict[str, Any]:
    """The table that tells it again."""
    record: dict[str, Any] = msgspec.to_builtins(truth)
    record["segments"] = [
        {name: value for name, value in segment.items() if value is not None}
        for segment in record["segments"]
    ]
    return record


def _read(table: Any, kind: type[msgspec.Struct], where: str) -> dict[str, Any]:
    """A table for `kind`, which stands at `where`, with all its values as numbers."""
    if not isinstance(table, Mapping):
        raise UsageError(f"{where.rstrip('.')}: {table!r} is not a table".removeprefix(": "))
    allowed = [field.encode_name for field in msgspec.structs.fields(kind)]
    read = {}
    for written, value in table.items():
        # Written as options are.
        name = str(written).replace("-", "_")
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]}?" if close else f"allowed: {', '.join(allowed)}"
            raise UsageError(f"{where}{written}: no such key; {hint}")
        read[name] = _value(name, value, where)
    return read


def _value(name: str, value: Any, where: str) -> Any:
    if name == "segments":
        if not isinstance(value, list | tuple):
            raise UsageError(f"{where}segments: {value!r} is not a list of tables")
        return [_read(item, Segment, f"segments[{i}].") for i, item in enumerate(value)]
    if name in _TABLES:
        return _read(value, _TABLES[name], f"{name}.")
    try:
        number = _number(name, value)
        _check(name, number)
    except UsageError as error:
        raise UsageError(f"{where}{name}: {error}") from None
    return number


def _number(name: str, value: Any) -> Any:
    if name == "kind":
        return one_of(_NOISES)(value)
    if not isinstance(value, str) or name == "moves_line":
        return value
    for names, parse in (
        (_SECONDS, parse_duration),
        (_SIZES, parse_size),
        (_SHARES, parse_share),
        (_WHOLE, int),
    ):
        if name in names:
            return _parsed(parse, value)
    return _parsed(float, value)


def _parsed(parse: Callable[[str], Any], value: str) -> Any:
    try:
        return parse(value)
    except ValueError:
        raise UsageError(f"{value!r} is not a number") from None


def _check(name: str, value: Any) -> None:
    """Raises UsageError where something cannot be so."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return
    if name in _POSITIVE and not 0 < value < _POSITIVE[name]:
        raise UsageError(f"{value} is out of range; more than 0 and less than {_POSITIVE[name]:g}")
    if name in _NOT_NEGATIVE and not 0 <= value <= _NOT_NEGATIVE[name]:
        raise UsageError(f"{value} is out of range; from 0 to {_NOT_NEGATIVE[name]:g}")
    if name in _LESS_THAN_ONE and not 0 <= value < 1:
        raise UsageError(f"{value} is out of range; from 0 to less than 1")
