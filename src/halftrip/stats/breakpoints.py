"""Where a curve of time over size bends or jumps, and what to measure to know that better.

The idea is mpptest's (Gropp and Lusk, Reproducible Measurements of MPI Performance Characteristics,
1999): measure between the sizes of the schedule, and halve where the curve is not straight. mpptest
compares each middle with the line between its neighbours, which loses a change of slope: it departs
the less from that line the closer one looks, and not at all where it falls on a scheduled size.
Here the whole curve is taken apart into straight pieces, and the gaps between pieces are halved; a
jump and a change of slope are both places where one piece ends and the next begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# A bend is located once it is known within so many bytes, or within this share of its size.
RESOLUTION_BYTES = 8
RESOLUTION_SHARE = 0.01
# A straight piece may be off by this share of the time, as a standard deviation: no real curve is
# straighter, and an interval does not know what differs from one size to the next (alignment).
STRAIGHTNESS = 0.01
# What stands for an interval that could not be had: only what is far off is seen then.
UNKNOWN_SPREAD = 0.25
# By how much a further piece must lower the sum of squared errors, in standard deviations. Two more
# numbers and a place, chosen as the best of all: by chance, about once in 10**4 curves.
PIECE_COST = 25.0
# A bend that may be in any of so many gaps, equally wide, is hidden by noise, and more of them
# would not show it: how well it is known where lines cross depends on how long they are.
HIDDEN = 8
# The rounding of sums of squares, which are of the order of the square of 1 / STRAIGHTNESS.
_ROUNDING = 1e-6


class Point(NamedTuple):
    """One measured size.

    `size` in bytes, `time` one way in ns, `spread` the half width of its 95 % interval relative to
    the time, infinite or NaN where there is none.
    """

    size: int
    time: float
    spread: float


class Bend(NamedTuple):
    """Sizes in bytes: at `low` the curve still runs as before the bend, at `high` as after it."""

    low: int
    high: int


class _Joint(NamedTuple):
    """Where two pieces meet: between the points with the indices `low` and `high`.

    `gain` is how much worse one straight line would do, in squared standard deviations.
    """

    low: int
    high: int
    gain: float


def next_sizes(
    points: Iterable[Point], schedule: Sequence[int], budget: int = 200
) -> tuple[int, ...]:
    """What to measure next to locate the bends of one curve; empty when nothing is left to do.

    `points` is all that was tried so far, in any order; of a size that is there twice, the later
    counts, and one that could not be measured has the time NaN, or it is asked for again.
    `schedule` is the sizes that were asked for. First come the middles of the schedule's intervals,
    then those of the gaps in which the curve may bend, clearest bends first, until the bend is
    known within RESOLUTION_BYTES or RESOLUTION_SHARE of its size, or it is noise that hides it
    among so many. In all calls together never more than `budget` sizes outside the schedule.
    """
    points = list(points)
    tried = {point.size for point in points}
    curve = _usable(points)
    measured = {point.size for point in curve}
    asked = sorted(set(schedule))
    wanted = [
        _middle(low, high)
        for low, high in pairwise(asked)
        if {low, high} <= measured and _divisible(low, high)
    ]
    for joint in sorted(_joints(curve), key=lambda joint: -joint.gain):
        within = curve[joint.low : joint.high + 1]
        if not _divisible(within[0].size, within[-1].size):
            continue
        width = within[-1].size - within[0].size
        # Half the resolution: what falls exactly on a measured size is in the gaps on both sides.
        wanted += [
            _middle(low.size, high.size)
            for low, high in pairwise(within)
            if _divisible(low.size, high.size, 0.5) and high.size - low.size > width / HIDDEN
        ]
    left = budget - len(tried.difference(asked))
    fresh = [size for size in dict.fromkeys(wanted) if size not in tried]
    return tuple(fresh[: max(0, left)])


def bends(points: Iterable[Point]) -> tuple[Bend, ...]:
    """Where the curve through `points` bends or jumps, ascending, as well as these points tell.

    A jump lies between two neighbouring points. A change of slope is known as well as the noise
    allows: its interval, at about 95 %, may span many points and be wider than the resolution.
    """
    curve = _usable(points)
    return tuple(Bend(curve[joint.low].size, curve[joint.high].size) for joint in _joints(curve))


def _middle(low: int, high: int) -> int:
    return (low + high) // 2


def _divisible(low: int, high: int, share: float = 1.0) -> bool:
    """Whether these sizes are further apart than this share of the resolution."""
    return high - low > share * max(RESOLUTION_BYTES, RESOLUTION_SHARE * low)


def _usable(points: Iterable[Point]) -> list[Point]:
    """Ascending, each size once; without those that took no time a clock could see."""
    by_size = {point.size: point for point in points if 0 < point.time < math.inf}
    return [by_size[size] for size in sorted(by_size)]


def _joints(curve: Sequence[Point]) -> list[_Joint]:
    columns = np.array(curve, dtype=np.float64).reshape(-1, 3)
    size, time, spread = columns.T
    # Half a 95 % interval of a normal distribution is 1.96 standard deviations.
    deviation = np.where(np.isfinite(spread), spread, UNKNOWN_SPREAD) / 1.96
    deviation = np.maximum(deviation, STRAIGHTNESS) * time
    weight = (deviation * _unrest(size, time, deviation)) ** -2
    starts = _pieces(size, time, weight)
    ends = [*starts[2:], len(curve)]
    return [
        _locate(size, time, weight, first, end)
        for first, end in zip(starts[:-1], ends, strict=False)
    ]


def _unrest(size: Floats, time: Floats, deviation: Floats) -> float:
    """How many times more than `deviation` (ns) the points scatter about the curve, at least 1.

    An interval tells how a case varied while it lasted, not how it would differ in another hour.
    Neighbours do: how far each point is from the line between those beside it; the median, as bends
    are few (Gasser, Sroka and Jennen-Steinmetz, Biometrika 73, 1986). All arrays: shape (n,).
    """
    if size.size < 3:
        return 1.0
    share = (size[1:-1] - size[:-2]) / (size[2:] - size[:-2])
    departure = time[1:-1] - (1 - share) * time[:-2] - share * time[2:]
    expected = np.hypot(
        deviation[1:-1], np.hypot((1 - share) * deviation[:-2], share * deviation[2:])
    )
    # Half of a normal distribution lies within 0.6745 standard deviations.
    return max(1.0, float(np.median(np.abs(departure) / expected)) / 0.6745)


class _Lines:
    """Weighted least squares of `count` lines at once, one more point at a time.

    Sums about the running means (Welford, Technometrics 4, 1962; West, CACM 22, 1979): squared
    sizes would cancel all digits of a piece that is short and far from 0.
    """

    def __init__(self, count: int) -> None:
        self._weight, self._x, self._y, self._xx, self._xy, self._yy = np.zeros((6, count))

    def add(self, lines: slice, x: float, y: float, weight: float) -> Floats:
        """Adds a point to some lines; the sum of squared errors of each of them, shape (lines,)."""
        before = self._weight[lines].copy()
        self._weight[lines] += weight
        share = weight / self._weight[lines]
        dx, dy = x - self._x[lines], y - self._y[lines]
        self._x[lines] += share * dx
        self._y[lines] += share * dy
        self._xx[lines] += share * before * dx * dx
        self._xy[lines] += share * before * dx * dy
        self._yy[lines] += share * before * dy * dy
        xx, xy, yy = self._xx[lines], self._xy[lines], self._yy[lines]
        explained = np.divide(xy * xy, xx, out=np.zeros_like(xx), where=xx > 0)
        return np.maximum(yy - explained, 0.0)


def _pieces(size: Floats, time: Floats, weight: Floats) -> list[int]:
    """Where the straight pieces begin, as indices, that fit the curve best at PIECE_COST each.

    Bellman and Roth, Curve Fitting by Segmented Straight Lines, JASA 64 (1969): the best pieces up
    to a point are the best up to where its piece begins, and that piece. All arrays: shape (n,).
    """
    n = size.size
    lines = _Lines(n)
    best = np.zeros(n + 1)
    begins = np.zeros(n, dtype=np.int64)
    for last in range(n):
        errors = lines.add(slice(last + 1), size[last], time[last], weight[last])
        total = best[: last + 1] + errors + PIECE_COST
        begins[last] = np.argmin(total)
        best[last + 1] = total[begins[last]]
    starts: list[int] = []
    end = n
    while end > 0:
        end = int(begins[end - 1])
        starts.append(end)
    return starts[::-1]


def _errors(size: Floats, time: Floats, weight: Floats) -> Floats:
    """The squared error of the line through the first 1, 2, ... n points, shape (n,)."""
    lines = _Lines(1)
    return np.array(
        [lines.add(slice(1), *point)[0] for point in zip(size, time, weight, strict=True)]
    )


def _locate(size: Floats, time: Floats, weight: Floats, first: int, end: int) -> _Joint:
    """The joint between the two pieces that the points `first` to `end` - 1 are made of.

    Every split that fits not significantly worse than the best belongs to it: a likelihood-ratio
    interval, scaled by how well the best one fits, or a change of slope in clean data would seem no
    better known than STRAIGHTNESS lets it.
    """
    x, y, w = size[first:end], time[first:end], weight[first:end]
    before = _errors(x, y, w)
    after = _errors(x[::-1], y[::-1], w[::-1])[::-1]
    split = before[:-1] + after[1:]
    least = float(split.min())
    dof = x.size - 4
    scale = least / dof if dof > 0 else 1.0
    # The 95 % quantile of chi-square for a place and two numbers; about that of F for few points.
    # Simulated, it holds a change of slope in 98 % of all cases with noise of half a per cent.
    limit = least + scale * (8.0 + 20.0 / max(1, dof)) + _ROUNDING
    as_good = np.flatnonzero(split <= limit)
    return _Joint(
        low=first + int(as_good[0]),
        high=first + int(as_good[-1]) + 1,
        gain=float(before[-1]) - least,
    )
