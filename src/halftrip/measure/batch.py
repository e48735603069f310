"""What a sampler requests, and what it is given."""

from __future__ import annotations

import math

import msgspec

from halftrip.plan.plan import Plan
from halftrip.plan.slices import MOST_SHOWN_TIMES, planned_slices
from halftrip.results.block import Times

# The cost of the clock readings in a sample, or a step of the clock, may be this share of it.
CLOCK_SHARE = 0.01
# Untimed iterations before the first batches, so that both ends are in the loop.
UNTIMED_ITERATIONS = 1
# Before a batch whose samples are kept, so many, or as many as take so long, whichever is more:
# what ran between two batches has displaced the loop's code and data from the caches.
_WARM_ITERATIONS, _WARM_NS = 3, 20_000.0
# Before the first batch of a later slice, which has no warm-up of its own: as many as take so long.
_LATER_WARM_NS = 200_000.0
# But beyond the first no more than take this long: a cold cache costs microseconds.
_LONGEST_WARM_NS = 1e6


class Stopping(msgspec.Struct, frozen=True):
    """When a slice ends: with the interval of its median within half of `ci`, or after `time`
    seconds. Each of `slices` slices may keep its part of MOST_SAMPLES. It begins with `warmup`
    iterations of warm-up; None: until the times have settled."""

    ci: float | None = 0.01
    time: float = 0.03
    slices: int = 1
    warmup: int | None = None


def stopping(plan: Plan) -> Stopping:
    """When the slices of a configuration of `plan` end."""
    slices = planned_slices(plan)
    of_run = slices * (plan.launches * MOST_SHOWN_TIMES if plan.dealt else 1)
    return Stopping(ci=plan.ci, time=plan.time / slices, slices=of_run, warmup=plan.warmup)


def untimed_iterations(ns: float, begins: bool = False) -> int:
    """How many untimed iterations go before a batch whose samples are kept, where an iteration
    takes `ns`. `begins`: other configurations were measured just before it."""
    count = max(_WARM_ITERATIONS, math.ceil((_LATER_WARM_NS if begins else _WARM_NS) / ns))
    return max(UNTIMED_ITERATIONS, min(count, int(_LONGEST_WARM_NS / ns)))


class Batch(msgspec.Struct, frozen=True):
    """What to time next: `samples` samples of `iterations` iterations each, after `untimed`
    iterations.

    `cold`: this is the first iteration of the configuration, so no untimed one precedes it, and the
    initiator gives its peer time to get ready. `keep`: the times become a block of the measurement.
    `arrivals`: the responder of a ping-pong says when each message arrived. `counts`: hardware
    counters count meanwhile, so that the times are of no use.
    """

    iterations: int
    samples: int
    untimed: int = UNTIMED_ITERATIONS
    cold: bool = False
    keep: bool = False
    arrivals: bool = False
    counts: bool = False

    @property
    def total_iterations(self) -> int:
        """Timed and untimed."""
        return self.untimed + self.iterations * self.samples


class MeanTimes:
    """The mean time of an iteration, ns, of the latest batch and of all of a slice that were warm:
    where times are of two levels, the latest batch may have been at the fast one only."""

    def __init__(self) -> None:
        self._latest = self._ns = 0.0
        self._iterations = 0

    def begin_slice(self) -> None:
        self._latest, self._ns, self._iterations = self.longest, 0.0, 0

    def take(self, times: Times, held: int, is_warm: bool) -> None:
        """Takes the samples of a batch, at least one, each of so many iterations."""
        self._latest = float(times.mean()) / held
        if is_warm:
            self._ns += float(times.sum())
            self._iterations += times.size * held

    @property
    def longest(self) -> float:
        """The longer one of both."""
        return max(self._latest, self._ns / max(self._iterations, 1))


class Sampled:
    """The result of a batch: the times of its samples, shape (n,), ns, and the time spent waiting
    for replies that did not come, ns; `elapsed` is the sum of both."""

    def __init__(self, times: Times, timed_out: int = 0) -> None:
        self.times = times
        self.timed_out = timed_out
        self.elapsed = int(times.sum()) + timed_out


class Arrivals:
    """Of one configuration. `cost` is that of the clock readings in a sample of which the
    responder's is one, ns; None: it never says so."""

    def __init__(self, cost: float | None) -> None:
        self._cost = cost
        # The same for all samples, as the reading is in their times.
        self._are_cheap: bool | None = None

    def are_wanted(self, iterations: int, sample_ns: float) -> bool:
        """Whether it says so in a batch whose samples have so many iterations and take about
        `sample_ns`: only where a sample is one iteration, and at the first such batch took long
        enough for the readings."""
        if iterations > 1 or self._cost is None:
            return False
        if self._are_cheap is None:
            self._are_cheap = self._cost <= CLOCK_SHARE * sample_ns
        return self._are_cheap
