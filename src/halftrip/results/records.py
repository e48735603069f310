"""The records of a run file. Times are ns, sizes are bytes, unless a docstring says otherwise."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np

from halftrip.results.background import BackgroundTraffic
from halftrip.results.block import Block, Times, concatenate, median_or_none
from halftrip.results.bounds import (
    Amount,
    Change,
    Count,
    Figure,
    Iterations,
    Name,
    Number,
    Positive,
    Rank,
    Size,
    Text,
    WholeNs,
    Window,
)
from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.counts import CountedSlice, Delivery, HostCounters, add_deliveries
from halftrip.results.device import Device, DeviceCopy, DeviceLatency
from halftrip.results.network_path import Connection
from halftrip.results.reported import Reported, Source, Variant
from halftrip.results.threshold import Threshold
from halftrip.results.usage import CoreUse, Usage, add_both_ends
from halftrip.stats.clock_line import MeasuredOffset
from halftrip.stats.quantile import Floats

Stopped = Literal["converged", "time", "count", "full"]
# Between two vulnerabilities: their states have commas and semicolons.
MITIGATIONS_GAP = " | "


class WarmUp(msgspec.Struct, frozen=True):
    """The iterations of calibration and warm-up, which were timed and not kept, without the first
    iteration: how many, their time in ns, and whether the times had settled by then (None: with a
    fixed count nobody looks)."""

    iterations: Count
    ns: WholeNs
    settled: bool | None


class Measurement(
    msgspec.Struct, frozen=True, kw_only=True, dict=True, tag_field="record", tag="measurement"
):
    """A configuration, measured once: its blocks in time order, and how they were taken.

    `at` is when it began, s after the launch of number `launch` began. `first` is the very first
    iteration, ns, timed by itself. Each sample is the time of `iterations` iterations. Blocks
    between these may have been rejected. `verified` is how many messages were checked and found
    intact; None where none is. `segment` is which of the segments of memory of its path it had,
    of which one is drawn for each slice; None where there is one only. `cores` is the use of the
    initiator's and the responder's core from the first block to the last, `background` what traffic
    beside it moved; None where that is not known, or there was none. `kernel_copy` is the time of
    one copy of a message by process_vm_readv just after it, ns; None where messages cannot go so.

    `reported` is what another tool has printed of it, where it was imported: a sample is then what
    that tool made of its iterations, such as their sum. What the tool does not say is None.
    """

    configuration: Configuration
    slice: Number
    at: Figure | None
    first: WholeNs | None
    warm_up: WarmUp | None
    iterations: Iterations
    stopped: Stopped | None
    blocks: list[Block]
    launch: Number = 0
    verified: Count | None = None
    segment: Number | None = None
    cores: tuple[CoreUse | None, CoreUse | None] | None = None
    background: BackgroundTraffic | None = None
    kernel_copy: Positive | None = None
    reported: Reported | None = None

    @cached_property
    def samples(self) -> Times:
        """The times of all samples, shape (n,), ns."""
        return concatenate(block.times for block in self.blocks)

    @property
    def is_sampled(self) -> bool:
        """Whether it has any sample."""
        return any(block.times.size for block in self.blocks)

    @property
    def one_way_blocks(self) -> list[Floats]:
        """For each block, the one-way times of a message, shape (n,), ns."""
        messages = self.iterations * self.configuration.messages_per_iteration
        return [block.times / messages for block in self.blocks]

    @property
    def one_way_times(self) -> Floats:
        """The times of all blocks, shape (n,)."""
        blocks = self.one_way_blocks
        if len(blocks) == 1:
            return blocks[0]
        return np.concatenate(blocks) if blocks else np.empty(0)

    @property
    def core_to_core_rtts(self) -> list[float]:
        """The core-to-core round trips before the first block and after each, ns; empty where they
        are not known of every block."""
        if len(self.blocks) == 1:
            # As most are of a run of many rows.
            rtt = self.blocks[0].core_to_core_rtt
            return [] if rtt is None else [*rtt]
        known = [
            block.core_to_core_rtt for block in self.blocks if block.core_to_core_rtt is not None
        ]
        if not known or len(known) < len(self.blocks):
            return []
        return [known[0].before, *(rtt.after for rtt in known)]

    @property
    def peer_median(self) -> float | None:
        """The median of the samples by the responder's clock, ns; None where it takes no times."""
        return median_or_none([block.peer_times for block in self.blocks])

    @property
    def receive_medians(self) -> tuple[float, float] | None:
        """The median time until the last receive of a sample completed, at the responder and at the
        initiator, ns; None where that is not measured."""
        there = median_or_none([block.peer_receive_times for block in self.blocks])
        back = median_or_none([block.receive_times for block in self.blocks])
        return None if there is None or back is None else (there, back)

    @property
    def delivery(self) -> Delivery | None:
        """The counts of all messages in the samples; None where none can be lost."""
        known = [block.delivery for block in self.blocks if block.delivery is not None]
        return add_deliveries(known) if known else None

    @cached_property
    def usage(self) -> tuple[Usage, Usage] | None:
        """The resource usage of the initiator and the responder in all blocks; None where that is
        not known."""
        total = add_both_ends(block.usage for block in self.blocks)
        if total is None:
            return None
        initiator, responder = (
            usage if usage.core is core else msgspec.structs.replace(usage, core=core)
            for usage, core in zip(total, self.cores or (None, None), strict=True)
        )
        return initiator, responder


