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
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args, get_type_hints

import msgspec

from halftrip.errors import UsageError
from halftrip.fields import one_of
from halftrip.units import parse_duration, parse_share, parse_size

_WHOLE = ("seed", "warm_up")


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
