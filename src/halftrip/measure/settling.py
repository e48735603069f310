"""Decides whether a path has settled: whether the last part of a block agrees with its first."""

from __future__ import annotations

import numpy as np

from halftrip.results.block import Times
from halftrip.stats.median import median_interval
from halftrip.stats.quantile import Interval

_PARTS = 3


def settled(times: Times, tolerance: float) -> bool:
    """Whether the first and the last third of `times`, shape (n,), ns, have medians that differ by
    no more than the share `tolerance`, or than chance explains."""
    third = times.size // _PARTS
    if not third:
        return False
    first, last = times[:third], times[-third:]
    middle, last_middle = float(np.median(first)), float(np.median(last))
    if abs(middle - last_middle) <= tolerance * last_middle:
        return True
    one, other = _bounds(first), _bounds(last)
    return one.low <= other.high and other.low <= one.high


def _bounds(part: Times) -> Interval:
    """The confidence interval of a part's median; its range, where it has too few samples."""
    return median_interval(part) or Interval(float(part.min()), float(part.max()))
