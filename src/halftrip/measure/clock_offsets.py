"""The offsets between the clocks of hosts."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import msgspec

from halftrip.clock import raw_now
from halftrip.control.collectives import Group

_TRIES = 10
# Clocks are compared again after this time, s: their rates differ by tens of ppm.
_STALE_SECONDS = 5.0


class HostClocks:
    """How far the clock of each host is ahead of rank 0's, as last compared. `hosts` are by
    rank."""

    def __init__(self, group: Group, hosts: Sequence[str]) -> None:
        self._group = group
        self._hosts = hosts
        self._compared = -math.inf
        self.offsets = dict.fromkeys(hosts, 0)

    @property
    def is_stale(self) -> bool:
        """Whether they should be compared again."""
        return len(self.offsets) > 1 and time.monotonic() - self._compared > _STALE_SECONDS

    def compare(self) -> None:
        """Compares them; all ranks call it."""
        self.offsets = clock_offsets(self._group, self._hosts)
        self._compared = time.monotonic()

    def ahead(self, rank: int) -> int:
        """How far the clock of a rank is ahead of rank 0's, ns."""
        return self.offsets[self._hosts[rank]]


def clock_offsets(group: Group, hosts: Sequence[str]) -> dict[str, int]:
    """How far the clock of each host, CLOCK_MONOTONIC_RAW, is ahead of rank 0's, ns, on all ranks,
    which all call this. `hosts` are by rank.

    By Cristian's method (Probabilistic clock synchronization, Distributed Computing 3, 1989): from
    the shortest of several round trips between rank 0 and the first rank of the other host, and so
    exact to half of that.
    """
    first = {host: hosts.index(host) for host in dict.fromkeys(hosts)}
    offsets = {hosts[0]: 0}
    for host, rank in list(first.items())[1:]:
        if group.rank == 0:
            offsets[host] = _offset_of(group, rank)
        elif group.rank == rank:
            _answer(group)
    if len(first) == 1:
        return offsets
    return dict(group.broadcast(offsets, dict[str, int]))


def _offset_of(group: Group, rank: int) -> int:
    best = (math.inf, 0)
    for _ in range(_TRIES):
        sent = raw_now()
        group.send(rank, b"")
        answer = msgspec.msgpack.decode(group.receive(rank), type=int)
        received = raw_now()
        best = min(best, (received - sent, answer - (sent + received) // 2))
    return best[1]


def _answer(group: Group) -> None:
    for _ in range(_TRIES):
        group.receive(0)
        group.send(0, msgspec.msgpack.encode(raw_now()))
