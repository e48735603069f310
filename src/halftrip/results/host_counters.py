"""The record of what the counters of a host counted."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.bounds import Change, Count, Figure, Number, Positive, Rank, Text
from halftrip.results.configuration import Configuration

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
