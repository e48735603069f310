"""What a message costs both ends of a configuration, as their hardware counters say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.results.counts import Counted, CountedSlice, Counts, add_counts
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median


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
