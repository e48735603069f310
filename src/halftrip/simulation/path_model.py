"""A path of known truth, in virtual time: what a measurement of it has to find is known beforehand.

Given as a table of the plan:

    [simulated]
    latency = "2us"                   # of an empty message, one way
    bandwidth = "10GB"                # bytes per second
    segments = [{ from = "64K", latency = "5us", bandwidth = "20GB" }]
    noise = { kind = "ar1", spread = 0.05, correlation = 0.6 }
"""

from __future__ import annotations

from typing import Literal

import msgspec


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


class ClockModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clock that moves on in steps of `step` seconds. `claimed` is what it says of that."""

    step: float = 0.0
    claimed: float = 1e-9


class PathModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
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
    clock: ClockModel = ClockModel()
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
