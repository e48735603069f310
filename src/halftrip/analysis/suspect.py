"""Samples that were probably taken while an end had lost its core."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from halftrip.results.records import Measurement
from halftrip.stats.median import median

# A sample that is longer than the median by this much stands out, whatever the median is, ns.
_PAUSE_NS = 1e6


def count_suspect(measurements: Sequence[Measurement]) -> int | None:
    """How many samples are suspect; None where usage is not known of any measurement."""
    if not any(measurement.usage for measurement in measurements):
        return None
    return sum(int(suspect(measurement).sum()) for measurement in measurements)


def suspect(measurement: Measurement) -> npt.NDArray[np.bool_]:
    """Which samples were probably taken while an end had lost its core to other tasks or to the
    hypervisor, shape (n,).

    Reading counters within a block would disturb it, so this is inferred. In each block it is known
    how often each end was preempted: that many of its longest samples are suspect, if they are
    longer than the median of all. Of the whole measurement it is known how long the ends waited for
    their cores, and how much time the hypervisor took: further longest samples are suspect, as many
    as that time explains, if they exceed the median by another median, or by a millisecond.
    """
    samples = measurement.samples.astype(np.float64)
    found = np.zeros(samples.size, dtype=np.bool_)
    if not samples.size:
        return found
    middle = median(samples)
    excess = samples - middle
    sizes = [block.times.size for block in measurement.blocks]
    for block, begin, size in zip(
        measurement.blocks, accumulate(sizes, initial=0), sizes, strict=False
    ):
        preemptions = sum(usage.involuntary for usage in block.usage or ())
        if not preemptions:
            continue
        longest = begin + np.argsort(excess[begin : begin + size])[::-1][:preemptions]
        found[longest[excess[longest] > 0]] = True
    least = min(middle, _PAUSE_NS)
    others = np.flatnonzero(~found & (excess > 0) & (excess >= least))
    if not others.size:
        return found
    others = others[np.argsort(excess[others])[::-1]]
    unexplained = _lost_ns(measurement) - excess[found].sum()
    found[others[np.cumsum(excess[others]) <= unexplained]] = True
    return found


def _lost_ns(measurement: Measurement) -> float:
    """How long the ends waited for a core or the hypervisor had it, as far as is known, ns."""
    ends = measurement.usage or ()
    # An end that sleeps waits a little at every wake-up, which is no loss.
    waited = sum(u.waited or 0.0 for u in ends if u.hardly_sleeps or u.taken_share)
    # The larger one, not the sum: the same pause may have hit both.
    stolen = max(((u.steal_share or 0.0) * u.elapsed for u in ends), default=0.0)
    return (waited + stolen) * 1e9
