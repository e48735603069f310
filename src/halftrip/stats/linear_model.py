"""Least squares for times that are sums of a few parameters, each times a known factor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.estimate import Estimate, combined
from halftrip.stats.quantile import FEW_STUDENT_95, Floats, student_95

# Of so many degrees of freedom or fewer, Student's quantile is in a table.
_FEW = max(FEW_STUDENT_95)


class LinearFit(NamedTuple):
    """The `parameters`, and `fitted`, shape (m,), what the times are by them. `scatter` is the
    standard deviation of the relative residuals."""

    parameters: tuple[Estimate, ...]
    fitted: Floats
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


def linear_fit(factors: Floats, times: Sequence[Estimate]) -> LinearFit:
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
    quantile = FEW_STUDENT_95[dof] if dof <= _FEW else student_95(dof)
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
