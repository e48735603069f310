"""Changes in the course of a configuration: a trend, or steps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.stats.autocorrelation import ranks
from halftrip.stats.distributions import NORMAL_50, NORMAL_99
from halftrip.stats.granularity import counted
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats, Samples

Places = npt.NDArray[np.intp]

# Enough points for a slope; its test has fewer, so that their blocks are longer than correlations.
_SLOPE_BLOCKS = 120
_TEST_BLOCKS = 30
_FEWEST_FOR_TREND = 10

# That some slices are all slower than the others is known only if at least this many choices of as
# many slices are possible.
_FEWEST_ORDERS = 200

_STEP_BLOCKS = 200
# In shorter blocks, correlated noise alone makes the medians of neighbours similar.
_FEWEST_IN_BLOCK = 8
# A level of fewer blocks is a spike.
_SHORTEST_LEVEL = 5
# The largest autocorrelation of block medians that is believed. Blocks of eight samples with one of
# 0.6 have 0.2, with one of 0.9 have 0.6. Much more, from few blocks, is chance, and would hide a
# step.
_MOST_LAG1 = 0.5
# A change must lower the sum of squares by this many long-run variances and 2 ln(number of blocks).
_PENALTY = 14.0
# Several levels have to explain the price of all but one of them. They cannot where the best first
# and the best last level together explain less than one price, and no level in between does: than
# this share of it, because of rounding.
_TOO_LITTLE = 0.999


class Trend(NamedTuple):
    """`slope_share`: the rise of the samples from first to last, as a share of their median;
    `significant`: chance alone gives such a trend in less than 1 % of cases."""

    slope_share: float
    significant: bool


class ChangePoint(msgspec.Struct, frozen=True):
    """From sample `index` on the median is `after`; it was `before`. Both in the samples' unit."""

    index: int
    before: float
    after: float


def trend(samples: Samples) -> Trend:
    """The trend of `samples`, shape (n,), in time order; of fewer than ten samples, none.

    Its size is the median of the slopes between all pairs of points (Sen, Journal of the American
    Statistical Association 63, 1968), its significance that of Kendall's test against time (Mann,
    Econometrica 13, 1945), with the variance of the statistic for correlated points (Hamed and Rao,
    Journal of Hydrology 204, 1998). The points are medians of blocks.
    """
    if samples.size < _FEWEST_FOR_TREND:
        return Trend(0.0, False)
    middle = median(samples)
    points, length = block_medians(samples, _SLOPE_BLOCKS)
    slope = _slope(points) / length
    share = slope * samples.size / middle if middle > 0 else math.nan
    tested, _ = block_medians(samples, _TEST_BLOCKS)
    return Trend(share, abs(_kendall_z(tested)) > NORMAL_99)


def slice_trend(medians: Sequence[float]) -> Trend:
    """The trend of the medians of slices in time order, at least two; see `trend`."""
    points = np.asarray(medians, dtype=np.float64)
    middle = median(points)
    share = _slope(points) * points.size / middle if middle > 0 else math.nan
    return Trend(share, abs(_kendall_z(points)) > NORMAL_99)


def level_change(medians: Sequence[float], least: float) -> ChangePoint | None:
    """The slice from which on all slices are slower, or all are faster, than all before it, by more
    than the share `least` from median to median; the largest such change. None where chance alone
    separates that many slices from the others in more than 1 % of cases: always, of fewer
    than ten.
    """
    points = np.asarray(medians, dtype=np.float64)
    found: list[ChangePoint] = []
    for place in range(1, points.size):
        if math.comb(points.size, place) < _FEWEST_ORDERS:
            continue
        before, after = points[:place], points[place:]
        if before.max() < after.min() or before.min() > after.max():
            found.append(ChangePoint(place, median(before), median(after)))
    largest = max(found, key=lambda change: abs(change.after - change.before), default=None)
    if largest is None or abs(largest.after - largest.before) <= least * abs(largest.before):
        return None
    return largest


@lru_cache(maxsize=128)
def _pairs(n: int) -> tuple[Places, Places, Places]:
    """All pairs of n points, shape (n (n - 1) / 2,): the earlier one, the later one, and how many
    points they are apart. Numbers of blocks and of slices are few, and recur."""
    early, late = np.triu_indices(n, 1)
    return early, late, late - early


def _slope(points: Floats) -> float:
    """The median slope, per point."""
    early, late, apart = _pairs(points.size)
    return median((points[late] - points[early]) / apart)


def _kendall_z(points: Floats) -> float:
    """Kendall's statistic of `points` against time, in its standard deviations."""
    n = points.size
    early, late, _ = _pairs(n)
    score = float(np.sign(points[late] - points[early]).sum())
    _, ties = counted(np.sort(points))
    variance = (n * (n - 1) * (2 * n + 5) - float(np.sum(ties * (ties - 1) * (2 * ties + 5)))) / 18
    if variance <= 0:
        return 0.0
    variance *= _inflation(points - _slope(points) * np.arange(n))
    # One less: a continuity correction, since a score is whole.
    return math.copysign(max(0.0, abs(score) - 1.0), score) / math.sqrt(variance)


