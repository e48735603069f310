"""The summary of one configuration, as a table shows it, and the variance between launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.estimate import Estimate, inverse
from halftrip.stats.interval import SliceMedian, interval, of_launch
from halftrip.stats.median import median
from halftrip.stats.quantile import UNKNOWN, Floats, Interval, tails

_UNKNOWN = Interval(math.nan, math.nan)


class SliceTimes(NamedTuple):
    """The one-way times of a slice, shape (n,), n >= 1, in time order, their median, and the median
    core-to-core round trip beside them, ns (NaN: not known)."""

    times: Floats
    median: SliceMedian
    rtt: float = math.nan


class Summary(NamedTuple):
    """One-way times of a message, ns; `bandwidth` is bytes per second in one direction.

    `latency` is the median of the medians of slices; with several launches, the median of these of
    each launch. `low` and `high` bound it at 95 %, over slices, or over launches where there are
    several; they are NaN where there is no interval, as of one slice. `p90`, `p99` and `p999` (of
    all samples together) and `max` are known where a sample is one iteration only, and NaN
    elsewhere. `first` is the very first iteration, and `samples` the number of samples.
    """

    latency: float
    low: float
    high: float
    p90: Estimate
    p99: Estimate
    p999: Estimate
    max: float
    bandwidth: float
    first: float
    samples: int

    @property
    def time(self) -> Estimate:
        """The latency with its interval."""
        return Estimate(self.latency, self.low, self.high)

    def over_time(self, value: float) -> Estimate:
        """A figure that is inverse to the latency, such as a bandwidth, with the interval that the
        latency gives it; without one where a time is not above 0."""
        if not 0 < self.low <= self.latency <= self.high:
            return Estimate(value)
        return inverse(value * self.latency, self.time)._replace(value=value)


def summarize(
    launches: Sequence[Sequence[SliceTimes]],
    size: float,
    first: float,
    delivered: float = 1.0,
    single: bool = True,
) -> Summary:
    """The summary of a configuration. `launches` has the slices of each launch; with none, all is
    NaN. `size` is that of a message, bytes (NaN: not known). The
    share `delivered` of the messages arrived. `single`: each sample is one iteration.

    All slices of a launch have the same weight, and so have all launches: a calmer one takes
    fewer samples.
    """
    if not launches:
        nan = math.nan
        return Summary(nan, nan, nan, UNKNOWN, UNKNOWN, UNKNOWN, nan, nan, first, 0)
    medians = [each.median for each in launches[0]]
    if len(launches) > 1:
        medians = [of_launch([each.median for each in launch]) for launch in launches]
    latency = median([each.median for each in medians])
    bounds = interval(medians) or _UNKNOWN
    parts = [each.times for each in launches[0]]
    if len(launches) > 1:
        parts = [np.concatenate([each.times for each in launch]) for launch in launches]
    p90, p99, p999 = tails(parts, (0.9, 0.99, 0.999)) if single else [UNKNOWN] * 3
    return Summary(
        latency=latency,
        low=bounds.low,
        high=bounds.high,
        p90=p90,
        p99=p99,
        p999=p999,
        max=max(float(part.max()) for part in parts) if single else math.nan,
        bandwidth=size * delivered / latency * 1e9 if latency > 0 else math.nan,
        first=first,
        samples=sum(part.size for part in parts),
    )


def relative_width(summary: Summary) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval."""
    width = max(summary.high - summary.latency, summary.latency - summary.low)
    return math.inf if math.isnan(width) or summary.latency <= 0 else width / summary.latency


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
