"""Cuts a curve of time over size into straight pieces: where it bends or jumps, one piece ends and
the next begins."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from halftrip.stats.distributions import NORMAL_50, NORMAL_95
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.summary import Summary

# Points may be off a straight piece by this share of the time, as a standard deviation: no real
# curve is straighter, and intervals do not contain differences between sizes, as of alignment.
STRAIGHTNESS = 0.01
# The spread of a point without an interval: only large changes are found there.
UNKNOWN_SPREAD = 0.25
# A further piece must lower the sum of squared errors by this much, in squared standard deviations.
# A piece has two more parameters and the best of all places: by chance, about once in 10**4 curves.
PIECE_COST = 25.0
# So many points before or behind one tell how it scatters, where there are twice as many.
_NEIGHBOURS = 100
# The rounding of sums of squares, which are of the order of the square of 1 / STRAIGHTNESS.
_ROUNDING = 1e-6


class CurvePoint(NamedTuple):
    """One point of a curve.

    `size` is in bytes, `time` one way in ns, `spread` the half width of its 95 % interval relative
    to the time, infinite or NaN where there is none.
    """

    size: int
    time: float
    spread: float

    @classmethod
    def of(cls, size: int, summary: Summary) -> CurvePoint:
        """The point of a configuration of that size."""
        width = summary.high - summary.low
        spread = width / (2 * summary.latency) if summary.latency else math.nan
        return cls(size, summary.latency, spread)


class Joint(NamedTuple):
    """Where two pieces meet: between the points with the indices `low` and `high`.

    `gain` is by how much more one straight line would be off, in squared standard deviations.
    """

    low: int
    high: int
    gain: float


def usable(points: Iterable[CurvePoint]) -> list[CurvePoint]:
    """The points in order of size, each size once, the last one; without those that have no time or
    a time of 0."""
    by_size = {point.size: point for point in points if 0 < point.time < math.inf}
    return [by_size[size] for size in sorted(by_size)]


def joints(curve: Sequence[CurvePoint]) -> list[Joint]:
    """The joints of a curve, ascending; `curve` is as `usable` returns it."""
    size, time, spread = np.array(curve, dtype=np.float64).reshape(-1, 3).T
    weight = deviations(size, time, spread) ** -2
    return joints_of(size, time, weight, pieces(size, time, weight))


def joints_of(
    size: Floats, time: Floats, weight: Floats, starts: Sequence[int], rising: bool = False
) -> list[Joint]:
    """The joints between the pieces that begin at the points with the indices `starts`, which are
    as `pieces` returns them."""
    ends = [*starts[2:], size.size]
    return [
        _locate(size, time, weight, first, end, rising)
        for first, end in zip(starts[:-1], ends, strict=False)
    ]


def deviations(size: Floats, time: Floats, spread: Floats) -> Floats:
    """The standard deviations, ns, by which points are off straight pieces; all shape (n,), as in
    `CurvePoint`."""
    deviation = np.where(np.isfinite(spread), spread, UNKNOWN_SPREAD) / NORMAL_95
    deviation = np.maximum(deviation, STRAIGHTNESS) * time
    return deviation * _scatter(size, time, deviation)


def _scatter(size: Floats, time: Floats, deviation: Floats) -> Floats:
    """The factor by which each point scatters about the curve more than `deviation` (ns), at least
    1, shape (n,) or a single one.

    An interval shows how a configuration varied while it was measured, not how it would differ in
    another hour. Neighbours show that: the distance of each point from the line between the points
    beside it; the median of these, as bends are few (Gasser, Sroka and Jennen-Steinmetz, Biometrika
    73, 1986). Where there are many points, some sizes may scatter more than others: there it is the
    larger one of the medians before and behind a point. All arrays: shape (n,).
    """
    if size.size < 3:
        return np.ones(1)
    share = (size[1:-1] - size[:-2]) / (size[2:] - size[:-2])
    departure = time[1:-1] - (1 - share) * time[:-2] - share * time[2:]
    expected = np.hypot(
        deviation[1:-1], np.hypot((1 - share) * deviation[:-2], share * deviation[2:])
    )
    ratio = np.abs(departure) / expected / NORMAL_50
    overall = max(1.0, median(ratio))
    if ratio.size < 2 * _NEIGHBOURS:
        return np.full(1, overall)
    windows = np.median(sliding_window_view(ratio, _NEIGHBOURS), axis=-1)
    # Point n is in the middle of departure n - 1.
    behind = np.clip(np.arange(-1, size.size - 1), 0, windows.size - 1)
    before = np.clip(behind - _NEIGHBOURS + 1, 0, None)
    found: Floats = np.maximum(overall, np.maximum(windows[before], windows[behind]))
    return found


class _Lines:
    """Weighted least squares of `count` lines at once, one more point at a time.

    Sums about the running means (Welford, Technometrics 4, 1962; West, CACM 22, 1979): squared
    sizes would cancel all digits of a piece that is short and far from 0. `rising`: no line falls
    with the size; one that would is flat.
    """

    def __init__(self, count: int, rising: bool) -> None:
        self._rising = rising
        self._weight, self._x, self._y, self._xx, self._xy, self._yy = np.zeros((6, count))

    def add(self, lines: slice, x: float, y: float, weight: float) -> Floats:
        """Adds a point to some lines. Returns the sum of squared errors of each, shape (lines,)."""
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
        sloped = xy > 0 if self._rising else xx > 0
        explained = np.divide(xy * xy, xx, out=np.zeros_like(xx), where=sloped)
        return np.maximum(yy - explained, 0.0)


def pieces(
    size: Floats,
    time: Floats,
    weight: Floats,
    single_cost: float = PIECE_COST,
    rising: bool = False,
) -> list[int]:
    """The first points, as indices, of the straight pieces that fit the curve best at PIECE_COST
    each, or `single_cost` for a piece of one point; `rising`: none of them falls with the size.

    Bellman and Roth, Curve Fitting by Segmented Straight Lines, JASA 64 (1969): the best pieces up
    to a point are the best up to where its piece begins, and that piece. All arrays: shape (n,).
    """
    n = size.size
    lines = _Lines(n, rising)
    best = np.zeros(n + 1)
    begins = np.zeros(n, dtype=np.int64)
    for last in range(n):
        errors = lines.add(slice(last + 1), size[last], time[last], weight[last])
        total = best[: last + 1] + errors + PIECE_COST
        total[last] += single_cost - PIECE_COST
        begins[last] = np.argmin(total)
        best[last + 1] = total[begins[last]]
    starts: list[int] = []
    end = n
    while end > 0:
        end = int(begins[end - 1])
        starts.append(end)
    return starts[::-1]


def _errors(size: Floats, time: Floats, weight: Floats, rising: bool) -> Floats:
    """The squared error of the line through the first 1, 2, ... n points, shape (n,).

    As `_Lines`, of one line: for so few figures numpy's calls would take ten times as long.
    """
    errors = []
    total = mean_x = mean_y = xx = xy = yy = 0.0
    for x, y, w in zip(size.tolist(), time.tolist(), weight.tolist(), strict=True):
        before = total
        total += w
        share = w / total
        dx, dy = x - mean_x, y - mean_y
        mean_x += share * dx
        mean_y += share * dy
        xx += share * before * dx * dx
        xy += share * before * dx * dy
        yy += share * before * dy * dy
        sloped = xy > 0 if rising else xx > 0
        errors.append(max(yy - (xy * xy / xx if sloped else 0.0), 0.0))
    return np.array(errors)


def _locate(
    size: Floats, time: Floats, weight: Floats, first: int, end: int, rising: bool
) -> Joint:
    """The joint between the two pieces that the points `first` to `end` - 1 consist of.

    It spans all splits that do not fit significantly worse than the best: a likelihood-ratio
    interval. This is scaled by the errors of the best split, or a change of slope in clean data
    would seem known no better than STRAIGHTNESS allows.
    """
    x, y, w = size[first:end], time[first:end], weight[first:end]
    before = _errors(x, y, w, rising)
    # Backwards, in size and time, a line rises where it does so forwards.
    after = _errors(-x[::-1], -y[::-1], w[::-1], rising)[::-1]
    split = before[:-1] + after[1:]
    least = float(split.min())
    dof = x.size - 4
    scale = least / dof if dof > 0 else 1.0
    # The 95 % quantile of chi-square for a place and two parameters; about that of F for few
    # points. Simulated with noise of half a per cent, it holds a change of slope in 98 % of
    # cases.
    limit = least + scale * (8.0 + 20.0 / max(1, dof)) + _ROUNDING
    as_good = np.flatnonzero(split <= limit)
    return Joint(
        low=first + int(as_good[0]),
        high=first + int(as_good[-1]) + 1,
        gain=float(before[-1]) - least,
    )
