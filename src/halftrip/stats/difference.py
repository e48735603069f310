"""Whether two measurements differ, and by what factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.median import FEWEST_FOR_INTERVAL
from halftrip.stats.quantile import Floats, Interval, Samples, quantile_interval, student_95

_LEVEL = 0.05
# In standard errors of an interval's width. A series that ended when its interval was narrow ended
# where the width was underestimated; of two that did, with an autocorrelation of 0.6, 5.8 % of 2500
# differed significantly without this, and 4.7 % with it (benchmarks/truth.py).
_STOPPED_CAUTION = 0.5
# The two-sided 95 % quantile of Student's t with one degree of freedom; student_95 begins at two.
_STUDENT_ONE = 12.706204736432095
# Beyond so many pairs the normal approximation is as good as the exact distribution.
_MOST_PAIRS = 2500


class Difference(NamedTuple):
    """`ratio` of the second to the first, within `low` to `high` at 95 % confidence, 0 to infinity
    where nothing can be told. `significant`: that excludes 1."""

    ratio: float
    low: float
    high: float
    significant: bool


def differ(a: Sequence[float], b: Sequence[float]) -> Difference:
    """By what factor the launches whose medians are `b` differ from those of `a`; all > 0.

    With enough launches (four of each, three and five, two and eight) the ratio is the median of
    all ratios and its interval that of Hodges and Lehmann (Annals of Mathematical Statistics
    34, 1963): what Mann and Whitney's test, exact, does not reject. With fewer, Welch's t test of
    the logarithms (Biometrika 34, 1947). One launch against one cannot be told apart: not
    significant; one against several supposes that both vary alike.
    """
    first, second = np.log(np.asarray(a, np.float64)), np.log(np.asarray(b, np.float64))
    if min(first.size, second.size) < 1 or first.size + second.size < 3:
        ratio = float(np.median(b) / np.median(a)) if len(a) and len(b) else math.nan
        return Difference(ratio, 0.0, math.inf, significant=False)
    if 2 / math.comb(first.size + second.size, first.size) <= _LEVEL:
        return _rank_difference(first, second)
    return _student_difference(first, second)


def differ_series(a: Samples, b: Samples) -> Difference:
    """By what factor the median of `b` differs from that of `a`, each of one launch, shape (n,), in
    time order.

    From the two intervals, honest under autocorrelation, of the logarithms (Zou and Donner,
    Statistics in Medicine 27, 2008). It speaks of these two launches: what fresh processes
    would differ by anyway is not in it, and often is more.
    """
    one, other = _cautious_interval(a), _cautious_interval(b)
    middle_a, middle_b = (float(np.median(s)) if s.size else math.nan for s in (a, b))
    ratio = middle_b / middle_a if middle_a > 0 else math.nan
    if one is None or other is None or one.low <= 0 or other.low <= 0:
        return Difference(ratio, 0.0, math.inf, significant=False)
    down = math.hypot(math.log(middle_b / other.low), math.log(one.high / middle_a))
    up = math.hypot(math.log(other.high / middle_b), math.log(middle_a / one.low))
    return _difference(math.log(ratio), math.log(ratio) - down, math.log(ratio) + up)


def _cautious_interval(samples: Samples) -> Interval | None:
    if samples.size < FEWEST_FOR_INTERVAL:
        return None
    return quantile_interval(samples, 0.5, caution=_STOPPED_CAUTION)


def _difference(middle: float, low: float, high: float) -> Difference:
    """From logarithms."""
    return Difference(math.exp(middle), math.exp(low), math.exp(high), not low <= 0.0 <= high)


def _rank_difference(first: Floats, second: Floats) -> Difference:
    ratios = np.sort((second[:, None] - first[None, :]).ravel())
    outside = _outside(first.size, second.size)
    low, high = float(ratios[outside]), float(ratios[ratios.size - 1 - outside])
    return _difference(float(np.median(ratios)), low, high)


def _outside(n: int, m: int) -> int:
    """How many of the n m ordered differences lie outside the interval on either side: the most
    for which Mann and Whitney's statistic is below it in no more than 2.5 % of cases."""
    if n * m > _MOST_PAIRS:
        return math.floor(n * m / 2 - 1.959963984540054 * math.sqrt(n * m * (n + m + 1) / 12) - 0.5)
    # How many orders give each value: the Gaussian binomial coefficient (Mann and Whitney, Annals
    # of Mathematical Statistics 18, 1947), the product over i of (1 - x**(m + i)) / (1 - x**i).
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
        # Welch and Satterthwaite's, no less than that of the smaller set.
        weighed = one**2 / (n - 1) + other**2 / (m - 1)
        dof = (one + other) ** 2 / weighed if weighed > 0 else float(min(n, m) - 1)
    width = error * (student_95(dof) if dof >= 2 else _STUDENT_ONE)
    return _difference(middle, middle - width, middle + width)
