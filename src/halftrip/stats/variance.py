"""What differs between launches of fresh processes, and what within them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.quantile import Interval

# The two-sided 95 % quantiles of Student's t with so many degrees of freedom.
_STUDENT = {
    1: 12.706204736432095,
    2: 4.302652729911275,
    3: 3.182446305284263,
    4: 2.7764451051977987,
}
# From so many on, two order statistics bound the median at 95 %: 2 * 0.5**6 < 0.05.
_FEWEST_FOR_ORDER = 6
# An interval that is wider than this, as a logarithm, says nothing; and exp() has an end.
_WIDEST = 100.0


class Components(NamedTuple):
    """Standard deviations, in the unit of what was given: `between` the true values of launches,
    and `within` one, between repetitions. NaN where it cannot be told."""

    between: float
    within: float


def variance_components(launches: Sequence[Sequence[float]]) -> Components:
    """The components of the medians of the repetitions of each launch.

    One-way analysis of variance with random effects, by the method of moments, launches of any
    number of repetitions (Searle, Casella and McCulloch, Variance Components, 1992, section 3.6).
    A negative estimate of a variance counts as none.
    """
    groups = [np.asarray(launch, dtype=np.float64) for launch in launches if len(launch)]
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    total, k = float(sizes.sum()), len(groups)
    spare = total - k
    within = sum(float(np.sum((g - g.mean()) ** 2)) for g in groups) / spare if spare else math.nan
    if k < 2:
        return Components(math.nan, math.sqrt(within))
    means = np.array([group.mean() for group in groups])
    grand = float(sizes @ means) / total
    square = float(sizes @ (means - grand) ** 2) / (k - 1)
    typical = (total - float(sizes @ sizes) / total) / (k - 1)
    between = max(0.0, (square - within) / typical) if spare else math.nan
    return Components(math.sqrt(between), math.sqrt(within))


def launch_interval(medians: Sequence[float]) -> Interval | None:
    """The 95 % interval of the median over launches, from the medians of those measured, in their
    unit; launches are independent.

    Of six or more: order statistics, which need no distribution (Conover, Practical Nonparametric
    Statistics, 1999, section 3.2). Of two to five these cannot reach 95 %; then it is Student's
    t about the mean of the logarithms, which supposes that these vary normally: of two launches it
    is wide, but no time is below zero; where one is 0, there is none. One launch says nothing of
    the next: None.
    """
    ordered = np.sort(np.asarray(medians, dtype=np.float64))
    n = ordered.size
    if n < 2:
        return None
    if n >= _FEWEST_FOR_ORDER:
        outside = _outside(n)
        return Interval(float(ordered[outside]), float(ordered[n - 1 - outside]))
    if ordered[0] <= 0:
        return None
    logarithms = np.log(ordered)
    mean = float(logarithms.mean())
    width = min(_STUDENT[n - 1] * float(logarithms.std(ddof=1)) / math.sqrt(n), _WIDEST)
    return Interval(math.exp(mean - width), math.exp(mean + width))


def _outside(n: int) -> int:
    """How many order statistics of `n` lie outside the median's interval on either side: the most
    for which chance puts no more than 2.5 % of cases there."""
    below, outside = 0.5**n, 0
    while True:
        more = below + math.comb(n, outside + 1) * 0.5**n
        if more > 0.025:
            return outside
        below, outside = more, outside + 1
