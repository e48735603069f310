"""What a table says about one case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.median import Floats, Interval, median_interval
from halftrip.stats.variance import launch_interval

# Of fewer samples none is the hundredth part that p99 leaves out.
_FEWEST_OF_P99 = 100


class Summary(NamedTuple):
    """One-way times of a message, ns; `bandwidth` is bytes per second in one direction.

    `low` and `high` bound `latency`, the median, at 95 %; they are NaN where the samples cannot.
    Of several repetitions, `latency` is the median of their medians, and of several launches again.
    `p99` and `max` are of all
    samples: of single exchanges only where a sample is one exchange. `first` is the first exchange
    of all, and `samples` how many were taken; of fewer than 100, `p99` is NaN.
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
    """The summary of a case whose launches each have repetitions, of shape (n,), n >= 1, one-way
    times in time order, ns. Of the messages the share `delivered` arrived.

    Repetitions count alike, however many samples each took: the calmer one would take fewer; and so
    do launches. Of one launch, the interval spans those of all repetitions, so that what differs
    from one to the next widens it; of several, it is that of their medians.
    """
    repetitions = [repetition for launch in launches for repetition in launch]
    pooled = np.concatenate(repetitions)
    medians = [float(np.median([np.median(one) for one in launch])) for launch in launches]
    latency = float(np.median(medians))
    if len(launches) > 1:
        interval = launch_interval(medians) or _UNKNOWN
    else:
        interval = _span([median_interval(repetition) for repetition in repetitions])
    return Summary(
        latency=latency,
        low=interval.low,
        high=interval.high,
        p99=float(np.quantile(pooled, 0.99)) if pooled.size >= _FEWEST_OF_P99 else math.nan,
        max=float(pooled.max()),
        bandwidth=size * delivered / latency * 1e9 if latency > 0 else math.nan,
        first=first,
        samples=pooled.size,
    )


_UNKNOWN = Interval(math.nan, math.nan)


def _span(intervals: list[Interval | None]) -> Interval:
    known = [interval for interval in intervals if interval is not None]
    if len(known) < len(intervals):
        return _UNKNOWN
    return Interval(min(i.low for i in known), max(i.high for i in known))


def relative_width(summary: Summary) -> float:
    """The interval's wider side, relative to the median; infinite where there is no interval."""
    width = max(summary.high - summary.latency, summary.latency - summary.low)
    return math.inf if math.isnan(width) or summary.latency <= 0 else width / summary.latency
