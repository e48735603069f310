"""The system log: the counters of every host while a run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable

from halftrip.measure.clock_offsets import clock_offsets
from halftrip.measure.setup import Setup
from halftrip.results.case import Case
from halftrip.results.records import HostCounters, Phase
from halftrip.telemetry.host import Counted, Counters

# For how long nothing is measured before all cases, and after.
_IDLE_SECONDS = 1.0
# Clocks run apart by some millionths, a few ms in so long.
_CLOCKS_SECONDS = 60.0
# Of the time in which anything is done the log may take this share.
_LARGEST_SHARE = 0.005
# The records that are still to come when one is made: this, the last cases', and that after all.
_TO_COME = 3


class HostLog:
    """The log of every host that has a rank; all ranks have one and call it alike.

    Of each host its lowest rank reads the counters. `record` takes what rank 0 has learnt; `began`
    is when the launch of number `launch` did, ns of this rank's CLOCK_MONOTONIC_RAW.
    """

    def __init__(
        self,
        setup: Setup,
        record: Callable[[HostCounters], None],
        began: int,
        launch: int,
    ) -> None:
        began_here = time.perf_counter()
        self._setup = setup
        self._group = setup.group
        self._record = record
        self._launch = launch
        self._began = began
        self._offsets: list[int] = []
        self._cases: list[tuple[int, Case]] = []
        # How long it all took, without the rest, and since when, if that had not been; what a
        # record takes, on the average; when clocks were compared.
        self.seconds = 0.0
        self._since = began_here
        self._cost = 0.0
        self._records = 0
        self._compared = 0.0
        leads = setup.hosts.index(setup.hosts[setup.group.rank]) == setup.group.rank
        # Of one host rank 0 tells alone, and nobody has to wait for it.
        self._several = len(set(setup.hosts)) > 1
        self._counters = Counters(setup.meter.reader) if leads else None
        self.seconds = time.perf_counter() - began_here

    def flush(self) -> None:
        """Logs the cases that wait for more, if any."""
        if self._cases:
            self._log("case")

    def rest(self, phase: Phase) -> None:
        """Logs what was left, does nothing for a second, and logs that."""
        self.flush()
        began = time.perf_counter()
        self._advance()
        self._compare_clocks()
        self.seconds += time.perf_counter() - began
        time.sleep(_IDLE_SECONDS)
        self._since += _IDLE_SECONDS
        self._log(phase)

    def note(self, case: Case, repetition: int) -> None:
        """Logs a case that has just been measured, or waits for more: where cases are short, a
        record of each would take too large a share of the time, and tell nothing in ticks of 10 ms.
        """
        began = time.perf_counter()
        self._cases.append((repetition, case))
        due = self.seconds + _TO_COME * self._cost <= _LARGEST_SHARE * (began - self._since)
        stale = due and began - self._compared > _CLOCKS_SECONDS
        if self._several:
            due, stale = self._group.broadcast((due, stale), tuple[bool, bool])
        if stale:
            self._compare_clocks()
        self._count(began)
        if due:
            self._log("case")

    def _compare_clocks(self) -> None:
        """Learns again by how much the hosts' clocks differ."""
        self._offsets = clock_offsets(self._group, self._setup.hosts)
        self._compared = time.perf_counter()

    def _log(self, phase: Phase) -> None:
        """Logs what has been counted since the last time."""
        began = time.perf_counter()
        own = self._advance()
        counted = self._group.gather(own, Counted | None) if self._several else [own]
        for rank, found in enumerate(counted or ()):
            if found is not None:
                self._record(self._system(rank, found, phase))
        self._cases = []
        self._records += 1
        self._cost += (self._count(began) - self._cost) / self._records

    def _count(self, began: float) -> float:
        """Counts what has been done since then, s."""
        took = time.perf_counter() - began
        self.seconds += took
        return took

    def _advance(self) -> Counted | None:
        return None if self._counters is None else self._counters.advance()

    def _system(self, rank: int, found: Counted, phase: Phase) -> HostCounters:
        """In rank 0's time, seconds since the launch began."""
        return HostCounters(
            host=self._setup.environments[rank].host,
            rank=rank,
            phase=phase,
            cases=[case for _, case in self._cases],
            repetitions=[repetition for repetition, _ in self._cases],
            launch=self._launch,
            at=(found.began - self._offsets[rank] - self._began) * 1e-9,
            seconds=(found.ended - found.began) * 1e-9,
            cpus=found.cpus,
            memory_used=found.memory_used,
            counts=found.counts,
            interfaces=found.interfaces,
            interrupts=found.interrupts,
            softnet=found.softnet,
        )
