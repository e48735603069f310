"""Stand-in until the statistics over slices are merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.median import median_interval
from halftrip.stats.quantile import Interval, Samples
from halftrip.stats.variance import launch_interval


class SliceMedian(NamedTuple):
    median: float
    half_width: float = math.nan
    step: float = 0.0


def interval(slices: Sequence[SliceMedian]) -> Interval | None:
    return launch_interval([each.median for each in slices])


def of_samples(times: Samples) -> SliceMedian:
    found = median_interval(times)
    middle = float(np.median(times))
    return SliceMedian(middle, math.nan if found is None else (found.high - found.low) / 2, 0.0)
