"""The records of older formats of the run file, and their migration to the present format.

Format 6 has ``slice`` for ``repetition``. Format 5 has one record per block, settings of each end
of a case, and new names: ``aggregate`` was ``together``, ``concurrency`` was ``company``,
``busiest_task`` was ``culprit``.
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np

from halftrip.results import records
from halftrip.results.block import NO_TIMES, Block, RoundTrips, Times, whole_numbers
from halftrip.results.case import Buffers, Cache, Case, CaseEnd, Datatype, Pages, Wait
from halftrip.results.delivery import Delivery
from halftrip.results.patterns import Mode, Pattern
from halftrip.results.usage import BusiestTask, CoreUse, Usage


@runtime_checkable
class Migrating(Protocol):
    """A record of an older format."""

    def migrate(self) -> Any:
        """The record of the present format."""


class OldCase(msgspec.Struct, kw_only=True):
    """A case of formats 1 to 4: both ends have the same settings."""

    transport: str
    pattern: Pattern = "pingpong"
    mode: Mode = "blocking"
    size: int
    memory: str = "host"
    buffers: Buffers = "separate"
    pages: Pages = "4K"
    cache: Cache = "hot"
    wait: Wait
    pair: tuple[int, int] = (0, 1)
    window: int = 1
    align: int = 0
    datatype: Datatype = "byte"
    rate: float | None = None
    verify: bool = False
    thread: int = 0
    company: int = 1

    def migrate(self) -> Case:
        fields = msgspec.structs.asdict(self)
        end = CaseEnd(memory=self.memory, pages=self.pages, wait=self.wait)
        moved = ("memory", "pages", "wait", "company")
        kept = {name: value for name, value in fields.items() if name not in moved}
        return Case(**kept, initiator=end, responder=end, concurrency=self.company)


class OldCoreUse(CoreUse, frozen=True, kw_only=True):
    busiest_task: BusiestTask | None = msgspec.field(default=None, name="culprit")

    def migrate(self) -> CoreUse:
        return CoreUse(**msgspec.structs.asdict(self))


class OldUsage(Usage, frozen=True, kw_only=True):
    """The usage in format 4: of the whole measurement, the use of the core included."""

    core: OldCoreUse | None = None


class OldLine(msgspec.Struct):
    """The core-to-core round trip before and after a whole measurement, ns."""

    before: float
    after: float


class OldMeasurement(msgspec.Struct, kw_only=True, tag_field="record", tag="measurement"):
    """A measurement of formats 1 to 4. `blocks` are the numbers of samples of each block, `lines`
    the core-to-core round trips after each (both since format 3), `preemptions` the involuntary
    switches of both ends in each (format 4); all else is of the whole measurement."""

    case: OldCase
    repetition: int
    at: float
    first: int
    warm_up: records.WarmUp
    exchanges: int
    stopped: records.Stopped
    line: OldLine | None
    samples: list[int]
    blocks: list[int] = []
    lines: list[float] = []
    launch: int = 0
    peer_ns: float | None = None
    arrival_ns: tuple[float, float] | None = None
    delivery: Delivery | None = None
    verified: int | None = None
    usage: tuple[OldUsage, OldUsage] | None = None
    preemptions: list[tuple[int, int]] = []

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
            case=self.case.migrate(),
            slice=self.repetition,
            at=self.at,
            first=self.first,
            warm_up=self.warm_up,
            exchanges=self.exchanges,
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
            Block(times=samples[begin:end], cache_line_rtt=rtt)
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
        initiator, responder = (
            None if usage.core is None else usage.core.migrate() for usage in self.usage
        )
        return initiator, responder


def _with_median(median: float | None) -> Times:
    """One or two whole numbers with this median, which is whole or half-way between two."""
    if median is None:
        return NO_TIMES
    return np.unique(np.array([math.floor(median), math.ceil(median)], dtype=np.int64))


def _without_core(usage: OldUsage) -> Usage:
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


def _renamed(record: msgspec.Struct, **fields: Any) -> dict[str, Any]:
    """The fields of a record of formats 1 to 4 by their present names, with these `fields`."""
    known = msgspec.structs.asdict(record)
    known["slice"] = known.pop("repetition")
    return known | fields


class OldFailure(msgspec.Struct, kw_only=True, tag_field="record", tag="failure"):
    case: OldCase
    repetition: int
    reason: str
    launch: int = 0

    def migrate(self) -> records.Failure:
        return records.Failure(**_renamed(self, case=self.case.migrate()))


class OldTogether(msgspec.Struct, kw_only=True, tag_field="record", tag="together"):
    case: OldCase
    repetition: int
    pairs: list[tuple[int, int]]
    spans: list[int]
    messages: list[float]
    launch: int = 0

    def migrate(self) -> records.Aggregate:
        return records.Aggregate(**_renamed(self, case=self.case.migrate()))


class OldSystem(records.HostCounters, frozen=True, kw_only=True, tag_field="record", tag="system"):
    cases: list[OldCase] = []  # type: ignore[assignment]  # noqa: RUF012 (msgspec copies it)
    slices: list[int] = msgspec.field(default_factory=list, name="repetitions")

    def migrate(self) -> records.HostCounters:
        fields = msgspec.structs.asdict(self)
        return records.HostCounters(**(fields | {"cases": [c.migrate() for c in self.cases]}))


OldRecord = (
    records.Header
    | records.Environment
    | records.Skip
    | OldMeasurement
    | OldFailure
    | OldTogether
    | records.CopyTime
    | OldSystem
    | records.Notice
    | records.RunEnd
)


# Format 5: the present records, but for the name of one field.
RENAMED_FORMAT = 5


class Measurement5(
    records.Measurement, frozen=True, kw_only=True, tag_field="record", tag="measurement"
):
    slice: int = msgspec.field(name="repetition")

    def migrate(self) -> records.Measurement:
        return records.Measurement(**msgspec.structs.asdict(self))


class Failure5(records.Failure, frozen=True, kw_only=True, tag_field="record", tag="failure"):
    slice: int = msgspec.field(name="repetition")

    def migrate(self) -> records.Failure:
        return records.Failure(**msgspec.structs.asdict(self))


class Aggregate5(records.Aggregate, frozen=True, kw_only=True, tag_field="record", tag="aggregate"):
    slice: int = msgspec.field(name="repetition")

    def migrate(self) -> records.Aggregate:
        return records.Aggregate(**msgspec.structs.asdict(self))


class System5(records.HostCounters, frozen=True, kw_only=True, tag_field="record", tag="system"):
    slices: list[int] = msgspec.field(default_factory=list, name="repetitions")

    def migrate(self) -> records.HostCounters:
        return records.HostCounters(**msgspec.structs.asdict(self))


Record5 = (
    records.Header
    | records.Environment
    | records.Skip
    | Measurement5
    | Failure5
    | Aggregate5
    | records.CopyTime
    | System5
    | records.Notice
    | records.RunEnd
)
