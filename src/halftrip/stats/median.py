"""The median and an interval for it that needs no distribution and no independence.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halftrip.stats.quantile import Interval, Samples, in_order, quantile_interval

# Below this the order statistics of independent samples cannot bound the median at 95 %:
# 2 * 0.5**n > 0.05. At six the lowest and the highest do.
FEWEST_FOR_INTERVAL = 6
# An interval to stop by is widened by so many standard errors of its width. Without this, stopping
# at 1 % covers 92 % of series with a first-order autocorrelation of 0.6 and some 300 samples; with
# it, 93 % (benchmarks/coverage.py).
_STOPPING_CAUTION = math.sqrt(2.0)


def median(values: npt.ArrayLike) -> float:
    """The median of `values`, shape (n,), n >= 1, none of them NaN. As numpy's, which takes four
    times as long for a few values, and at its first call imports a package for masked arrays."""
    if isinstance(values, list):
        # Most lists are of a few slices: numpy would take five times as long.
        return median_of_ordered(sorted(values))
    array = np.asarray(values)
    half = array.size // 2
    if array.size % 2:
        return float(np.partition(array, half)[half])
    low, high = np.partition(array, (half - 1, half))[half - 1 : half + 1].tolist()
    return float(low + high) / 2


def median_if_known(values: Sequence[float]) -> float:
    """The median of `values`, at least one; NaN where any of them is not known (NaN)."""
    return math.nan if any(map(math.isnan, values)) else median(list(values))


def median_of_ordered(ordered: Samples | list[Any]) -> float:
    """The median of these values, shape (n,), n >= 1, ascending."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return float(ordered[half - 1] + ordered[half]) / 2


def median_interval(samples: Samples, ordered: Samples | None = None) -> Interval | None:
    """The 95 % confidence interval of the median of `samples`, shape (n,), in time order; `ordered`
    are the same in ascending order, where they are known already.

    None where there are fewer than FEWEST_FOR_INTERVAL samples, or where too few of them count as
    independent to bound the median.
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return None
    return quantile_interval(samples, 0.5, ordered=ordered)


def half_width(samples: Samples) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval. This
    interval is to stop by, and somewhat wider than the interval to report.

    Sampling that stops as soon as an interval is narrow stops where its width happens to be
    underestimated, and the interval covers too little; the more so, the less well the width is
    known. So some of the width's own error is added to it (a width that is inflated while samples
    are few: Glynn and Whitt, Annals of Applied Probability 2, 1992).
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return math.inf
    ordered = in_order(samples)
    interval = quantile_interval(samples, 0.5, _STOPPING_CAUTION, ordered)
    middle = median_of_ordered(ordered)
    if interval is None or middle <= 0:
        return math.inf
    return max(interval.high - middle, middle - interval.low) / middle
