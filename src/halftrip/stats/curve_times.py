"""The times of a message by its size, and how they would differ if all were measured again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.stats.distributions import student_95_from_one
from halftrip.stats.estimate import Estimate
from halftrip.stats.quantile import Floats

# What is repeated: launches, slices of one, or nothing, so that only the distances of the points
# from a line tell how well it is known.
Over = Literal["launches", "slices", "residuals"]
# With so many draws, a standard deviation is known within 7 %: 50 to 200 are enough for it (Efron
# and Tibshirani, section 6.4).
DRAWS = 100
# A time that is known exactly still has its rounding.
_LEAST_DEVIATION = 1e-9
_SEED = 1


class CurveTimes(NamedTuple):
    """The one-way times of a message by its size.

    `sizes` (bytes, ascending, each once), `times` (ns, above 0), `spreads` (the half width of the
    95 % interval of the time relative to it; infinite or NaN where there is none): shape (n,).
    `repeats` has the times of each size, ns: of `over` "launches", of each launch, in the same
    order for all sizes, at least two; of "slices", of each slice, some of which may be alone; of
    "residuals" it is empty. `step` is the step that the clock puts times on, ns (0: none known).
    """

    sizes: Floats
    times: Floats
    spreads: Floats
    repeats: Sequence[Floats]
    over: Over
    step: float = 0.0

    def part(self, points: Sequence[int]) -> CurveTimes:
        """The points with these indices."""
        chosen = np.asarray(points, dtype=np.intp)
        return self._replace(
            sizes=self.sizes[chosen],
            times=self.times[chosen],
            spreads=self.spreads[chosen],
            repeats=[self.repeats[n] for n in points] if self.repeats else [],
        )


class Draws(NamedTuple):
    """The times as they could have been: `times`, shape (draws, n), ns, by the bootstrap (Efron and
    Tibshirani, An Introduction to the Bootstrap, 1993, chapter 6). `deviations`, shape (n,), are
    the standard deviations of the times, ns, and `dof`, shape (n,), the degrees of freedom of
    these. With `common`, sizes have drawn the same launches: what they have in common in a launch
    stays together."""

    times: Floats
    deviations: Floats
    dof: Floats
    common: bool

    def part(self, points: slice | Sequence[int]) -> Draws:
        """Those of the points with these indices."""
        return Draws(self.times[:, points], self.deviations[points], self.dof[points], self.common)

    def dof_of(self, weights: Floats) -> float:
        """The degrees of freedom of the standard deviation of a sum of the times with these
        weights, shape (n,): those of launches, or, of sizes with errors of their own, by
        Satterthwaite (Biometrics Bulletin 2, 1946)."""
        if self.common:
            return float(self.dof[0])
        parts = (weights * self.deviations) ** 2
        total = float(parts.sum())
        return total**2 / float(np.sum(parts**2 / self.dof)) if total > 0 else float(self.dof.min())


def draws(curve: CurveTimes, count: int = DRAWS) -> Draws | None:
    """`count` draws of the times of a curve; None of one whose times were not repeated."""
    generator = np.random.default_rng(_SEED)
    if curve.over == "residuals":
        return None
    if curve.over == "launches":
        launches = len(curve.repeats[0])
        chosen = generator.integers(launches, size=(count, launches))
        drawn = _medians(np.array(curve.repeats)[:, chosen]).T
        drawn = _widened(drawn, launches)
        deviations = _deviations(drawn)
        return Draws(drawn, deviations, np.full(deviations.size, launches - 1.0), True)
    drawn = np.empty((count, curve.sizes.size))
    counts = np.array([len(each) for each in curve.repeats])
    for slices in sorted(set(counts.tolist()) - {1}):
        (columns,) = np.nonzero(counts == slices)
        values = np.concatenate([curve.repeats[n] for n in columns.tolist()])
        # Each size has its own draws.
        chosen = generator.integers(slices, size=(count, columns.size, slices), dtype=np.uint16)
        places = chosen + slices * np.arange(columns.size)[:, None]
        drawn[:, columns] = _widened(_medians(values[places]), slices)
    (alone,) = np.nonzero(counts == 1)
    several = counts > 1
    # A size that was measured once is taken to vary as the others do.
    usual = np.median(drawn[:, several].std(axis=0, ddof=1) / curve.times[several])
    noise = generator.standard_normal((count, alone.size))
    drawn[:, alone] = curve.times[alone] * (1.0 + usual * noise)
    return Draws(drawn, _deviations(drawn), np.maximum(counts - 1.0, 1.0), False)


def _medians(values: Floats) -> Floats:
    """The medians over the last axis."""
    values.sort(axis=-1)
    count = values.shape[-1]
    medians: Floats = (values[..., (count - 1) // 2] + values[..., count // 2]) / 2
    return medians


def _widened(drawn: Floats, repeats: int) -> Floats:
    """The variance of a bootstrap from m values is that of the population times (m - 1) / m."""
    middle = drawn.mean(axis=0)
    widened: Floats = middle + (drawn - middle) * math.sqrt(repeats / (repeats - 1))
    return widened


def _deviations(drawn: Floats) -> Floats:
    least = _LEAST_DEVIATION * np.abs(drawn.mean(axis=0))
    deviations: Floats = np.maximum(drawn.std(axis=0, ddof=1), least)
    return deviations


def estimate(value: float, drawn: Floats, dof: float) -> Estimate:
    """A figure with its 95 % interval: Student's t times the standard deviation of its draws, shape
    (draws,). Of few repeats the percentiles of a bootstrap would be too close to
    each other."""
    if not np.all(np.isfinite(drawn)):
        return Estimate(value)
    half = student_95_from_one(dof) * float(np.std(drawn, ddof=1))
    return Estimate(value, value - half, value + half)


def clipped(found: Estimate) -> Estimate:
    """The estimate of a figure that is never negative."""
    return Estimate(found.value, *(max(each, 0.0) for each in found[1:]))
