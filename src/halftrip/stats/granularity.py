"""By how much samples step: what a coarse clock leaves in them."""

from __future__ import annotations

import numpy as np

from halftrip.stats.quantile import Floats, Samples

# The commonest values that hold this share of the samples are looked at: the rest are spikes.
_COMMON = 0.95
# Samples lie on a lattice if their cosine quantogram there is at least this; 1: exactly on it.
_ON_LATTICE = 0.97
# More steps than this need no search: the least gap is so small a part of the spread.
_MOST_VALUES = 512
# Of the gaps between values, at least this share is a step wide. Of times that are whole ns while
# the step is not, half are; between two modes there is one gap.
_TYPICAL = 0.25
# So many gaps are tried as a step.
_MOST_CANDIDATES = 64


def granularity(samples: Samples) -> float:
    """By how much `samples`, shape (n,), step, in their unit; 0.0 where there are none.

    The widest lattice on which they all but lie, of those whose step is a gap between neighbours
    among their values: D. G. Kendall's cosine quantogram (Hunting quanta, Philosophical
    Transactions of the Royal Society A 276, 1974), here of any phase. So a step that is no whole
    number of ns, rounded up and down, is found too. Where all samples are equal, the step is
    taken to be their value: it divides it, and no more can be told.
    """
    if samples.size == 0:
        return 0.0
    values, counts = np.unique(samples, return_counts=True)
    if values.size == 1:
        return abs(float(values[0]))
    common = np.argsort(-counts, kind="stable")
    kept = 1 + int(np.searchsorted(np.cumsum(counts[common]), _COMMON * samples.size))
    chosen = np.sort(common[: max(2, kept)])
    values, counts = values[chosen], counts[chosen]
    gaps = np.diff(values).astype(np.float64)
    if values.size > _MOST_VALUES:
        return float(np.median(gaps))
    offsets = (values - values[0]).astype(np.float64)
    for candidate in np.unique(gaps)[::-1][:_MOST_CANDIDATES]:
        near = gaps[np.abs(gaps - candidate) <= 0.1 * candidate]
        step = float(near.mean())
        if near.size < _TYPICAL * gaps.size:
            continue
        if _quantogram(offsets, counts.astype(np.float64), step) >= _ON_LATTICE:
            return step
    return float(gaps.min())


def _quantogram(offsets: Floats, weights: Floats, step: float) -> float:
    turns = np.exp(2j * np.pi * offsets / step)
    return float(abs(np.sum(weights * turns)) / weights.sum())
