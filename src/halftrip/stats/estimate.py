"""Figures with their intervals: the difference and the ratio of two, sums of several, and least
squares of many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.distributions import student_95_from_one


class Estimate(NamedTuple):
    """A figure, `low` <= the true one <= `high` at 95 % confidence; NaN where there is no
    interval."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def half_width(self) -> float:
        """The wider side of the interval, in the unit of the figure; NaN where there is none."""
        return max(self.value - self.low, self.high - self.value)

    def is_apart_from(self, value: float) -> bool:
        """Whether there is an interval, and this value lies outside it."""
        return value < self.low or value > self.high

    def scaled(self, factor: float, offset: float = 0.0) -> Estimate:
        """`factor` > 0 times the figure, and `offset` more."""
        return Estimate(*(factor * each + offset for each in self))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """`one` less `other`, two figures of independent errors; without an interval where either has
    none.

    The interval is made of theirs: its lower side is as far from the difference as the root of the
    sum of the squares of the lower side of `one` and the upper side of `other`, and so on (MOVER:
    Zou and Donner, Statistics in Medicine 27, 2008). It covers what they cover, supposes no
    distribution, and allows for different spreads, where the interval of Hodges and Lehmann, which
    supposes that one distribution is the other, moved, covers 91 to 93 %. Where both figures are of
    the same stretch of time and wander together, it is wider than it had to be.
    """
    value = one.value - other.value
    down = math.hypot(one.value - one.low, other.high - other.value)
    up = math.hypot(one.high - one.value, other.value - other.low)
    return Estimate(value, value - down, value + up)


def combined(terms: Iterable[tuple[float, Estimate]], offset: float = 0.0) -> Estimate:
    """`offset` and the sum of figures of independent errors, each times its factor; without an
    interval where any of them has none. The interval is made of theirs, as that of a difference
    (Zou, Huang and Zhang, Computational Statistics and Data Analysis 53, 2009)."""
    value, down, up = offset, 0.0, 0.0
    for factor, each in terms:
        if factor == 0:
            continue
        value += factor * each.value
        sides = each.value - each.low, each.high - each.value
        below, above = sides if factor > 0 else sides[::-1]
        down, up = math.hypot(down, factor * below), math.hypot(up, factor * above)
    return Estimate(value, value - down, value + up)


def ratio(one: Estimate, other: Estimate) -> Estimate:
    """`one` / `other`, with the interval of the difference of their logarithms. NaN where `other`
    is not above 0; without an interval where any bound is not."""
    if not other.value > 0:
        return Estimate(math.nan)
    value = one.value / other.value
    if not min(one.low, other.low) > 0:
        return Estimate(value)
    found = difference(_logarithm(one), _logarithm(other))
    return Estimate(value, math.exp(found.low), math.exp(found.high))


def inverse(factor: float, one: Estimate) -> Estimate:
    """`factor` / `one`, such as a bandwidth from a time per byte: infinite where that is not above
    0, so that an interval that reaches 0 bounds the bandwidth from below only."""
    value, high, low = (
        math.nan if math.isnan(each) else factor / each if each > 0 else math.inf for each in one
    )
    return Estimate(value, low, high)


def _logarithm(estimate: Estimate) -> Estimate:
    return Estimate(*map(math.log, estimate))


class LinearFit(NamedTuple):
    """The `parameters`, and `fitted`, shape (m,), what the times are by them. `scatter` is the
    standard deviation of the relative residuals."""

    parameters: tuple[Estimate, ...]
    fitted: npt.NDArray[np.float64]
    scatter: float

    def misfits(self, times: Sequence[Estimate]) -> list[float]:
        """By which factor, at least 1, each of the `times` is surely off, by the nearer end of its
        interval, or by itself where it has none; infinite where what it is by the parameters is not
        above 0."""
        found = []
        for time, fitted in zip(times, self.fitted.tolist(), strict=True):
            low, high = (time.value if math.isnan(each) else each for each in time[1:])
            off = max(1.0, low / fitted, fitted / high) if fitted > 0 else math.inf
            found.append(off)
        return found


def linear_fit(factors: npt.NDArray[np.float64], times: Sequence[Estimate]) -> LinearFit:
    """The parameters p, shape (n,), for which `factors` p, shape (m, n), m > n, is nearest to the
    `times`, all above 0, by least squares of the relative residuals: a time that is twice as long
    is known half as precisely.

    The intervals are those that the intervals of the times give, or those that the residuals give
    by Student's t, whichever are wider: times that the model does not describe have no parameters
    that are known well.
    """
    values = np.array([each.value for each in times])
    # Divided by its time, each is 1.
    rows = factors / values[:, None]
    scale = np.linalg.norm(rows, axis=0)
    weights = np.linalg.pinv(rows / scale) / scale[:, None]
    found = weights.sum(axis=1)
    residuals = 1.0 - rows @ found
    dof = len(times) - found.size
    quantile = student_95_from_one(dof)
    scatter = math.sqrt(float(residuals @ residuals) / dof)
    parameters = []
    for weight, value in zip(weights, found.tolist(), strict=True):
        by_times = combined(zip((weight / values).tolist(), times, strict=True))
        half = quantile * scatter * float(np.linalg.norm(weight))
        # Not by min() and max(), which would hide that a time has no interval.
        low = min(by_times.low, value - half)
        high = max(by_times.high, value + half)
        parameters.append(Estimate(value, low, high))
    return LinearFit(tuple(parameters), factors @ found, scatter)
