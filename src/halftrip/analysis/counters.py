"""What a message costs both ends of a configuration, as their hardware counters say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from halftrip.analysis.usage import ENDS
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Counted, CountedSlice, Counts, add_counts
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median


class MessageCost(NamedTuple):
    """What one end takes for a message, which it sends or receives: instructions and cycles, with
    intervals over slices, or over launches where there are several. `per_cycle` is how many
    instructions it has in a cycle; NaN where it has counted no cycle. `counted`: see `Counts`."""

    instructions: Estimate
    cycles: Estimate
    per_cycle: float
    counted: Counted


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


def cost_fields(
    configuration: Configuration, ends: tuple[MessageCost | None, MessageCost | None]
) -> dict[str, Any]:
    """The costs of both ends by name; None for what is not known. A byte of payload has no cost
    where messages are empty."""
    fields: dict[str, Any] = {}
    size = configuration.size
    for name, cost in zip(ENDS, ends, strict=True):
        for kind in ("instructions", "cycles"):
            found: Estimate | None = cost and getattr(cost, kind)
            value, low, high = found or (None, None, None)
            per_byte = found.value / size if found is not None and size else None
            fields |= {
                f"{name}_{kind}_per_message": value,
                f"{name}_{kind}_per_message_low": _finite(low),
                f"{name}_{kind}_per_message_high": _finite(high),
                f"{name}_{kind}_per_byte": per_byte,
            }
        fields[f"{name}_instructions_per_cycle"] = cost and _finite(cost.per_cycle)
        fields[f"{name}_counted"] = cost and cost.counted
    return fields


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
