"""The system log: what the counters of every host count while the run goes on."""

from __future__ import annotations

import time
from collections.abc import Callable

from halftrip import model
from halftrip.group import Group
from halftrip.observe.system import Counted, Counters
from halftrip.stage import Stage

# For how long nothing is measured before all cases, and after.
_IDLE_SECONDS = 1.0
# The log may take this share of the time.
_LARGEST_SHARE = 1 / 150


class SystemLog:
    """The log of every host that has a rank; all ranks have one and call it alike.

    Of each host its lowest rank reads the counters. `record` takes what rank 0 has learnt; `began`
    is when the launch of number `launch` did, ns of this rank's CLOCK_MONOTONIC_RAW.
    """

    def __init__(
        self,
        stage: Stage,
        group: Group,
        record: Callable[[model.System], None],
        began: int,
        launch: int,
    ) -> None:
        self._stage = stage
        self._group = group
        self._record = record
        self._launch = launch
        self._began = began
        self._offsets: list[int] = []
        self._cases: list[model.Case] = []
        self._repetition = 0
        # How long it all took, without the rest, and for how many records; when the last was made.
        self.seconds = 0.0
        self._records = 0
        self._last = 0.0
        leads = stage.hosts.index(stage.hosts[group.rank]) == group.rank
        self._counters = Counters(stage.reader) if leads else None

    def rest(self, phase: model.Phase) -> None:
        """Does nothing for a second, and logs that."""
        self.compare_clocks()
        self._advance()
        time.sleep(_IDLE_SECONDS)
        self.log(phase)

    def compare_clocks(self) -> None:
        """Learns again by how much the hosts' clocks differ."""
        began = time.perf_counter()
        self._offsets = self._stage.clock_offsets()
        self.seconds += time.perf_counter() - began

    def note(self, case: model.Case, repetition: int) -> None:
        """Logs a case that has just been measured, or waits for more: where cases are short, a
        record of each would take too large a share of the time, and tell nothing in ticks of 10 ms.
        """
        began = time.perf_counter()
        self._cases.append(case)
        self._repetition = repetition
        cost = self.seconds / max(self._records, 1)
        due = began - self._last > cost / _LARGEST_SHARE
        due = self._group.broadcast(due, bool)
        self.seconds += time.perf_counter() - began
        if due:
            self.log("case")

    def end_repetition(self) -> None:
        """Logs what was left."""
        if self._cases:
            self.log("case")

    def log(self, phase: model.Phase) -> None:
        """Logs what has been counted since the last time."""
        began = time.perf_counter()
        counted = self._group.gather(self._advance(), Counted | None)
        for rank, found in enumerate(counted or ()):
            if found is not None:
                self._record(self._system(rank, found, phase))
        self._cases = []
        self._records += 1
        self._last = time.perf_counter()
        self.seconds += self._last - began

    def _advance(self) -> Counted | None:
        return None if self._counters is None else self._counters.advance()

    def _system(self, rank: int, found: Counted, phase: model.Phase) -> model.System:
        """In rank 0's time, seconds since the launch began."""
        return model.System(
            host=self._stage.environments[rank].host,
            phase=phase,
            cases=self._cases,
            repetition=self._repetition if self._cases else None,
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
