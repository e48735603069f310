"""The model of a simulated path, whose known properties every estimate has to recover.

It is a table of the plan:

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
    """From `start` bytes on, a message takes `latency` seconds one way, and 1 / `bandwidth` more
    for each byte; None: as below `start`."""

    start: int
    latency: float | None = None
    bandwidth: float | None = None


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A random factor for the time of each iteration, with a median of 1: none, lognormal with
    `spread` as the standard deviation of the logarithm, the same as a first-order autoregression
    (ar1) with `correlation` from one iteration to the next, or a floor and beyond it `spread` times
    a Pareto variable of exponent 1.5 (pareto), whose variance is infinite.

    The median is that of single iterations. A sample of several is a sum, whose median is nearer to
    its mean, so it is larger, by up to the share `spread` ** 2 / 2."""

    kind: Literal["none", "lognormal", "ar1", "pareto"] = "none"
    spread: float = 0.0
    correlation: float = 0.0


class Spikes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `share` of the iterations takes `extra` seconds longer."""

    share: float = 0.0
    extra: float = 0.0


class Modes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A second state, in which iterations take `factor` times as long. It holds for the `share` of
    the time, `dwell` seconds at a time on average. With `moves_core_to_core`, the core-to-core
    round trip takes `factor` times as long then, too, as it does when virtual cores move apart."""

    factor: float = 1.0
    share: float = 0.0
    dwell: float = 0.01
    moves_core_to_core: bool = False


class Wander(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A level that wanders about 1 and comes back: all iterations take exp(x) times as long, where
    x is a stationary Ornstein-Uhlenbeck process in virtual time with the standard deviation
    `spread`, which forgets within `time_constant` seconds. With `moves_core_to_core`, the
    core-to-core round trip wanders with it."""

    spread: float = 0.0
    time_constant: float = 0.02
    moves_core_to_core: bool = False


class Ramp(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A path that has to warm up: iterations are slower by the share `slower` when it is opened,
    and by that times exp(-t / `time_constant`) t seconds of virtual time later."""

    slower: float = 0.0
    time_constant: float = 0.02


class ClockModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A clock with steps of `step` seconds, which reports `claimed` seconds as its resolution."""

    step: float = 0.0
    claimed: float = 1e-9


class PathModel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The properties of a simulated path. Times are seconds, `bandwidth` is bytes per second.

    `segments` are changes from some size on. `first` is how much longer the first iteration takes;
    iteration n takes exp(-n / `warm_up`) of that longer, or with a `warm_up` of 0, only the first.
    `drift` is the share by which iterations get slower in each second. `loss` is the share of
    iterations that are lost and take a timeout. `launch` is the spread of a random factor for each
    launch (the standard deviation of its logarithm). `core_to_core` is the core-to-core round trip.

    `send_overhead` and `receive_overhead` are the parts of `latency` in which an end is busy with
    its call, `gap` the least time between the starts of two empty messages: o_s, o_r and g of the
    model LogGP. All else of `latency` is L.
    """

    latency: float = 1e-6
    bandwidth: float = 10e9
    segments: tuple[Segment, ...] = ()
    noise: Noise = Noise(kind="lognormal", spread=0.02)
    spikes: Spikes = Spikes()
    modes: Modes = Modes()
    wander: Wander = Wander()
    ramp: Ramp = Ramp()
    drift: float = 0.0
    first: float = 0.0
    warm_up: int = 0
    clock: ClockModel = ClockModel()
    loss: float = 0.0
    launch: float = 0.0
    core_to_core: float = 100e-9
    send_overhead: float = 0.0
    receive_overhead: float = 0.0
    gap: float = 0.0
    seed: int = 1

    def one_way(self, size: int) -> float:
        """The time of a message of `size` bytes one way in the usual state, without noise, s."""
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
