"""Changes of level in a short series of medians, one of each run, whose errors differ.

The best partition of the series for each number of changes is found exactly (Jackson et al., An
algorithm for optimal partitioning of data on an interval, IEEE Signal Processing Letters 12, 2005;
what PELT finds, too: Killick, Fearnhead and Eckley, JASA 107, 2012, which pays for long series
only). A change has to pass the t test for a step at any place (Worsley, On the likelihood ratio
test for a shift in location of normal populations, JASA 74, 1979): the spread of the series is not
known beforehand, and a fixed penalty would be right for none. `benchmarks/truth.py` counts how
often this finds what there is, and what there is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from halftrip.stats.distributions import NORMAL_50, NORMAL_95
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

# A level of fewer runs is an outlier.
SHORTEST_LEVEL = 3
FEWEST_RUNS = 2 * SHORTEST_LEVEL
# More changes are not looked for: a series with so many has no levels.
_MOST_CHANGES = 10
# Runs of a machine repeat no better than this, whatever a few of them look like: a standard
# deviation of logarithms.
_LEAST_SPREAD = 0.003
# A run counts less if its own standard error is more than this many times the spread of runs.
_LARGE_ERROR = 3.0
# A run that is further than this many standard deviations from the median of the five around it is
# moved to that distance.
_OUTLIER = 2.5
_WINDOW = 5
# The largest autocorrelation that is believed of a few runs.
_MOST_LAG1 = 0.5
# The likelihood ratio of the places that a change may have, at 95 % (Eo and Morley, Quantitative
# Economics 6, 2015: the quantile is -2 ln(1 - sqrt(0.95))).
_PLACES_95 = -2.0 * math.log(1.0 - math.sqrt(0.95))
_NORMAL = NormalDist()


class LevelStep(NamedTuple):
    """From value number `first` on the level is another one; at 95 % confidence, the first value of
    the new level is one from `low` to `high`."""

    first: int
    low: int
    high: int


class Levels:
    """The best partitions of a series into levels: `steps` says which one to believe."""

    def __init__(self, values: Sequence[float], errors: Sequence[float]) -> None:
        """`values` are logarithms in time order, and `errors` their standard errors (NaN: not
        known); the same number of both, at least `FEWEST_RUNS`."""
        series = np.asarray(values, np.float64)
        variance = _variances(series, np.asarray(errors, np.float64))
        self._values = _without_outliers(series, np.sqrt(variance))
        self._weights = variance.mean() / variance
        self._errors, self._ends = _partitions(self._values, self._weights)

    def steps(self, level: float) -> list[LevelStep]:
        """The changes of level, each of which would be found in a series without any in a share
        `level` of all cases."""
        count = self._number(level, 1.0)
        if not count:
            return []
        factor = self._correlation_factor(count)
        count = self._number(level, factor)
        return self._located(count, factor)

    def detectable(self, level: float) -> float:
        """The step, as a difference of logarithms, that would be found in the middle of this series
        in 95 % of cases."""
        count = self._number(level, 1.0)
        n = self._values.size
        # If neighbours are not correlated.
        factor = _inflation(_lag1_bias(0.0, count + 1, n))
        needed = self._least_t(level, count + 1) * math.sqrt(factor) + _NORMAL.inv_cdf(0.95)
        return needed * math.sqrt(self._spread(count)) * 2.0 / math.sqrt(n)

    def _number(self, level: float, factor: float) -> int:
        """How many changes there are, if the variance of a mean is `factor` times that of
        independent values."""
        n = self._values.size
        # Each change has to lower the likelihood by what its t test asks for.
        cost, costs = 0.0, []
        for count in range(len(self._ends)):
            if count:
                t = self._least_t(level, count)
                cost += n * math.log1p(factor * t * t / self._freedom(count))
            costs.append(n * math.log(self._spread(count) * self._freedom(count)) + cost)
        best = int(np.argmin(costs))
        while best and min(self._gains(best)) < factor * self._least_t(level, best) ** 2:
            best -= 1
        return best

    def _freedom(self, count: int) -> int:
        return self._values.size - count - 1

    def _spread(self, count: int) -> float:
        """The variance of a value about the levels of the best partition with `count` changes."""
        return max(float(self._errors[count]) / self._freedom(count), _LEAST_SPREAD**2)

    def _least_t(self, level: float, count: int) -> float:
        """The least t of a change at any of the places, by Bonferroni's inequality."""
        places = self._values.size - 2 * SHORTEST_LEVEL + 1
        return _student(1.0 - level / 2 / places, self._freedom(count))

    def _gains(self, count: int) -> list[float]:
        """The square of t of each change in the best partition."""
        gains = []
        bounds = [0, *self._ends[count], self._values.size]
        for start, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
            before, after = self._weights[start:place].sum(), self._weights[place:end].sum()
            step = self._mean(place, end) - self._mean(start, place)
            gains.append(step**2 * before * after / (before + after) / self._spread(count))
        return gains

    def _mean(self, start: int, end: int) -> float:
        return float(np.average(self._values[start:end], weights=self._weights[start:end]))

    def _correlation_factor(self, count: int) -> float:
        """By how much correlation between neighbours increases the variance of a mean, as in a
        first-order autoregression."""
        n = self._values.size
        bounds = [0, *self._ends[count], n]
        residuals = np.concatenate(
            [self._values[start:end] - self._mean(start, end) for start, end in pairwise(bounds)]
        ) * np.sqrt(self._weights)
        square = float(residuals @ residuals)
        if square <= 0.0:
            return 1.0
        lag1 = float(residuals[1:] @ residuals[:-1]) / square
        return _inflation(lag1 + _lag1_bias(lag1, count, n))

    def _located(self, count: int, factor: float) -> list[LevelStep]:
        """The changes of the best partition, each with the places between its neighbours that
        explain the series hardly worse."""
        limit = _PLACES_95 * factor * self._spread(count)
        bounds = [0, *self._ends[count], self._values.size]
        found = []
        for start, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False):
            lost = _split_errors(self._values[start:end], self._weights[start:end])
            as_good = np.flatnonzero(lost <= lost[place - start - 1] + limit) + start + 1
            found.append(LevelStep(place, int(as_good[0]), int(as_good[-1])))
        return found


