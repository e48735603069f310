"""The offsets between the clocks of hosts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from halftrip.clock import raw_now
from halftrip.control.collectives import Group

_TRIES = 10


def clock_offsets(group: Group, hosts: Sequence[str]) -> list[int]:
    """How far the clock of each rank, CLOCK_MONOTONIC_RAW, is ahead of rank 0's, ns; on other ranks
    than 0 the list is empty, or on a single host all zeros. `hosts` are by rank; all ranks call
    this.

    By Cristian's method (Probabilistic clock synchronization, Distributed Computing 3, 1989): from
    the shortest of several round trips through the group, and so exact to half of that. Ranks on
    rank 0's own host share its clock: 0.
    """
    if len(set(hosts)) == 1:
        return [0] * len(hosts)
    best = [(math.inf, 0)] * len(hosts)
    for _ in range(_TRIES):
        sent = raw_now()
        group.broadcast(None, None)
        now = raw_now()
        answers = group.gather(now, int)
        received = raw_now()
        if answers is None:
            continue
        middle = (sent + received) // 2
        for rank, answer in enumerate(answers):
            best[rank] = min(best[rank], (received - sent, answer - middle))
    if group.rank != 0:
        return []
    return [
        0 if host == hosts[0] else offset for host, (_, offset) in zip(hosts, best, strict=True)
    ]
