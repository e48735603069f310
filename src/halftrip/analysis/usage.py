"""What both ends of a configuration used: CPU time, and by their hardware counters instructions and
cycles; and the samples taken while an end had lost its core.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.results.configuration import Configuration
from halftrip.results.counts import Counted, CountedSlice, Counts, add_counts
from halftrip.results.records import Measurement
from halftrip.results.usage import Usage
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median
from halftrip.stats.quantile import quantile_of_ordered

# The names of the ends of a pair, in the order of its ranks.
ENDS = ("initiator", "responder")


class EndUsage(NamedTuple):
    """What one end of a configuration has used; the share `delivered` of the messages arrived."""

    configuration: Configuration
    usage: Usage
    delivered: float

    @property
    def cpu_per_gigabyte(self) -> float:
        """CPU time of the end for 10^9 bytes of payload that arrived, in all directions together,
        s; NaN where none did."""
        each = self.configuration
        messages = self.usage.iterations * each.messages_per_iteration * each.directions
        payload = messages * each.size * self.delivered
        return self.usage.busy / payload * 1e9 if payload else math.nan


UsedByEnds = tuple[EndUsage | None, EndUsage | None]


def used_by_ends(
    configuration: Configuration, usage: tuple[Usage, Usage] | None, delivered: float
) -> UsedByEnds:
    """What the initiator and the responder have used; None where it is not known."""
    if usage is None:
        return None, None
    initiator, responder = (EndUsage(configuration, each, delivered) for each in usage)
    return initiator, responder


class MessageCost(NamedTuple):
    """What one end takes for a message of `size` bytes, which it sends or receives: instructions
    and cycles, with intervals over slices, or over launches where there are several. `per_cycle` is
    how many instructions it has in a cycle; NaN where it has counted no cycle. `counted`: see
    `Counts`."""

    instructions: Estimate
    cycles: Estimate
    per_cycle: float
    counted: Counted
    size: int

    def per_byte(self, of_message: Estimate) -> float:
        """The same for a byte of payload; NaN where messages are empty."""
        return of_message.value / self.size if self.size else math.nan


def message_costs(
    slices: Sequence[CountedSlice],
) -> tuple[MessageCost | None, MessageCost | None]:
    """What the initiator and the responder take; `slices` are those of one configuration. None for
    an end that could not be counted."""
    return _of_end(slices, 0), _of_end(slices, 1)


def _of_end(slices: Sequence[CountedSlice], end: int) -> MessageCost | None:
    by_launch: dict[int, list[Counts]] = {}
    for each in slices:
        counts = each.ends[end]
        if counts is not None and counts.iterations:
            by_launch.setdefault(each.launch, []).append(counts)
    every = [counts for of_launch in by_launch.values() for counts in of_launch]
    total = add_counts(every)
    if total is None:
        return None
    configuration = slices[0].configuration
    messages = configuration.messages_per_iteration * configuration.directions
    return MessageCost(
        instructions=_estimate(by_launch, "instructions", messages),
        cycles=_estimate(by_launch, "cycles", messages),
        per_cycle=total.instructions / total.cycles if total.cycles else math.nan,
        counted=total.counted,
        size=configuration.size,
    )


def _estimate(by_launch: dict[int, list[Counts]], name: str, messages: float) -> Estimate:
    """A count for each message: the median over launches of that over slices."""
    launches = [
        [getattr(counts, name) / (counts.iterations * messages) for counts in of_launch]
        for of_launch in by_launch.values()
    ]
    values = [median(of_launch) for of_launch in launches] if len(launches) > 1 else launches[0]
    found = interval([SliceMedian(value) for value in values])
    value = median(values)
    return Estimate(value) if found is None else Estimate(value, found.low, found.high)


# A sample that is longer than the median by this much stands out, whatever the median is, ns.
_PAUSE_NS = 1e6
# Of a normal distribution, three standard deviations, in distances of the lower quartile.
_NOISE = 4.45


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
    longer than the median of all by more than noise, as far as shorter ones show it. Of the whole
    measurement it is known how long the ends waited for their cores, and how much time the
    hypervisor took: further longest samples are suspect, as many as that time explains, if they
    exceed the median by another median, or by a millisecond.
    """
    samples = measurement.samples.astype(np.float64)
    found = np.zeros(samples.size, dtype=np.bool_)
    if not samples.size:
        return found
    middle = median(samples)
    excess = samples - middle
    least_lost = _NOISE * (middle - quantile_of_ordered(np.sort(samples), 0.25))
    sizes = [block.times.size for block in measurement.blocks]
    for block, begin, size in zip(
        measurement.blocks, accumulate(sizes, initial=0), sizes, strict=False
    ):
        preemptions = sum(usage.involuntary for usage in block.usage or ())
        if not preemptions:
            continue
        longest = begin + np.argsort(excess[begin : begin + size])[::-1][:preemptions]
        found[longest[excess[longest] > least_lost]] = True
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