def changed_series(series: Sequence[Levels], level: float) -> list[list[LevelStep]]:
    """The steps of each series. The probability that any is found in a series without one is at
    most `level`, whatever steps the other series have (Holm, Scandinavian Journal of Statistics 6,
    1979)."""
    changed = -1
    found: list[list[LevelStep]] = [[] for _ in series]
    while (count := sum(map(bool, found))) > changed and count < len(series):
        changed = count
        found = [each.steps(level / (len(series) - changed)) for each in series]
    return found


def _lag1_bias(lag1: float, count: int, n: int) -> float:
    """By how much an autocorrelation is underestimated: from n values (Kendall, Biometrika 41,
    1954), and because levels follow the noise, by simulation four times as much for each."""
    return (1.0 + 4.0 * count + 3.0 * lag1) / n


def _inflation(lag1: float) -> float:
    """The factor by which this autocorrelation increases the variance of a mean."""
    lag1 = min(_MOST_LAG1, max(0.0, lag1))
    return (1.0 + lag1) / (1.0 - lag1)


def _student(share: float, freedom: int) -> float:
    """The quantile `share` > 0.5 of Student's t (Wallace, Annals of Mathematical Statistics 30,
    1959): within 1 % of it, or above, by 15 % at four degrees of freedom and one in a million."""
    normal = _NORMAL.inv_cdf(share) * (8 * freedom + 3) / (8 * freedom + 1)
    return math.sqrt(freedom * math.expm1(normal**2 / freedom))


def _variances(values: Floats, errors: Floats) -> Floats:
    """The variance of each value: that of the differences between runs, which a few steps hardly
    change, or, of a run whose own error is much larger, a third of that, squared.

    Errors come from a few slices or launches, and are not well known themselves: weights by all of
    them would let runs outweigh others that are as good.
    """
    usual = median(np.abs(np.diff(values))) / NORMAL_50 / math.sqrt(2.0)
    own = np.where(np.isnan(errors), 0.0, errors) / _LARGE_ERROR
    return np.maximum(max(usual, _LEAST_SPREAD), own) ** 2


def _without_outliers(values: Floats, deviations: Floats) -> Floats:
    """The values, none of which is far from the median of those around it: Hampel's filter, which
    keeps steps."""
    around = np.lib.stride_tricks.sliding_window_view(_extended(values), _WINDOW)
    middles = np.median(around, axis=1)
    far = _OUTLIER * deviations
    kept: Floats = np.clip(values, middles - far, middles + far)
    return kept


def _extended(values: Floats) -> Floats:
    """The values with more beyond both ends, so that the first and the last window are the same as
    their neighbours."""
    more = _WINDOW // 2
    return np.concatenate((values[more + 1 : _WINDOW], values, values[-_WINDOW : -more - 1]))


def _split_errors(values: Floats, weights: Floats) -> Floats:
    """The weighted sum of squared errors about two levels that meet at each of the places 1 to
    n - 1."""
    centred = values - np.average(values, weights=weights)
    before, moment = np.cumsum(weights)[:-1], np.cumsum(weights * centred)[:-1]
    after = weights.sum() - before
    explained: Floats = moment**2 * (1.0 / before + 1.0 / after)
    return float(np.sum(weights * centred**2)) - explained


def _partitions(values: Floats, weights: Floats) -> tuple[Floats, list[list[int]]]:
    """For each number of changes, the weighted sum of squared errors of the best partition, and the
    first values of its later levels."""
    n = values.size
    most = min(_MOST_CHANGES, n // SHORTEST_LEVEL - 1)
    centred = values - np.average(values, weights=weights)
    weight, first, second = (
        np.concatenate(([0.0], np.cumsum(each)))
        for each in (weights, weights * centred, weights * centred**2)
    )
    best = np.full((most + 1, n + 1), np.inf)
    begins = np.zeros((most + 1, n + 1), np.intp)
    for end in range(SHORTEST_LEVEL, n + 1):
        starts = slice(0, end - SHORTEST_LEVEL + 1)
        moment, of_level = first[end] - first[starts], weight[end] - weight[starts]
        # Rounding may leave less than nothing.
        lost = np.maximum(second[end] - second[starts] - moment**2 / of_level, 0.0)
        best[0, end] = lost[0]
        whole = best[:-1, starts] + lost
        begins[1:, end] = whole.argmin(axis=1)
        best[1:, end] = whole.min(axis=1)
    ends = []
    for count in range(most + 1):
        places: list[int] = []
        place = n
        for left in range(count, 0, -1):
            place = int(begins[left, place])
            places.append(place)
        ends.append(places[::-1])
    return best[:, n], ends


def standard_error(value: float, low: float, high: float) -> float:
    """The standard error of the logarithm of a figure with this interval at 95 %; NaN where there
    is none."""
    if not 0.0 < low <= value <= high < math.inf:
        return math.nan
    return math.log(high / low) / 2.0 / NORMAL_95
