"""The records of older formats of the run file, and their migration to the present format.

First the names of fields become the present ones, one format after the other (`_RENAMED`). Records
of formats 1 to 4 also have another shape: one record per measurement instead of one per block, and
the same settings at both ends of a configuration.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate, pairwise
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from halftrip.results import records
from halftrip.results.block import (
    NO_TIMES,
    Block,
    RoundTrips,
    Times,
    decode_array,
    whole_numbers,
)
from halftrip.results.bounds import (
    Amount,
    Count,
    Figure,
    Iterations,
    Name,
    Ns,
    Number,
    Positive,
    Rank,
    Several,
    Size,
    Text,
    WholeNs,
    Window,
)
from halftrip.results.configuration import (
    Buffers,
    Cache,
    Configuration,
    Datatype,
    EndSettings,
    Pages,
    Wait,
)
from halftrip.results.delivery import Delivery
from halftrip.results.host_counters import HostCounters
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.usage import CoreUse, Usage

# What fields are called in the format after this one. Fields of all records and of what is in them.
_RENAMED = {
    4: {"company": "concurrency", "culprit": "busiest_task"},
    5: {"repetition": "slice", "repetitions": "slices"},
    6: {
        "case": "configuration",
        "cases": "configurations",
        "exchanges": "iterations",
        "late": "reordered",
        "stolen": "steal",
        "cache_line_rtt": "core_to_core_rtt",
    },
}
# The same for values.
_RENAMED_VALUES = {("record", "together"): "aggregate", ("phase", "case"): "during"}
# Lists of objects with gaps, such as those of both ends, are no longer.
_FEW = 2
# Up to this format, records have another shape.
_OTHER_SHAPE = 4


def migrate(line: bytes, version: int) -> Any:
    """The record in a line of a file of this format, as one of the present format. Raises
    msgspec.DecodeError if it is none."""
    fields = msgspec.json.decode(line)
    for format_, names in _RENAMED.items():
        if version <= format_:
            fields = _renamed(fields, names)
    kind: Any = OldRecord if version <= _OTHER_SHAPE else records.Record
    try:
        record = msgspec.convert(fields, kind, dec_hook=decode_array)
        return record.migrate() if isinstance(record, Migrating) else record
    except ValueError as error:
        raise msgspec.ValidationError(str(error)) from None


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The value with other names of fields, in all objects that it consists of."""
    if isinstance(value, dict):
        return {
            names.get(name, name): _RENAMED_VALUES.get((name, each), _renamed(each, names))
            if isinstance(each, str)
            else _renamed(each, names)
            for name, each in value.items()
        }
    # One item tells the kind of all in the long lists of samples; only short ones have gaps.
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value[:_FEW]):
        return [_renamed(each, names) for each in value]
    return value


@runtime_checkable
class Migrating(Protocol):
    """A record of another shape."""

    def migrate(self) -> Any:
        """The record of the present format."""


class OldConfiguration(msgspec.Struct, kw_only=True):
    """A configuration of formats 1 to 4: both ends have the same settings."""

    transport: Name
    pattern: Pattern = "pingpong"
    mode: Mode = "blocking"
    size: Size
    memory: Name = "host"
    buffers: Buffers = "separate"
    pages: Pages = "4K"
    cache: Cache = "hot"
    wait: Wait
    pair: tuple[Rank, Rank] = (0, 1)
    window: Window = 1
    align: Size = 0
    datatype: Datatype = "byte"
    rate: Positive | None = None
    verify: bool = False
    thread: Number = 0
    concurrency: Several = 1

    def migrate(self) -> Configuration:
        fields = msgspec.structs.asdict(self)
        end = EndSettings(memory=self.memory, pages=self.pages, wait=self.wait)
        moved = ("memory", "pages", "wait")
        kept = {name: value for name, value in fields.items() if name not in moved}
        return Configuration(**kept, initiator=end, responder=end)


class OldLine(msgspec.Struct):
    """The core-to-core round trip before and after a whole measurement, ns."""

    before: Ns
    after: Ns


