"""The median and an interval for it that needs no distribution and no independence.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math

import numpy as np

from halftrip.stats.quantile import (
    Floats,
    Interval,
    Samples,
    long_run_variance,
    quantile_interval,
    student_95,
)

__all__ = [
    "FEWEST_FOR_INTERVAL",
    "Floats",
    "Interval",
    "Samples",
    "half_width",
    "long_run_variance",
    "median_interval",
    "student_95",
]

# Below this the order statistics of independent samples cannot bound the median at 95 %:
# 2 * 0.5**n > 0.05. At six the lowest and the highest do.
FEWEST_FOR_INTERVAL = 6
# In standard errors of the width. Without it, stopping at 1 % covers 92 % of cases with a first-
# order autocorrelation of 0.6 and some 300 samples; with it, 93 % (benchmarks/coverage.py).
_STOPPING_CAUTION = math.sqrt(2.0)


def median_interval(samples: Samples) -> Interval | None:
    """The 95 % confidence interval of the median of `samples`, shape (n,), in time order.

    None where there are fewer than FEWEST_FOR_INTERVAL samples, or so few that count as independent
    that no two of them bound the median.
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return None
    return quantile_interval(samples, 0.5)


def half_width(samples: Samples) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval. To
    stop by, so somewhat wider than the interval to report.

    Who stops as soon as an interval is narrow stops where its width happens to be underestimated,
    and covers too little; the more so, the less is known of the width. So that it is known well
    enough, it counts with some of its own error (a width that is inflated while samples are few:
    Glynn and Whitt, Annals of Applied Probability 2, 1992).
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return math.inf
    interval = quantile_interval(samples, 0.5, caution=_STOPPING_CAUTION)
    middle = float(np.median(samples))
    if interval is None or middle <= 0:
        return math.inf
    return max(interval.high - middle, middle - interval.low) / middle
