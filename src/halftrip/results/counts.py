"""What is counted beside times: datagrams, instructions and cycles of both ends, and by a host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from halftrip.results.bounds import Amount, Change, Count, Figure, Number, Positive, Rank, Text
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


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of datagrams: `sent`, `lost` (never received) and `reordered` (received after one that
    was sent later). In a ping-pong, replies are lost or reordered. `jitter` is the interarrival
    jitter of RFC 3550 after the last datagram, ns; None where it is not measured, as without a
    rate."""

    sent: Count
    lost: Count
    reordered: Count
    jitter: Amount | None = None


def add_deliveries(deliveries: Iterable[Delivery | None]) -> Delivery | None:
    """The sum of the known ones, None if none is; the jitter is the last known one."""
    known = [delivery for delivery in deliveries if delivery is not None]
    if not known:
        return None
    jitters = [delivery.jitter for delivery in known if delivery.jitter is not None]
    return Delivery(
        sent=sum(delivery.sent for delivery in known),
        lost=sum(delivery.lost for delivery in known),
        reordered=sum(delivery.reordered for delivery in known),
        jitter=jitters[-1] if jitters else None,
    )


def delivered_share(configuration: Configuration, delivery: Delivery | None) -> float:
    """The share of the messages in the samples that arrived, 0 to 1. Only a stream can have less
    than 1: its samples include lost messages; a lost iteration of a ping-pong is no sample."""
    if delivery is None or not delivery.sent or not configuration.is_rate:
        return 1.0
    return 1.0 - delivery.lost / delivery.sent


Phase = Literal["before", "during", "after", "launch"]


class HostCounters(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="system"):
    """What the counters of a host counted in `seconds` from `at`, s after the launch began, by rank
    0's clock. `rank` is the lowest rank of the host. `phase` is "before" all configurations or
    "after" them, while nothing was measured, or "during": from the previous record to the end of
    the last of `configurations`, which are in order. Several short configurations share a record; a
    round of pairs is named by its first configuration. `slices` has the slice of each
    configuration. "launch" is all that was measured in a launch: each host of several has one such
    record.

    `cpus` has the seconds of each kind (user, nice, system, idle, iowait, irq, softirq, steal) of
    each processor, and of "all". `memory_used` is bytes at the end, without buffers and cache, of
    `memory_total` (None: not recorded).
    `counts` are of the whole host: interrupts, context switches, KiB read from and written to
    disks, pages swapped in and out, and the counters of TCP and UDP. `interfaces` has packets,
    bytes, drops and errors in and out of each interface, `interrupts` how often each interface
    interrupted each processor, and `softnet` the packets handed to each processor. Figures that
    cannot be read are absent.
    """

    host: Text
    rank: Rank
    phase: Phase
    at: Figure
    seconds: Positive
    cpus: dict[Text, dict[Text, Figure]]
    memory_used: Change | None
    counts: dict[Text, Change]
    interfaces: dict[Text, dict[Text, Change]]
    interrupts: dict[Text, dict[Text, Change]]
    softnet: dict[Text, dict[Text, Change]]
    configurations: list[Configuration] = []
    slices: list[Number] = []
    launch: Number = 0
    memory_total: Count | None = None
