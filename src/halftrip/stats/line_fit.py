"""Straight lines of time over size, and how well they are known.

All of it is linear in the times once the weights are fixed, so that a line is fitted to all draws
of a bootstrap at once.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from halftrip.stats.curve_times import DRAWS, CurveTimes, Draws, clipped, estimate
from halftrip.stats.distributions import NORMAL_50
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median
from halftrip.stats.piecewise import STRAIGHTNESS
from halftrip.stats.quantile import Floats

# What of a line is never below 0: a message takes no less time for being longer; an empty one takes
# some, but a piece of a curve that gets steeper begins below 0.
Limit = Literal["none", "slope", "both"]
# Huber, Robust Statistics, 1981: residuals of more standard deviations than these count less; 95 %
# efficient where they are normal.
_HUBER = 1.345
_ROUNDS = 200
_CONVERGED = 1e-6
_SEED = 2


class FittedLine(NamedTuple):
    """A line, time = start + per_byte x size: `start` in ns, `per_byte` in ns. `drawn` are start
    and per_byte of each draw, shape (draws, 2), and `dof` the degrees of freedom of the spread of
    either; None where nothing tells how well the line is known. Draws also vary by what points are
    further from the line than their repeats, and STRAIGHTNESS, explain."""

    start: float
    per_byte: float
    drawn: Floats | None
    dof: tuple[float, float]

    def at(self, size: float) -> float:
        """The time of a message of `size` bytes, ns."""
        return self.start + self.per_byte * size

    def drawn_at(self, size: float) -> Floats | None:
        """The same of each draw, shape (draws,)."""
        return None if self.drawn is None else self.drawn[:, 0] + self.drawn[:, 1] * size

    def start_estimate(self) -> Estimate:
        return self._estimate(self.start, 0)

    def per_byte_estimate(self) -> Estimate:
        return self._estimate(self.per_byte, 1)

    def n_half(self) -> Estimate:
        """The size, bytes, at which half of the bandwidth of long messages is reached: Hockney, The
        Science of Computer Benchmarking, 1996: start / per_byte."""
        if not self.per_byte > 0:
            return Estimate(math.inf if self.start > 0 else math.nan)
        value = self.start / self.per_byte
        if self.drawn is None or not np.all(self.drawn[:, 1] > 0):
            return Estimate(value)
        return clipped(estimate(value, self.drawn[:, 0] / self.drawn[:, 1], min(self.dof)))

    def _estimate(self, value: float, column: int) -> Estimate:
        if self.drawn is None:
            return Estimate(value)
        return estimate(value, self.drawn[:, column], self.dof[column])


def fit_line(
    curve: CurveTimes, weights: Floats, drawn: Draws | None, limit: Limit = "both"
) -> FittedLine:
    """The line of least squares with these `weights`, shape (n,), n >= 1; through one point, a
    constant. It is not below 0 in what the `limit` names. `drawn` are draws of the times; without,
    as of a curve without repeats, the distances from the line take their place, from three points
    on."""
    operator = _operator(curve.sizes, weights)
    start, per_byte = _solved(operator, curve.times[None, :], curve.sizes, weights, limit)[0]
    residuals = curve.times - start - per_byte * curve.sizes
    dof = curve.sizes.size - 2
    if drawn is not None:
        again, dofs = drawn.times, (drawn.dof_of(operator[0]), drawn.dof_of(operator[1]))
        misfit = _misfit(residuals, np.maximum(drawn.deviations, STRAIGHTNESS * curve.times))
        if np.any(misfit > 0):
            again = again + _noise(dof + 2) * misfit
            dofs = (min(dofs[0], dof), min(dofs[1], dof))
    elif dof < 1:
        return FittedLine(float(start), float(per_byte), None, (0.0, 0.0))
    else:
        deviation = math.sqrt(float(np.sum(weights * residuals**2)) / dof)
        # Few points may be on a line by chance, or because a coarse clock puts them there.
        least = np.maximum(STRAIGHTNESS * curve.times, curve.step / math.sqrt(12.0))
        errors = np.maximum(deviation / np.sqrt(weights), least)
        again = curve.times - residuals + errors * _noise(dof + 2)
        dofs = (dof, dof)
    lines = _solved(operator, again, curve.sizes, weights, limit)
    return FittedLine(float(start), float(per_byte), lines, dofs)


@lru_cache(maxsize=64)
def _noise(count: int) -> Floats:
    """Standard normal numbers for each draw of so many times, shape (draws, count)."""
    return np.random.default_rng(_SEED).standard_normal((DRAWS, count))


def _misfit(residuals: Floats, expected: Floats) -> Floats:
    """The standard deviations, ns, that points have about the line beyond the `expected` ones, in
    proportion to these; all shape (n,)."""
    dof = residuals.size - 2
    if dof < 1:
        return np.zeros_like(residuals)
    ratio = float(np.sum((residuals / expected) ** 2)) / dof
    return expected * math.sqrt(max(0.0, ratio - 1.0))


def relative_weights(curve: CurveTimes) -> Floats:
    """The weights, shape (n,), of residuals relative to the times."""
    return curve.times**-2


def robust_weights(curve: CurveTimes) -> Floats | None:
    """The weights, shape (n,), of Huber's line through relative residuals: those at which
    iteratively reweighted least squares comes to rest; None where it does not."""
    weights = relative_weights(curve)
    previous = np.array([math.inf, math.inf])
    for _ in range(_ROUNDS):
        operator = _operator(curve.sizes, weights)
        line = _solved(operator, curve.times[None, :], curve.sizes, weights, "both")[0]
        relative = (curve.times - line[0] - line[1] * curve.sizes) / curve.times
        if np.all(np.abs(line - previous) <= _CONVERGED * np.abs(line)):
            return weights
        previous = line
        scale = median(np.abs(relative)) / NORMAL_50
        if scale == 0.0:
            return weights
        far = np.maximum(np.abs(relative) / (_HUBER * scale), 1.0)
        weights = curve.times**-2 / far
    return None


def lines_through(sizes: Floats, weights: Floats, times: Floats) -> Floats:
    """Start, ns, and per_byte, ns, of the line of least squares through each row of `times`, shape
    (k, n): shape (k, 2)."""
    return _solved(_operator(sizes, weights), times, sizes, weights, "none")


def _operator(sizes: Floats, weights: Floats) -> Floats:
    """The matrix, shape (2, n), that makes start and per_byte of the times, shape (n,)."""
    share = weights / weights.sum()
    middle = float(share @ sizes)
    from_middle = sizes - middle
    squares = float(share @ from_middle**2)
    slope = share * from_middle / squares if squares > 0 else np.zeros_like(sizes)
    return np.array([share - middle * slope, slope])


def _solved(
    operator: Floats, times: Floats, sizes: Floats, weights: Floats, limit: Limit
) -> Floats:
    """Start and per_byte of each row of `times`, shape (k, n): shape (k, 2). Where one is below 0
    that is limited, it is 0, and the other fitted alone, which is the solution of non-negative
    least squares in two unknowns."""
    lines: Floats = times @ operator.T
    falls = lines[:, 1] < 0
    if limit != "none" and np.any(falls):
        lines[falls, 0] = times[falls] @ weights / weights.sum()
        lines[falls, 1] = 0.0
    below = lines[:, 0] < 0
    if limit == "both" and np.any(below):
        lines[below, 1] = times[below] @ (weights * sizes) / float(weights @ sizes**2)
        lines[below, 0] = 0.0
    return lines
