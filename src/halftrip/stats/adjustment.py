"""How times depend on the core-to-core round trip (RTT)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.autocorrelation import ranks
from halftrip.stats.distributions import NORMAL_95, NORMAL_99
from halftrip.stats.interval import between_neighbours
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.quantile import Floats

# Round trips of which the longest takes no more than this many times the shortest do not vary:
# probes at one moment differ by as much.
_VARIES = 1.05
# A larger logarithm of a time, or of a bound beside it, says nothing, and exp() overflows.
_WIDEST = 100.0
# With fewer points, their rank correlation is not nearly normal, and little is significant.
_FEWEST_FOR_CORRELATION = 10


class Adjusted(NamedTuple):
    """The median time at a given core-to-core round trip, and its 95 % interval, in the unit of the
    times. A round trip that takes 1 % longer goes with times that take `exponent` % longer."""

    median: float
    low: float
    high: float
    exponent: float


def adjusted(rtts: Sequence[float], medians: Sequence[float], rtt: float) -> Adjusted | None:
    """The median time at a core-to-core round trip of `rtt` ns, from the medians of slices, in
    time order, and the round trip in each, ns (NaN: not known). None with fewer than six slices whose round trip is
    known, where that did not vary, where a median is 0, and where nothing can be said of `rtt`.

    A straight line through the logarithms: its slope is the median of the slopes between all pairs
    of slices, and its interval that of Kendall's score (Theil, 1950; Sen, Journal of the American
    Statistical Association 63, 1968), so that a few disturbed slices do not matter. The interval at
    `rtt` is that of the median of the slices, each moved there along the slope, and widened by the
    error of the slope, the more the farther away `rtt` is from theirs.
    """
    known = [(x, y) for x, y in zip(rtts, medians, strict=True) if x > 0]
    if len(known) < FEWEST_FOR_INTERVAL or min(y for _, y in known) <= 0 or not rtt > 0:
        return None
    x, y = np.log(np.array(known)).T
    if x.max() - x.min() <= math.log(_VARIES):
        return None
    slope, slope_error = _slope(x, y)
    moved = y + slope * (math.log(rtt) - x)
    middle = median(moved)
    # There are six or more, so it is by order statistics.
    bounds = between_neighbours(moved)
    if bounds is None:
        return None
    far = slope_error * abs(math.log(rtt) - median(x))
    below = math.hypot(middle - bounds.low, far)
    above = math.hypot(bounds.high - middle, far)
    if max(abs(middle), below, above) > _WIDEST:
        return None
    low, middle, high = np.exp([middle - below, middle, middle + above]).tolist()
    return Adjusted(middle, low, high, slope)


def common_exponent(
    groups: Sequence[tuple[Sequence[float], Sequence[float]]],
) -> tuple[float, float] | None:
    """By how many per cent times get longer with a core-to-core round trip that is 1 % longer, and
    the wider side of its 95 % interval, as it shows within each of several groups of round trips
    and times, whatever they differ by. Each group counts by its distance from its own medians. None
    where a round trip or a time is not known, with fewer than six points, and where round trips did
    not vary within the groups. The method is that of `adjusted`."""
    xs, ys = [], []
    for rtts, times in groups:
        if not all(value > 0 for value in (*rtts, *times)):
            return None
        x, y = np.log(np.asarray(rtts)), np.log(np.asarray(times))
        xs.append(x - median(x))
        ys.append(y - median(y))
    x, y = np.concatenate(xs), np.concatenate(ys)
    if x.size < FEWEST_FOR_INTERVAL or x.max() - x.min() <= math.log(_VARIES):
        return None
    return _slope(x, y)


def _slope(x: Floats, y: Floats) -> tuple[float, float]:
    """The slope through these points, and the wider side of its 95 % interval."""
    n = x.size
    early, late = np.triu_indices(n, 1)
    apart = x[late] != x[early]
    early, late = early[apart], late[apart]
    slopes = np.sort((y[late] - y[early]) / (x[late] - x[early]))
    middle = median(slopes)
    # The score of slopes above and below the true one has the variance of Kendall's.
    score = NORMAL_95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18.0)
    outside = max(0, math.floor((slopes.size - score) / 2.0))
    low, high = float(slopes[outside]), float(slopes[slopes.size - 1 - outside])
    return middle, max(high - middle, middle - low)


class Correlation(NamedTuple):
    """The rank correlation of `points` points, and whether chance gives it in less than 1 % of
    cases."""

    value: float
    significant: bool
    points: int


def rank_correlation(rtts: Sequence[float], times: Sequence[float]) -> Correlation | None:
    """Whether times go with the core-to-core round trip (Spearman); NaN: not known. None
    with fewer than ten others, or where either is always the same."""
    known = np.array([(x, y) for x, y in zip(rtts, times, strict=True) if x > 0])
    if len(known) < _FEWEST_FOR_CORRELATION:
        return None
    x, y = (ranks(values) - (len(known) - 1) / 2.0 for values in known.T)
    square = float(np.sum(x * x)) * float(np.sum(y * y))
    if square <= 0:
        return None
    value = float(np.sum(x * y)) / math.sqrt(square)
    return Correlation(value, abs(value) * math.sqrt(len(known) - 1.0) > NORMAL_99, len(known))