class Launch(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="launch"):
    """The launch of this `number` begins, in this `round`, with this `variant`; only in a run that
    varies something. One that follows another of the same round and variant measures what that
    lacks."""

    number: Number
    round: Number
    variant: Variant


class LaunchFailure(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="launch-failure"
):
    """The launch of this number, which had this `variant`, could not begin or go on, and why; the
    others went on without it."""

    launch: Number
    variant: Variant
    reason: Text


class Again(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="again"):
    """What is measured from the launch of number `launch` on replaces what was measured before of
    the same configurations."""

    launch: Number


class LostHost(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="lost"):
    """A host was lost in the launch of number `launch`, or could not be reached, and why: from then
    on its `ranks` have no part in the run, which goes on without them."""

    host: Text
    ranks: list[Rank]
    reason: Text
    launch: Number = 0


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="failure"):
    """A configuration that could not be measured to its end, and the reason."""

    configuration: Configuration
    slice: Number
    reason: Text
    launch: Number = 0


class Aggregate(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="aggregate"):
    """What pairs that talked at the same time transferred in total. `configuration` is the first
    pair's.

    For each block in which all pairs were active at some time, `spans` has that time, ns, and
    `messages` how many messages of all pairs went one way in it and arrived.
    """

    configuration: Configuration
    slice: Number
    pairs: list[tuple[Rank, Rank]]
    spans: list[WholeNs]
    messages: list[Amount]
    launch: Number = 0

    @property
    def bandwidth(self) -> float:
        """Bytes per second of all pairs, in both directions where a pair sends both ways at once.
        NaN if the pairs were never all active."""
        return self.rate * self.configuration.payload

    @property
    def rate(self) -> float:
        """Messages per second of all pairs, in the same directions."""
        time = sum(self.spans)
        return sum(self.messages) * self.configuration.directions / time * 1e9 if time else math.nan


class Notice(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="notice"):
    """What a reader of the run has to know of a rank: what it could not read or make sense of in
    the kernel's files, and so left out ("unread"), or what the kernel gave less of than was asked
    for ("shortfall"). Or of a launch: what the program that has started its ranks, or these, have
    printed ("printed"), of which `lines` has the first ones."""

    rank: Rank
    host: Text
    text: Text
    kind: Literal["unread", "shortfall", "printed"] = "unread"
    launch: Number = 0
    lines: list[Text] = []


class ClockInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The clock of one rank. `cost` and `resolution` are ns; `hertz` is ticks per second."""

    source: Text
    hertz: Amount
    cost: Figure
    resolution: Amount


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="environment"):
    """Where one rank ran in one launch: host, core, software. `thread_cores` are the cores of its
    threads, where several talk. `siblings` are all processors of its core's physical core, `node`
    is its NUMA node (None: it has no core, or the kernel does not tell). `machine` is the same of
    two hosts that are containers, or network namespaces, of one machine: its boot id. `poll_pause`
    is how many pauses its polling loops make between two polls (None: not known). `mitigations` is
    what the kernel does about the vulnerabilities of the processor: ``name: state`` of each that it
    has, with `MITIGATIONS_GAP` between them (None: not known). `halftrip` is the version that has
    measured, where that is not the run's own: another installation's (--base-command).

    What ends that sleep depend on, None where it is not known: `idle` is the driver and the
    governor of idle cores, `timer_slack` by how much a sleep may be prolonged, ns,
    `slow_start_after_idle` whether TCP begins with a small window after a silence, and `counters`
    whether the rank could count with hardware counters."""

    rank: Rank
    host: Text
    pid: Count
    core: Number | None
    allowed_cores: list[Number]
    oversubscribed: bool
    processor: Text
    kernel: Text
    python: Text
    clock: ClockInfo
    thp: Text | None
    governor: Text | None
    hypervisor: Text | None
    mpi: Text | None
    mpi_library: Text | None
    variables: dict[Text, Text]
    launch: Number = 0
    thread_cores: list[Number | None] | None = None
    poll_pause: Count | None = None
    mitigations: Text | None = None
    halftrip: Text | None = None
    idle: Text | None = None
    timer_slack: Count | None = None
    slow_start_after_idle: bool | None = None
    counters: bool | None = None
    machine: Text | None = None
    siblings: list[Number] | None = None
    node: Number | None = None


class Skip(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="skip"):
    """A requested transport that was not measured, and why; or only some patterns, modes, windows,
    sizes or pairs of it. `variant`: in launches with it."""

    transport: Name
    reason: Text
    sizes: list[Size] | None = None
    patterns: list[Name] | None = None
    modes: list[Name] | None = None
    windows: list[Window] | None = None
    pairs: list[tuple[Rank, Rank]] | None = None
    variant: Variant = ()


class ClockComparison(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="clocks"):
    """How far the clock of `rank`, which is also that of all `ranks` of its host, was ahead of rank
    0's, ns, at the moment `at`, ns of rank 0's CLOCK_MONOTONIC_RAW: by an exchange of two messages
    between both, which took `round_trip` ns."""

    rank: Rank
    ranks: list[Rank]
    at: Change
    ahead: Change
    round_trip: WholeNs
    launch: Number = 0

    @property
    def comparison(self) -> MeasuredOffset:
        """The same, exact to half of the round trip."""
        return MeasuredOffset(self.at, self.ahead, self.round_trip / 2)


class CopyTime(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="copy"):
    """The median time of one copy of `size` bytes within one rank, ns; `by_kernel`, of one by
    process_vm_readv, else of a memcpy."""

    rank: Rank
    size: Size
    ns: Positive
    by_kernel: bool = False


class RunEnd(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="end"):
    """How a run ended. `reason` is None for a complete run.

    `seconds` is the wall time of all launches, of which rank 0 spent `timed` in timed code, and
    `logged` on the system log, without its two seconds of rest. `clock_drift` is, by rank, how far
    the clock's rate over the whole run differs from the rate measured at the start, parts per
    million; of several launches, the largest.
    """

    reason: Text | None
    seconds: Amount | None = None
    timed: Amount | None = None
    clock_drift: list[Figure] | None = None
    logged: Amount | None = None


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="run"):
    """The first record of a run file. `version` is that of its format."""

    version: int
    halftrip: Text
    started: Text
    command: list[Text]
    plan: dict[str, Any]


Record = (
    Header
    | Source
    | Environment
    | Skip
    | Launch
    | LaunchFailure
    | Measurement
    | Again
    | LostHost
    | Failure
    | Aggregate
    | Connection
    | Carrier
    | Threshold
    | ClockComparison
    | CopyTime
    | Device
    | DeviceCopy
    | DeviceLatency
    | HostCounters
    | CountedSlice
    | Notice
    | RunEnd
)