class OldMeasurement(msgspec.Struct, kw_only=True, tag_field="record", tag="measurement"):
    """A measurement of formats 1 to 4. `blocks` are the numbers of samples of each block, `lines`
    the core-to-core round trips after each (both since format 3), `preemptions` the involuntary
    switches of both ends in each (format 4); all else is of the whole measurement."""

    configuration: OldConfiguration
    slice: Number
    at: Figure
    first: WholeNs
    warm_up: records.WarmUp
    iterations: Iterations
    stopped: records.Stopped
    line: OldLine | None
    samples: list[int]
    blocks: list[Count] = []
    lines: list[Ns] = []
    launch: Number = 0
    peer_ns: Ns | None = None
    arrival_ns: tuple[Ns, Ns] | None = None
    delivery: Delivery | None = None
    verified: Count | None = None
    usage: tuple[Usage, Usage] | None = None
    preemptions: list[tuple[Count, Count]] = []

    def migrate(self) -> records.Measurement:
        """The measurement with its figures of the whole in the first block."""
        blocks = self._blocks()
        at_responder, at_initiator = self.arrival_ns or (None, None)
        blocks[0] = msgspec.structs.replace(
            blocks[0],
            peer_times=_with_median(self.peer_ns),
            peer_receive_times=_with_median(at_responder),
            receive_times=_with_median(at_initiator),
            delivery=self.delivery,
        )
        return records.Measurement(
            configuration=self.configuration.migrate(),
            slice=self.slice,
            at=self.at,
            first=self.first,
            warm_up=self.warm_up,
            iterations=self.iterations,
            stopped=self.stopped,
            blocks=self._with_usage(blocks),
            launch=self.launch,
            verified=self.verified,
            cores=self._cores(),
        )

    def _blocks(self) -> list[Block]:
        """The samples in blocks; in one where the file does not tell them apart."""
        samples = whole_numbers(self.samples)
        counts = self.blocks if sum(self.blocks) == samples.size else []
        if self.line is not None and len(counts) != len(self.lines):
            counts = []
        ends = list(accumulate(counts or [samples.size], initial=0))
        rtts: list[RoundTrips | None] = [None] * (len(ends) - 1)
        if self.line is not None:
            after = self.lines if counts else [self.line.after]
            rtts = [RoundTrips(*probes) for probes in pairwise((self.line.before, *after))]
        return [
            Block(times=samples[begin:end], core_to_core_rtt=rtt)
            for (begin, end), rtt in zip(pairwise(ends), rtts, strict=True)
        ]

    def _with_usage(self, blocks: list[Block]) -> list[Block]:
        """The blocks with all usage in the first, but the preemptions of each where known."""
        if self.usage is None:
            return blocks
        totals = [_without_core(usage) for usage in self.usage]
        preemptions = self.preemptions
        if len(preemptions) != len(blocks):
            preemptions = [(totals[0].involuntary, totals[1].involuntary)]
            preemptions += [(0, 0)] * (len(blocks) - 1)
        return [
            msgspec.structs.replace(block, usage=_usage_of_block(number, totals, counts))
            for number, (block, counts) in enumerate(zip(blocks, preemptions, strict=True))
        ]

    def _cores(self) -> tuple[CoreUse | None, CoreUse | None] | None:
        if self.usage is None:
            return None
        initiator, responder = (usage.core for usage in self.usage)
        return initiator, responder


def _with_median(median: float | None) -> Times:
    """One or two whole numbers with this median, which is whole or half-way between two."""
    if median is None:
        return NO_TIMES
    return np.unique(np.array([math.floor(median), math.ceil(median)], dtype=np.int64))


def _without_core(usage: Usage) -> Usage:
    fields = msgspec.structs.asdict(usage)
    return Usage(**(fields | {"core": None}))


def _usage_of_block(
    number: int, totals: list[Usage], preemptions: tuple[int, int]
) -> tuple[Usage, Usage]:
    """The usage of both ends in block `number`: everything is in the first."""
    initiator, responder = (
        msgspec.structs.replace(total if number == 0 else _zeros(total), involuntary=count)
        for total, count in zip(totals, preemptions, strict=True)
    )
    return initiator, responder


def _zeros(total: Usage) -> Usage:
    """A usage that adds nothing to `total`: 0 where that has a figure, None where it has none."""
    fields = msgspec.structs.asdict(total)
    kept = ("peak_memory", "counted", "core")
    return Usage(
        **{
            name: value if name in kept or value is None else type(value)(0)
            for name, value in fields.items()
        }
    )


def _migrated(record: msgspec.Struct, **fields: Any) -> dict[str, Any]:
    """The fields of a record, with these `fields` in place of its own."""
    return msgspec.structs.asdict(record) | fields


class OldFailure(msgspec.Struct, kw_only=True, tag_field="record", tag="failure"):
    configuration: OldConfiguration
    slice: Number
    reason: Text
    launch: Number = 0

    def migrate(self) -> records.Failure:
        return records.Failure(**_migrated(self, configuration=self.configuration.migrate()))


class OldAggregate(msgspec.Struct, kw_only=True, tag_field="record", tag="aggregate"):
    configuration: OldConfiguration
    slice: Number
    pairs: list[tuple[Rank, Rank]]
    spans: list[WholeNs]
    messages: list[Amount]
    launch: Number = 0

    def migrate(self) -> records.Aggregate:
        return records.Aggregate(**_migrated(self, configuration=self.configuration.migrate()))


class OldSystem(HostCounters, frozen=True, kw_only=True, tag_field="record", tag="system"):
    configurations: list[OldConfiguration] = []  # type: ignore[assignment]  # noqa: RUF012 (msgspec copies it)

    def migrate(self) -> HostCounters:
        found = [each.migrate() for each in self.configurations]
        return HostCounters(**_migrated(self, configurations=found))


OldRecord = (
    records.Header
    | records.Environment
    | records.Skip
    | OldMeasurement
    | OldFailure
    | OldAggregate
    | records.CopyTime
    | OldSystem
    | records.Notice
    | records.RunEnd
)
