"""What the hardware counters of both ends have counted, in slices of their own."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.bounds import Count, Number
from halftrip.results.configuration import Configuration

# Where the counters count: in user mode only, or in the kernel, too.
Counted = Literal["user", "all"]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What the thread of one end took for `iterations` iterations, its untimed ones included."""

    iterations: Count
    instructions: Count
    cycles: Count
    counted: Counted


class CountedSlice(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="hardware-counters"
):
    """What the initiator and the responder of a configuration took in a slice that was only
    counted, not timed; None for an end whose counters cannot be read."""

    configuration: Configuration
    slice: Number
    launch: Number = 0
    ends: tuple[Counts | None, Counts | None]


def add_counts(counts: list[Counts]) -> Counts | None:
    """The sum of what one end has counted in several batches; None of none."""
    if not counts:
        return None
    return Counts(
        iterations=sum(each.iterations for each in counts),
        instructions=sum(each.instructions for each in counts),
        cycles=sum(each.cycles for each in counts),
        counted=counts[0].counted,
    )
