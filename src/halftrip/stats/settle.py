"""Whether times have settled: within a slice, and over the slices of a configuration.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from halftrip.stats.distributions import NORMAL_95, NORMAL_99, student_95, student_tail
from halftrip.stats.median import median
from halftrip.stats.quantile import (
    Floats,
    Samples,
    in_order,
    long_run_variance,
    quantile_of_ordered,
)

# Geweke's parts: the first quarter of the times is compared with their last half.
_FIRST = 0.25
_LAST = 0.5
# With fewer samples a part has no long-run variance: then the ranges of both halves are compared.
_FEWEST = 24
# Beyond these quantiles of both parts together, times count as the quantile: a few spikes are
# neither a trend nor do they hide one.
_CLIP = 0.1
# A difference of this many half widths of its 95 % interval is in 1 % of healthy series:
# two-sided quantiles of the normal distribution.
_STRICTER = NORMAL_99 / NORMAL_95

# Leading slices are left out where chance alone gives such a beginning in less than half of this
# share of cases, ...
_LEVEL = 0.015
# ... by any of these shapes: a first slice that is off, and exponential decays over this many
# slices.
_DECAYS = (0.0, 0.7, 2.0, 5.0)
_FEWEST_SLICES = 4


def settled(times: Samples, tolerance: float) -> bool:
    """Whether `times`, shape (n,), in time order, have settled: their first quarter and their last
    half differ by no more than the share `tolerance`, or than chance explains. Of fewer than two
    nothing can be told: then not.

    Geweke, Evaluating the accuracy of sampling-based approaches to the calculation of posterior
    moments (Bayesian Statistics 4, 1992), where each part has its own long-run variance, so that
    times that resemble their neighbours are no drift. Chance explains 99 % of differences.
    """
    n = times.size
    if n < 2:
        return False
    first, last = _parts(times)
    middle, last_middle = median(first), median(last)
    if abs(middle - last_middle) <= tolerance * last_middle:
        return True
    overlap = bool(first.min() <= last.max() and last.min() <= first.max())
    # A steep beginning of few samples has so wide an interval that it would hold anything.
    if n < _FEWEST or not overlap:
        return overlap
    both = in_order(np.concatenate((first, last)).astype(np.float64))
    low, high = (quantile_of_ordered(both, share) for share in (_CLIP, 1.0 - _CLIP))
    parts = [np.clip(part, low, high).astype(np.float64) for part in (first, last)]
    estimates = [long_run_variance(part) for part in parts]
    variance = sum(v / part.size for (v, _), part in zip(estimates, parts, strict=True))
    dof = min(dof for _, dof in estimates)
    difference = abs(float(parts[0].mean()) - float(parts[1].mean()))
    return difference <= _STRICTER * student_95(dof) * math.sqrt(variance)


def fades(times: Samples, tolerance: float) -> bool:
    """Whether `times`, as of `settled`, have not settled, but are slower at first. Of fewer than
    two nothing can be told: then not."""
    if times.size < 2:
        return False
    first, last = _parts(times)
    return median(first) > median(last) and not settled(times, tolerance)


def _parts(times: Samples) -> tuple[Samples, Samples]:
    """The times, at least two, that are compared: those at the beginning, and the last half."""
    n = times.size
    last = times[n - int(_LAST * n) :]
    return (times[: int(_FIRST * n)] if n >= _FEWEST else times[: n - last.size]), last


def settled_from(medians: Sequence[float]) -> int:
    """The index of the first slice that counts, of the medians of a configuration's slices in time
    order: those before it were taken while the path was still warming up. At most half of them are
    left out.

    As long as the first of those that are left do not fit the others, the first one is left out.
    They are fitted by a level and a slower beginning that fades, and by a level alone: Student's
    test of the one against the other, for each of a few shapes of the beginning. Medians of healthy
    slices vary normally, whatever their samples do; less than 1 % of configurations lose a slice by
    chance.
    """
    values = np.asarray(medians, dtype=np.float64)
    start = 0
    while start < values.size // 2 and _begins_apart(values[start:]):
        start += 1
    return start


def _begins_apart(values: Floats) -> bool:
    """Whether the first of these values do not fit the others, by the level _LEVEL."""
    k = values.size
    if k < _FEWEST_SLICES:
        return False
    deviations = values - np.add.reduce(values) / k
    square = float(deviations @ deviations)
    if square <= 0:
        return False
    rounding = k * _tied_step(values) ** 2 / 12.0
    largest = 0.0
    for shape, of_shape in _shapes(k):
        # A path that warms up is slower at first; one that gets slower drifts.
        slower = max(0.0, float(shape @ deviations))
        largest = max(largest, slower**2 / of_shape)
    dof = k - 2
    left = max(square - largest, 0.0) + rounding
    if left <= 0:
        return True
    return len(_DECAYS) * student_tail(math.sqrt(dof * largest / left), dof) < _LEVEL


@lru_cache(maxsize=64)
def _shapes(k: int) -> list[tuple[Floats, float]]:
    """The beginnings that are looked for in `k` slices: each less its mean, shape (k,), with the
    sum of its squares. The same for every configuration."""
    found = []
    for decay in _DECAYS:
        shape = np.exp(-np.arange(k) / decay) if decay else (np.arange(k) == 0).astype(np.float64)
        shape -= shape.mean()
        found.append((shape, float(np.sum(shape * shape))))
    return found


def _tied_step(values: Floats) -> float:
    """The smallest step between values some of which are equal, as on the lattice of a coarse
    clock, whose rounding is a noise that may not show in so few; 0 where none are."""
    different: list[float] = sorted(set(values.tolist()))
    if not 1 < len(different) < values.size:
        return 0.0
    return min(after - before for before, after in itertools.pairwise(different))