def _inflation(residuals: Floats) -> float:
    """The factor by which correlation increases the variance of Kendall's statistic: Hamed and Rao,
    equation 9, for ranks correlated like a first-order autoregression."""
    n = residuals.size
    series = ranks(residuals)
    series -= series.mean()
    square = float(series @ series)
    if square <= 0:
        return 1.0
    lag1 = float(series[1:] @ series[:-1]) / square
    # Corrects the bias of an estimate from few points, most of which is due to the subtracted slope
    # (Kendall, Biometrika 41, 1954).
    lag1 = min(0.9, max(0.0, lag1 + (2.0 + 4.0 * lag1) / n))
    lags = np.arange(1, n)
    weights = (n - lags) * (n - lags - 1.0) * (n - lags - 2.0)
    return 1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * float(weights @ lag1**lags)


def change_points(samples: Samples, least: float = 0.0) -> list[ChangePoint]:
    """The places where the level of `samples`, shape (n,), in time order, changes by more than the
    share `least` of the level before.

    They come from the partition of the medians of at most 200 blocks that lowers the sum of squares
    most, at a price for each change (Jackson et al., An algorithm for optimal partitioning of data
    on an interval, IEEE Signal Processing Letters 12, 2005: dynamic programming, exact). The price
    is in long-run variances, so that correlated noise does not pass for changes: less than 1 % of
    series with a first-order autocorrelation of 0.6 show one, up to 4 % with 0.9.
    """
    most = min(_STEP_BLOCKS, samples.size // _FEWEST_IN_BLOCK)
    if most < 2 * _SHORTEST_LEVEL:
        return []
    points, length = block_medians(samples, most)
    variance = _level_variance(points)
    if variance <= 0:
        # Nearly all blocks are equal: each step of a coarse clock would be a change.
        variance = float(points.var()) or 1.0
    price = variance * (_PENALTY + 2.0 * math.log(points.size))
    bounds = [0, *(length * end for end in partition(points, price)), samples.size]
    return _describe(samples, bounds, length, least)


def _level_variance(points: Floats) -> float:
    """The long-run variance of `points` about levels with a few steps.

    A few steps hardly change the median of differences. In a first-order autoregression, the
    variance of differences over two points is 1 + the lag-1 autocorrelation times that over one.
    """
    one = median(np.abs(np.diff(points))) / NORMAL_50
    two = median(np.abs(points[2:] - points[:-2])) / NORMAL_50
    if one <= 0:
        return 0.0
    lag1 = min(_MOST_LAG1, max(0.0, (two / one) ** 2 - 1.0))
    return one**2 / 2 * (1.0 + lag1) / (1.0 - lag1) ** 2


def partition(points: Floats, price: float) -> list[int]:
    """The ends of the levels of the best partition at this price for each level, as indices,
    without the end of the last."""
    n = points.size
    sums = np.concatenate(([0.0], np.cumsum(points - points.mean())))
    # For each end, the most that levels up to there explain: a level explains its sum squared over
    # its length.
    best = np.full(n + 1, -math.inf)
    best[0] = 0.0
    start_of = [0] * (n + 1)
    # What a level from each start (along a row) to each end explains, computed at once; nothing of
    # levels that are too short.
    places = np.arange(n + 1)
    lengths = (places[:, np.newaxis] - places).astype(np.float64)
    lengths[lengths < _SHORTEST_LEVEL] = np.inf
    by_level = (sums[:, np.newaxis] - sums) ** 2 / lengths
    outer = by_level[:, 0].max() + by_level[n].max()
    if max(outer, by_level.max()) < _TOO_LITTLE * price:
        return []
    explained = np.empty(n + 1)
    for end in range(_SHORTEST_LEVEL, n + 1):
        count = end - _SHORTEST_LEVEL + 1
        with_level = np.add(best[:count], by_level[end, :count], out=explained[:count])
        with_level -= price
        start = int(with_level.argmax())
        start_of[end] = start
        best[end] = with_level[start]
    ends = []
    end = start_of[n]
    while end > 0:
        ends.append(end)
        end = start_of[end]
    return ends[::-1]


def _describe(samples: Samples, bounds: list[int], length: int, least: float) -> list[ChangePoint]:
    """The large enough changes at the inner `bounds`, each moved from there to its own sample."""
    found: list[ChangePoint] = []
    start = bounds[0]
    for place, end in itertools.pairwise(bounds[1:]):
        before = median(samples[start:place])
        after = median(samples[place:end])
        if abs(after - before) <= least * abs(before):
            continue
        # Within a block on either side, the place with the most samples on their own side of the
        # mean of both levels.
        first = max(start, place - length)
        window = samples[first : min(end, place + length)]
        above = np.sign(window - (before + after) / 2) * math.copysign(1.0, after - before)
        index = first + int(np.argmin(np.concatenate(([0.0], np.cumsum(above)))))
        found.append(ChangePoint(index, before, after))
        start = index
    return found


def block_medians(samples: Samples, most: int) -> tuple[Floats, int]:
    """The medians of at most `most` blocks of equal length, and that length, in samples.

    `samples` has shape (n,), n >= 1. The last n modulo the length belong to no block.
    """
    length = -(-samples.size // most)
    blocks = samples.size // length
    # As np.median, which at its first call imports a package for masked arrays.
    ordered = samples[: blocks * length].reshape(blocks, length).astype(np.float64)
    ordered.sort(axis=1)
    medians: Floats = (ordered[:, (length - 1) // 2] + ordered[:, length // 2]) / 2
    return medians, length
