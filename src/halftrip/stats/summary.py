"""The summary of one case, as a table shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.median import median_interval
from halftrip.stats.quantile import Floats, Interval
from halftrip.stats.variance import launch_interval

# With fewer samples, not even one is the highest 1 %.
_FEWEST_FOR_P99 = 100
_UNKNOWN = Interval(math.nan, math.nan)


class Summary(NamedTuple):
    """One-way times of a message, ns; `bandwidth` is bytes per second in one direction.

    `low` and `high` bound `latency`, the median, at 95 %; they are NaN where there is no interval.
    With several slices, `latency` is the median of their medians, and with several launches
    the median of these. `p99` and `max` are of all samples: of single exchanges only where a sample
    is one exchange. `p99` is NaN with fewer than 100 samples. `first` is the very first exchange,
    and `samples` the number of samples.
    """

    latency: float
    low: float
    high: float
    p99: float
    max: float
    bandwidth: float
    first: float
    samples: int


def summarize(
    launches: Sequence[Sequence[Floats]], size: int, first: float, delivered: float = 1.0
) -> Summary:
    """The summary of a case. `launches` has the slices of each launch, each of shape (n,),
    n >= 1: one-way times in time order, ns. The share `delivered` of the messages arrived.

    All slices of a launch have the same weight, and so have all launches: a calmer one takes
    fewer samples. With one launch, the interval spans those of all slices, so that differences
    between them widen it; with several, it is that of the launches' medians.
    """
    slices = [times for launch in launches for times in launch]
    pooled = np.concatenate(slices)
    medians = [float(np.median([np.median(one) for one in launch])) for launch in launches]
    latency = float(np.median(medians))
    if len(launches) > 1:
        interval = launch_interval(medians) or _UNKNOWN
    else:
        interval = _span([median_interval(times) for times in slices])
    return Summary(
        latency=latency,
        low=interval.low,
        high=interval.high,
        p99=float(np.quantile(pooled, 0.99)) if pooled.size >= _FEWEST_FOR_P99 else math.nan,
        max=float(pooled.max()),
        bandwidth=size * delivered / latency * 1e9 if latency > 0 else math.nan,
        first=first,
        samples=pooled.size,
    )


def _span(intervals: list[Interval | None]) -> Interval:
    """The interval from the lowest to the highest bound; unknown if one of them is None."""
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return _UNKNOWN
    return Interval(min(i.low for i in known), max(i.high for i in known))


def relative_width(summary: Summary) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval."""
    width = max(summary.high - summary.latency, summary.latency - summary.low)
    return math.inf if math.isnan(width) or summary.latency <= 0 else width / summary.latency
