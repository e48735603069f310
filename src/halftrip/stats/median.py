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


def median_interval(samples: Samples) -> Interval | None:
    """The 95 % confidence interval of the median of `samples`, shape (n,), in time order.

    None where there are fewer than FEWEST_FOR_INTERVAL samples, or so few that count as independent
    that no two of them bound the median.
    """
    if samples.size < FEWEST_FOR_INTERVAL:
        return None
    return quantile_interval(samples, 0.5)


def half_width(samples: Samples) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval."""
    interval = median_interval(samples)
    middle = float(np.median(samples)) if samples.size else 0.0
    if interval is None or middle <= 0:
        return math.inf
    return max(interval.high - middle, middle - interval.low) / middle
