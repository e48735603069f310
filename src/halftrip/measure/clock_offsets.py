"""How the clocks of hosts are compared, and how far each is ahead."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from halftrip import _native
from halftrip.clock import raw_now
from halftrip.control.collectives import Group
from halftrip.results.records import ClockComparison
from halftrip.stats.clock_line import ClockLine, MeasuredOffset

# Of so many exchanges the shortest counts; for a host, they take about so long at most.
_MOST_EXCHANGES = 100
_LONGEST_NS = 15_000_000
# Clocks are compared again after so long, s, and so that it takes no more than this share of the
# time: their rates differ by tens of ppm, and change with the temperature.
_STALE_SECONDS = 2.0
_MOST_SHARE = 0.02
# So many comparisons are kept here; the run file has all.
_KEPT = 32


class HostClocks:
    """How far the clock of each host is ahead of rank 0's. `hosts` are by rank. `shares_core`: some
    ranks share one, so that those that compare clocks have to yield it."""

    def __init__(self, group: Group, hosts: Sequence[str], shares_core: bool = False) -> None:
        self._group = group
        self._hosts = hosts
        self._shares_core = shares_core
        self._is_alone = len(set(hosts)) == 1
        self._compared = -math.inf
        self._took = 0.0
        self._comparisons: dict[str, list[MeasuredOffset]] = {}
        self._lines: dict[str, ClockLine] = {}

    @property
    def is_stale(self) -> bool:
        """Whether they should be compared again."""
        if self._is_alone:
            return False
        pause = max(_STALE_SECONDS, self._took / _MOST_SHARE)
        return time.monotonic() - self._compared > pause

    def compare(self, launch: int = 0) -> list[ClockComparison]:
        """Compares them; all ranks call it. The records of it."""
        if self._is_alone:
            return []
        # Ranks that are still being set up would be waited for within the time that this takes.
        self._group.barrier()
        began = time.monotonic()
        records = clock_comparisons(self._group, self._hosts, launch, self._shares_core)
        for record in records:
            self.add(self._hosts[record.rank], record.comparison)
        self._compared = time.monotonic()
        self._took = self._compared - began
        return records

    def add(self, host: str, comparison: MeasuredOffset) -> None:
        """Takes a comparison of rank 0's clock and that of `host`."""
        found = self._comparisons.setdefault(host, [])
        found.append(comparison)
        del found[:-_KEPT]
        self._lines[host] = ClockLine(found)

    def ahead(self, rank: int, moment: int | None = None) -> int:
        """How far the clock of a rank is ahead of rank 0's, ns, at a moment of that; None: now, on
        rank 0."""
        line = self._lines.get(self._hosts[rank])
        return 0 if line is None else line.at(raw_now() if moment is None else moment).ahead


def clock_comparisons(
    group: Group, hosts: Sequence[str], launch: int, yields: bool = False
) -> list[ClockComparison]:
    """Compares the clock of rank 0 with that of each other host, CLOCK_MONOTONIC_RAW, by exchanges
    with its first rank; all ranks call this and get the same. `hosts` are by rank."""
    first = {host: hosts.index(host) for host in dict.fromkeys(hosts)}
    records = []
    for host, rank in list(first.items())[1:]:
        if group.rank == 0:
            # It sleeps until it is its turn.
            group.send(rank, b"")
            end = group.native_end(rank, yields)
            sent, answered, received = _native.compare_clocks(end, _MOST_EXCHANGES, _LONGEST_NS)
            middle = (sent + received) // 2
            records.append(
                ClockComparison(
                    rank=rank,
                    ranks=[other for other, name in enumerate(hosts) if name == host],
                    at=middle,
                    ahead=answered - middle,
                    round_trip=received - sent,
                    launch=launch,
                )
            )
        elif group.rank == rank:
            group.receive(0)
            _native.answer_clocks(group.native_end(0, yields))
    return list(group.broadcast(records, list[ClockComparison]))
