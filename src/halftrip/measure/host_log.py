"""The counters of every host during a run: the system log, and one record of each launch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.setup import Setup
from halftrip.results.configuration import Configuration
from halftrip.results.counts import HostCounters, Phase
from halftrip.telemetry.host import Counters, HostCounts

# The rest before all configurations, and after them.
IDLE_SECONDS = 1.0
# The log may take this share of the time in which the run is active.
_LARGEST_SHARE = 0.005
# When a record is due, these are still to come: itself, that of the last configurations, and the
# one after all configurations.
_COMING_RECORDS = 3


class HostRecorder:
    """Records what the counters of every host have counted since the last record. Every rank has
    one, and all call `record` in the same order.

    On each host the lowest rank reads the counters. On rank 0, `keep` takes the records; `began` is
    when the launch of number `launch` began, ns of this rank's CLOCK_MONOTONIC_RAW.
    """

    def __init__(
        self,
        setup: Setup,
        clocks: HostClocks,
        keep: Callable[[HostCounters], None],
        began: int,
        launch: int,
    ) -> None:
        self._setup = setup
        self._group = setup.group
        self._clocks = clocks
        self._keep = keep
        self._began = began
        self._launch = launch
        # On a single host rank 0 records alone; no other rank waits for it.
        self._several_hosts = len(set(setup.hosts)) > 1
        reads = setup.hosts.index(setup.hosts[setup.group.rank]) == setup.group.rank
        self._counters = Counters(setup.meter.reader) if reads and not setup.is_absent else None

    def advance(self) -> HostCounts | None:
        """What this rank's host has counted since the last call; None where another rank reads
        it."""
        return None if self._counters is None else self._counters.advance()

    def record(self, phase: Phase, measured: Sequence[tuple[int, Configuration]] = ()) -> None:
        """Records the growth of all counters, while these configurations were `measured`, with the
        numbers of their slices."""
        own = self.advance()
        gathered = self._group.gather(own, HostCounts | None) if self._several_hosts else [own]
        for rank, counted in enumerate(gathered or ()):
            if counted is not None:
                self._keep(self._host_counters(rank, counted, phase, measured))

    def _host_counters(
        self,
        rank: int,
        counted: HostCounts,
        phase: Phase,
        measured: Sequence[tuple[int, Configuration]],
    ) -> HostCounters:
        """The record of the host that `rank` reads, in rank 0's time since the launch began."""
        return HostCounters(
            host=self._setup.environments[rank].host,
            rank=rank,
            phase=phase,
            configurations=[configuration for _, configuration in measured],
            slices=[number for number, _ in measured],
            launch=self._launch,
            at=(counted.began - self._clocks.ahead(rank) - self._began) * 1e-9,
            seconds=(counted.ended - counted.began) * 1e-9,
            cpus=counted.cpus,
            memory_used=counted.memory_used,
            memory_total=counted.memory_total,
            counts=counted.counts,
            interfaces=counted.interfaces,
            interrupts=counted.interrupts,
            softnet=counted.softnet,
        )


class HostLog:
    """The log of every host of the run. Every rank has one; all call `rest` and
    `record_configurations` in the same order, rank 0 alone decides when. The arguments are those of
    a `HostRecorder`.
    """

    def __init__(
        self,
        setup: Setup,
        clocks: HostClocks,
        record: Callable[[HostCounters], None],
        began: int,
        launch: int,
    ) -> None:
        began_here = time.perf_counter()
        self._group = setup.group
        self._recorder = HostRecorder(setup, clocks, record, began, launch)
        # On rank 0, the configurations since the last record, with the numbers of their slices.
        self._configurations: list[tuple[int, Configuration]] = []
        # When this log began, moved on by the length of each rest.
        self._since = began_here
        # How many records there are, and the mean time of one, s.
        self._records = 0
        self._record_seconds = 0.0
        # The time that the log has taken, rests not included.
        self.seconds = time.perf_counter() - began_here

    @property
    def has_configurations(self) -> bool:
        """Whether rank 0 has configurations that have no record yet."""
        return bool(self._configurations)

    def rest(self, phase: Phase) -> None:
        """Rests for a second, and records that."""
        began = time.perf_counter()
        self._recorder.advance()
        self.seconds += time.perf_counter() - began
        time.sleep(IDLE_SECONDS)
        self._since += IDLE_SECONDS
        self._log(phase)
        # A rank that went on would open or close paths while another still rests.
        self._group.barrier()

    def note(self, configuration: Configuration, number: int) -> bool:
        """Takes slice `number` of a configuration that has just been measured, on rank 0. Returns
        whether its record is due; else it is kept for a later one: where slices are short, one
        record each would take too large a share of the time, and show nothing in ticks of 10 ms."""
        now = time.perf_counter()
        self._configurations.append((number, configuration))
        expected = self.seconds + _COMING_RECORDS * self._record_seconds
        return expected <= _LARGEST_SHARE * (now - self._since)

    def record_configurations(self) -> None:
        """Records the configurations that have no record yet. All ranks call it."""
        self._log("during")

    def _log(self, phase: Phase) -> None:
        """Records the growth of all counters since the last record."""
        began = time.perf_counter()
        self._recorder.record(phase, self._configurations)
        self._configurations = []
        self._records += 1
        took = self._add_time_since(began)
        self._record_seconds += (took - self._record_seconds) / self._records

    def _add_time_since(self, began: float) -> float:
        """Adds the time since `began` to the log's, and returns it, s."""
        took = time.perf_counter() - began
        self.seconds += took
        return took
