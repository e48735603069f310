"""What a record has to be besides well-formed: its figures fit each other, and it fits the others.

`bounds` has what each number can be by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import singledispatch
from typing import Any, Literal, NamedTuple

import msgspec

from halftrip.results import records
from halftrip.results.block import Block
from halftrip.results.bounds import LONGEST_NS
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.threshold import Threshold

# Iterations of a sample times messages of an iteration fit a number of 64 bits.
_MOST_MESSAGES = 1 << 62
# The plan is a value of JSON of any shape; no plan of halftrip's has more levels.
_DEEPEST_PLAN = 6
# The years in which a computer can have run this: others do not fit the dates of data frames.
_YEARS = range(1971, 2200)


class _PlanThatViewsRead(msgspec.Struct):
    """The keys of a plan by which views compute, where a value of another type could be."""

    slices: int = 0
    placement_state: Literal["near", "far"] | None = None


class Read(NamedTuple):
    """A record, and the number of its line, from 1."""

    number: int
    record: records.Record


@singledispatch
def check(record: object) -> None:
    """Raises ValueError, which says what is wrong, for a record whose figures do not fit each
    other."""


@check.register
def _(header: records.Header) -> None:
    try:
        started = datetime.fromisoformat(header.started)
    except ValueError:
        raise ValueError("when it was started is no date") from None
    if started.year not in _YEARS:
        raise ValueError(f"started in the year {started.year}")
    if _depth(header.plan) > _DEEPEST_PLAN:
        raise ValueError("its plan is nested too deep")
    try:
        msgspec.convert(header.plan, _PlanThatViewsRead)
    except msgspec.ValidationError as error:
        raise ValueError(f"its plan is none: {error}") from None


@check.register
def _(measurement: records.Measurement) -> None:
    if measurement.configuration.size and not measurement.configuration.size_known:
        raise ValueError("a size that is not known")
    messages = measurement.iterations * measurement.configuration.messages_per_iteration
    if messages > _MOST_MESSAGES:
        raise ValueError(f"a sample of {messages:,} messages")
    # Those of one block were looked at when it was read.
    is_one = len(measurement.blocks) == 1 and not measurement.blocks[0].timed_out
    if not is_one and sum(block.elapsed for block in measurement.blocks) > LONGEST_NS:
        raise ValueError("its blocks are longer than any run")
    if measurement.delivery is not None and measurement.delivery.lost > measurement.delivery.sent:
        raise ValueError("more datagrams were lost than sent")
    for block in measurement.blocks:
        _check_arrivals(block)


def _check_arrivals(block: Block) -> None:
    if not block.arrivals.size:
        return
    if block.arrivals.size != block.times.size:
        raise ValueError("times and arrivals are not as many")
    if block.start is None or block.end is None or block.peer_start is None:
        raise ValueError("arrivals without the moments that they are counted from")


@check.register
def _(comparison: records.ClockComparison) -> None:
    if comparison.rank not in comparison.ranks or 0 in comparison.ranks:
        raise ValueError("a clock that is compared is that of its own ranks, and not rank 0's")


@check.register
def _(aggregate: records.Aggregate) -> None:
    if not aggregate.pairs:
        raise ValueError("an aggregate of no pairs")
    if len(aggregate.spans) != len(aggregate.messages):
        raise ValueError("spans and messages are not as many")
    if sum(aggregate.spans) > LONGEST_NS:
        raise ValueError("its spans are longer than any run")


def _depth(value: Any) -> int:
    """How deep a value of JSON is nested: 0 of a number or a text."""
    deepest, left = 0, [(value, 0)]
    while left:
        each, depth = left.pop()
        deepest = max(deepest, depth)
        if isinstance(each, dict):
            left += [(inner, depth + 1) for inner in each.values()]
        elif isinstance(each, list):
            left += [(inner, depth + 1) for inner in each]
    return deepest


def misplaced(found: Sequence[Read], ranks_known: bool) -> Iterator[tuple[int, str]]:
    """The records that do not fit the others: the number of the line of each, and why. With
    `ranks_known`, every rank is described in one of them, if any is."""
    described = {each.record.rank for each in found if isinstance(each.record, records.Environment)}
    for number, record in found:
        if isinstance(record, records.Header):
            yield number, "a run begins once"
        elif ranks_known and described:
            unknown = set(_ranks(record)) - described
            if unknown:
                yield number, f"rank {min(unknown)} is none of this run"


def _ranks(record: records.Record) -> Sequence[int]:
    """The ranks that a record has figures of."""
    match record:
        case records.Measurement() | records.Failure():
            return record.configuration.pair
        case records.Aggregate():
            return [rank for pair in record.pairs for rank in pair]
        case records.Connection():
            return (record.rank, record.peer)
        case Threshold() | Device() | DeviceCopy() | DeviceLatency():
            return (record.rank,)
        case records.ClockComparison():
            return record.ranks
        case _:
            return ()
