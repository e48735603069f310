"""The variance between launches of fresh processes, and within them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.median import FEWEST_FOR_INTERVAL
from halftrip.stats.quantile import FEW_STUDENT_95, Interval

# The largest half width of an interval, as a logarithm: a wider one says nothing, exp() overflows.
_WIDEST = 100.0


class Components(NamedTuple):
    """Standard deviations, in the unit of the values: `between` the true values of launches, and
    between the slices `within` one. NaN where there are too few values."""

    between: float
    within: float


def variance_components(launches: Sequence[Sequence[float]]) -> Components:
    """The components of values such as the medians of the slices of each launch.

    By one-way analysis of variance with random effects, by the method of moments, for launches with
    any number of slices (Searle, Casella and McCulloch, Variance Components, 1992, section
    3.6). A negative estimate of a variance counts as 0.
    """
    groups = [np.asarray(launch, dtype=np.float64) for launch in launches if len(launch)]
    sizes = np.array([group.size for group in groups], dtype=np.float64)
    total, k = float(sizes.sum()), len(groups)
    dof = total - k
    within = sum(float(np.sum((g - g.mean()) ** 2)) for g in groups) / dof if dof else math.nan
    if k < 2:
        return Components(math.nan, math.sqrt(within))
    means = np.array([group.mean() for group in groups])
    grand = float(sizes @ means) / total
    square = float(sizes @ (means - grand) ** 2) / (k - 1)
    typical = (total - float(sizes @ sizes) / total) / (k - 1)
    between = max(0.0, (square - within) / typical) if dof else math.nan
    return Components(math.sqrt(between), math.sqrt(within))


def launch_interval(medians: Sequence[float]) -> Interval | None:
    """The 95 % interval of the median over all launches, from the medians of the measured ones, in
    their unit; launches are independent.

    Of six or more, by order statistics, which need no distribution (Conover, Practical
    Nonparametric Statistics, 1999, section 3.2). Of two to five these cannot reach 95 %; then it is
    Student's t about the mean of the logarithms, which supposes that these vary normally: of two
    launches it is wide, but never below 0. None where a median is 0, and of one launch, which says
    nothing about the next.
    """
    ordered = np.sort(np.asarray(medians, dtype=np.float64))
    n = ordered.size
    if n < 2:
        return None
    if n >= FEWEST_FOR_INTERVAL:
        outside = _outside(n)
        return Interval(float(ordered[outside]), float(ordered[n - 1 - outside]))
    if ordered[0] <= 0:
        return None
    logarithms = np.log(ordered)
    mean = float(logarithms.mean())
    width = min(FEW_STUDENT_95[n - 1] * float(logarithms.std(ddof=1)) / math.sqrt(n), _WIDEST)
    return Interval(math.exp(mean - width), math.exp(mean + width))


def _outside(n: int) -> int:
    """How many order statistics of `n` lie outside the median's interval on either side: the most
    for which the median lies outside there in no more than 2.5 % of cases."""
    below, outside = 0.5**n, 0
    while True:
        more = below + math.comb(n, outside + 1) * 0.5**n
        if more > 0.025:
            return outside
        below, outside = more, outside + 1
