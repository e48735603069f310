"""Whether two measurements differ, and by what factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from halftrip.stats.distributions import NORMAL_95, student_95, student_95_from_one, upper_tail
from halftrip.stats.estimate import Estimate, ratio
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

_LEVEL = 0.05
# With more pairs the normal approximation is as good as the exact distribution.
_MOST_PAIRS = 2500


class Difference(NamedTuple):
    """`ratio` of the second to the first, within `low` to `high` at 95 % confidence; 0 to infinity
    where there is too little data. `significant`: the interval excludes 1. `error` is the standard
    error of the logarithm of the ratio, and `dof` the degrees of freedom of Student's t that it is
    known by (infinite: it errs normally)."""

    ratio: float
    low: float
    high: float
    significant: bool
    error: float = math.inf
    dof: float = math.inf

    @property
    def is_known(self) -> bool:
        """Whether there is an interval."""
        return self.low > 0 and math.isfinite(self.high)

    @property
    def p_value(self) -> float:
        """How often chance alone gives a ratio that is at least as far from 1."""
        if not self.is_known:
            return 1.0
        far = abs(math.log(self.ratio))
        if self.error <= 0:
            return 0.0 if far > 0 else 1.0
        return 2.0 * upper_tail(far / self.error, self.dof)

    def widened(self, below: float, above: float) -> Difference:
        """The same, with an independent error whose 95 % interval reaches that far below and above
        it, as logarithms."""
        if not self.is_known:
            return self
        middle = math.log(self.ratio)
        near = below if middle > 0 else above
        below = math.hypot(math.log(self.ratio / self.low), below)
        above = math.hypot(math.log(self.high / self.ratio), above)
        error = math.hypot(self.error, near / NORMAL_95)
        return _difference(middle, middle - below, middle + above, error, self.dof)

    def allowing_for(self, factor: float) -> Difference:
        """The same, if the ratio may as well be that many times as large, or anything between."""
        if not self.is_known:
            return self
        middle, offset = math.log(self.ratio), math.log(factor)
        low = math.log(self.low) + min(0.0, offset)
        high = math.log(self.high) + max(0.0, offset)
        error = self.error
        if middle * offset < 0:
            # As many errors away from 1 as what is left of it in the worst case.
            left = abs(middle) - abs(offset)
            error = error * abs(middle) / left if left > 0 else math.inf
        return _difference(middle, low, high, error, self.dof)


def differ(a: Sequence[float], b: Sequence[float]) -> Difference:
    """The factor from launches with the medians `a` to launches with the medians `b`, all > 0.

    With enough launches (four of each, three and five, two and eight) the ratio is the median of
    all ratios, and its interval that of Hodges and Lehmann (Annals of Mathematical Statistics
    34, 1963): all factors that the exact test of Mann and Whitney does not reject. With fewer, it
    is by Welch's t test of the logarithms (Biometrika 34, 1947). One launch of each cannot be told
    apart: not significant. One against several: both are assumed to vary equally.

    The error is always that of the t test: the rank test of five launches each has no p-value below
    0.008, so that no single one of ten rows could be found to differ.
    """
    first, second = np.log(np.asarray(a, np.float64)), np.log(np.asarray(b, np.float64))
    if min(first.size, second.size) < 1 or first.size + second.size < 3:
        factor = float(median(b) / median(a)) if len(a) and len(b) else math.nan
        return Difference(factor, 0.0, math.inf, significant=False)
    student = _student_difference(first, second)
    if 2 / math.comb(first.size + second.size, first.size) <= _LEVEL:
        return _rank_difference(first, second)._replace(error=student.error, dof=student.dof)
    return student


def differ_paired(ratios: Sequence[float]) -> Difference:
    """The factor of which these ratios, all > 0, are measurements, each of two things that were
    measured one after the other: what changes from pair to pair is in neither ratio. By Student's t
    test of the logarithms; of fewer than two nothing can be told."""
    logarithms = np.log(np.asarray(ratios, np.float64))
    n = logarithms.size
    if n < 2:
        return Difference(float(ratios[0]) if n else math.nan, 0.0, math.inf, significant=False)
    middle, error = float(logarithms.mean()), float(logarithms.std(ddof=1)) / math.sqrt(n)
    width = error * student_95_from_one(n - 1)
    return _difference(middle, middle - width, middle + width, error, n - 1.0)


def differ_estimates(a: Estimate, b: Estimate) -> Difference:
    """The factor from the figure `a` to the figure `b`, of independent errors; see
    `estimate.ratio`. Its error supposes that the logarithms err normally."""
    found = ratio(b, a)
    if math.isnan(found.low):
        return Difference(found.value, 0.0, math.inf, significant=False)
    near = found.value / found.low if found.value > 1 else found.high / found.value
    return Difference(*found, found.is_apart_from(1.0), math.log(near) / NORMAL_95)


def _difference(middle: float, low: float, high: float, error: float, dof: float) -> Difference:
    """The difference whose ratio and bounds have these logarithms."""
    apart = not low <= 0.0 <= high
    return Difference(math.exp(middle), math.exp(low), math.exp(high), apart, error, dof)


def _rank_difference(first: Floats, second: Floats) -> Difference:
    ratios = np.sort((second[:, None] - first[None, :]).ravel())
    outside = _outside(first.size, second.size)
    low, high = float(ratios[outside]), float(ratios[ratios.size - 1 - outside])
    return _difference(median(ratios), low, high, math.inf, math.inf)


@lru_cache(maxsize=64)
def _outside(n: int, m: int) -> int:
    """How many of the n m ordered differences lie outside the interval on either side: the largest
    number that Mann and Whitney's statistic does not exceed in at most 2.5 % of cases."""
    if n * m > _MOST_PAIRS:
        return math.floor(n * m / 2 - NORMAL_95 * math.sqrt(n * m * (n + m + 1) / 12) - 0.5)
    # How many orders give each value of the statistic: the Gaussian binomial coefficient (Mann and
    # Whitney, Annals of Mathematical Statistics 18, 1947), the product over i of
    # (1 - x**(m + i)) / (1 - x**i).
    orders = np.zeros(n * m + 1)
    orders[0] = 1.0
    for i in range(1, n + 1):
        orders[m + i :] -= orders[: -(m + i)].copy() if m + i <= n * m else 0.0
        for start in range(i):
            orders[start::i] = np.cumsum(orders[start::i])
    below = np.cumsum(orders) / math.comb(n + m, n)
    return int(np.searchsorted(below, _LEVEL / 2, side="right")) - 1


def _student_difference(first: Floats, second: Floats) -> Difference:
    middle = float(second.mean() - first.mean())
    n, m = first.size, second.size
    if min(n, m) == 1:
        several = max(first, second, key=np.size)
        dof = float(several.size - 1)
        error = math.sqrt(float(several.var(ddof=1)) * (1 / n + 1 / m))
    else:
        one, other = float(first.var(ddof=1)) / n, float(second.var(ddof=1)) / m
        error = math.sqrt(one + other)
        # Welch and Satterthwaite's, at least those of the smaller set.
        weighed = one**2 / (n - 1) + other**2 / (m - 1)
        dof = (one + other) ** 2 / weighed if weighed > 0 else float(min(n, m) - 1)
    width = error * (student_95(dof) if dof >= 2 else student_95_from_one(1))
    return _difference(middle, middle - width, middle + width, error, dof)
