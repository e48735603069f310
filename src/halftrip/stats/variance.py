"""The variance between launches of fresh processes, and within them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


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
