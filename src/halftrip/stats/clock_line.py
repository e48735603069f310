"""How far one clock is ahead of another at a moment: a line through comparisons of the two.

Two clocks of which each keeps its rate differ by a straight line of time. That is how S. Hunold and
A. Carpen-Amarie compare clocks of several hosts ("On the impact of synchronizing clocks and
processes on benchmarking MPI collectives", EuroMPI 2015; "Hierarchical clock synchronization in
MPI", IEEE CLUSTER 2018). A comparison cannot tell an offset from a path that is slower in one
direction, so it may be wrong by half of its round trip (F. Cristian, "Probabilistic clock
synchronization", Distributed Computing 3, 1989), and so may any line through several of them.

Without numpy: there are few comparisons near a moment, and many moments.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

# The rates of two clocks differ by no more than this: crystals keep theirs to 100 ppm.
MOST_DRIFT = 200e-6
# Rates change with the temperature, so that only comparisons within this time of a moment count,
# ns; at least _NEAREST before and after it, and at most _MOST of each.
_WINDOW_NS = 15_000_000_000
_NEAREST = 2
_MOST = 16
# No comparison is better than this, ns.
_LEAST_ERROR = 1.0


class MeasuredOffset(NamedTuple):
    """At a moment `at`, ns by the first clock, the second was ahead by so many ns, give or take
    `error`."""

    at: int
    ahead: int
    error: float


class Offset(NamedTuple):
    """How far the second clock is ahead, ns, give or take `error`."""

    ahead: int
    error: float


class ClockLine:
    """The difference of two clocks over time, by one or more comparisons."""

    def __init__(self, comparisons: Iterable[MeasuredOffset]) -> None:
        self._all = sorted(comparisons)
        self._moments = [each.at for each in self._all]

    @property
    def first(self) -> int:
        """The moment of the first comparison."""
        return self._moments[0]

    def at(self, moment: int) -> Offset:
        """The difference at a moment of the first clock, ns: by a line, or by a single comparison
        where that says more, as where there is no other."""
        near = self._near(moment)
        found = [_by_one(each, moment) for each in near]
        if near[0].at < near[-1].at:
            found.append(_by_line(near, moment))
        return min(found, key=lambda reading: reading.error)

    def _near(self, moment: int) -> list[MeasuredOffset]:
        here = bisect_left(self._moments, moment)
        first = bisect_left(self._moments, moment - _WINDOW_NS)
        last = bisect_left(self._moments, moment + _WINDOW_NS)
        first = max(0, here - _MOST, min(first, here - _NEAREST))
        return self._all[first : min(here + _MOST, max(last, here + _NEAREST))]


def _by_one(comparison: MeasuredOffset, moment: int) -> Offset:
    return Offset(comparison.ahead, comparison.error + MOST_DRIFT * abs(moment - comparison.at))


def _by_line(near: list[MeasuredOffset], moment: int) -> Offset:
    """By weighted least squares. The line at a moment is a sum of the comparisons, each times a
    share: so far may their errors move it together. What they miss it by shows rates that were not
    constant, and moves it as much again."""
    at, ahead = near[0].at, near[0].ahead
    times = [float(each.at - at) for each in near]
    values = [float(each.ahead - ahead) for each in near]
    errors = [max(each.error, _LEAST_ERROR) for each in near]
    weights = [1.0 / error**2 for error in errors]
    total = sum(weights)
    weights = [weight / total for weight in weights]
    middle = _product(weights, times)
    level = _product(weights, values)
    away = [time - middle for time in times]
    spread = _product(weights, [each**2 for each in away])
    slope = _product(weights, [a * b for a, b in zip(away, values, strict=True)]) / spread
    distance = moment - at - middle
    shares = [
        weight * (1.0 + each * distance / spread)
        for weight, each in zip(weights, away, strict=True)
    ]
    missed = [abs(value - level - slope * each) for value, each in zip(values, away, strict=True)]
    error = sum(
        abs(share) * (own + miss) for share, own, miss in zip(shares, errors, missed, strict=True)
    )
    return Offset(ahead + round(level + slope * distance), error)


def _product(first: Iterable[float], second: Iterable[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))
