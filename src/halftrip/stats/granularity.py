"""The step between sample values that a coarse clock makes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halftrip.stats.median import median
from halftrip.stats.quantile import Floats, Samples, in_order

# Only the most frequent values with this share of the samples count: the others are spikes.
_COMMON = 0.95
# Samples lie on a lattice if their cosine quantogram there is at least this; 1: exactly on it.
_ON_LATTICE = 0.97
# With more different values there is no search: a gap is then very small beside the spread.
_MOST_VALUES = 512
# At least this share of the gaps between values is one step wide. Where times are whole ns and the
# step is not, half of them are; a gap between two modes is a single one.
_TYPICAL = 0.25
# At most this many gaps are tried as the step.
_MOST_CANDIDATES = 64


def granularity(samples: Samples) -> float:
    """The step of `samples`, shape (n,), in their unit; 0.0 without samples.

    It is the step of the widest lattice on which nearly all of them lie, where the candidates are
    the gaps between neighbouring values: D. G. Kendall's cosine quantogram (Hunting quanta,
    Philosophical Transactions of the Royal Society A 276, 1974), here of any phase. So a step that
    is no whole number of ns is also found in rounded times. Where all samples are equal, it is
    their value: the step divides it, and no more can be told.
    """
    return granularity_of_ordered(in_order(samples))


def granularity_of_ordered(ordered: Samples) -> float:
    """As `granularity`, of samples that are in ascending order."""
    if ordered.size == 0:
        return 0.0
    values, counts = counted(ordered)
    if values.size == 1:
        return abs(float(values[0]))
    common = np.argsort(-counts, kind="stable")
    kept = 1 + int(np.searchsorted(np.cumsum(counts[common]), _COMMON * ordered.size))
    chosen = np.sort(common[: max(2, kept)])
    values, counts = values[chosen], counts[chosen]
    # As np.diff, which takes three times as long for a few values.
    gaps = (values[1:] - values[:-1]).astype(np.float64)
    if values.size > _MOST_VALUES:
        return median(gaps)
    offsets = (values - values[0]).astype(np.float64)
    widths = np.sort(gaps)
    candidates = counted(widths)[0][::-1][:_MOST_CANDIDATES]
    first = np.searchsorted(widths, 0.9 * candidates, side="left")
    last = np.searchsorted(widths, 1.1 * candidates, side="right")
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        if end - begin < _TYPICAL * gaps.size:
            continue
        step = float(widths[begin:end].mean())
        if _quantogram(offsets, counts.astype(np.float64), step) >= _ON_LATTICE:
            return step
    return float(widths[0])


def most_granularities(ordered: Samples) -> Floats:
    """The largest step that each of these rows, shape (m, n), ascending, n >= 1, can have, shape
    (m,): no less than `granularity_of_ordered`, in a fraction of its time."""
    n = ordered.shape[1]
    reach = (ordered[:, -1] - ordered[:, 0]).astype(np.float64)
    different = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
    # Each of the values that do not count has a sample.
    gaps = np.maximum(1, different - 1 - math.ceil((1 - _COMMON) * n + 1e-6))
    # The step is the mean of this share of the gaps, or the narrowest one, or their median.
    steps = (1 + 1e-9) * reach / (_TYPICAL * gaps)
    return np.where(reach > 0, steps, np.abs(ordered[:, 0]))


def counted(ordered: Samples) -> tuple[Samples, npt.NDArray[np.intp]]:
    """The different values of `ordered`, shape (n,), ascending, n >= 1, and how often each occurs.
    As np.unique, which sorts them once more and looks for NaN."""
    (ends,) = (ordered[1:] != ordered[:-1]).nonzero()
    bounds = np.empty(ends.size + 2, dtype=np.intp)
    bounds[0], bounds[-1] = 0, ordered.size
    np.add(ends, 1, out=bounds[1:-1])
    return ordered[bounds[:-1]], bounds[1:] - bounds[:-1]


def _quantogram(offsets: Floats, weights: Floats, step: float) -> float:
    """How well the offsets lie on a lattice of this step, 0 to 1: exactly on it."""
    turns = np.exp(2j * np.pi * offsets / step)
    return float(abs(np.sum(weights * turns)) / weights.sum())
