"""The median and an interval for it that needs no distribution and no independence.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from halftrip.stats.quantile import Interval, Samples, quantile_interval

# Below this the order statistics of independent samples cannot bound the median at 95 %:
# 2 * 0.5**n > 0.05. At six the lowest and the highest do.
FEWEST_FOR_INTERVAL = 6
# By how many standard errors of its width an interval to stop by is widened. Without this, stopping
# at 1 % covers 92 % of series with a first-order autocorrelation of 0.6 and some 300
# samples; with it, 93 % (benchmarks/coverage.py).
_STOPPING_CAUTION = math.sqrt(2.0)


def median(values: npt.ArrayLike) -> float:
    """The median of `values`, shape (n,), n >= 1, none of them NaN. As numpy's, which takes four
    times as long for a few values, and at its first call imports a package for masked arrays."""
    array = np.asarray(values)
    half = array.size // 2
    if array.size % 2:
        return float(np.partition(array, half)[half])
    low, high = np.partition(array, (half - 1, half))[half - 1 : half + 1].tolist()
    return float(low + high) / 2


def median_interval(samples: Samples) -> Interval | None:
    """The 95 % confidence interval of the median of `samples`, shape (n,), in time order.

    None where there are fewer than FEWEST_FOR_INTERVAL samples, or where too few of them count as
    independent to bound the median.
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return None
    return quantile_interval(samples, 0.5)


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
    interval = quantile_interval(samples, 0.5, caution=_STOPPING_CAUTION)
    middle = median(samples)
    if interval is None or middle <= 0:
        return math.inf
    return max(interval.high - middle, middle - interval.low) / middle
