"""By how much the clocks of hosts differ."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from halftrip.control.collectives import Group

_TRIES = 10


def clock_offsets(group: Group, hosts: Sequence[str]) -> list[int]:
    """By how much the clock of every rank, CLOCK_MONOTONIC_RAW, is ahead of rank 0's, ns; empty on
    ranks other than 0. `hosts` are by rank; all ranks call this.

    From the shortest of several round trips through the group, so known within half of that;
    exactly 0 on rank 0's own host, whose ranks share the clock.
    """
    if len(set(hosts)) == 1:
        return [0] * len(hosts)
    best = [(math.inf, 0)] * len(hosts)
    for _ in range(_TRIES):
        asked = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        group.broadcast(None, None)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        answers = group.gather(now, int)
        answered = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        if answers is None:
            continue
        middle = (asked + answered) // 2
        for rank, answer in enumerate(answers):
            best[rank] = min(best[rank], (answered - asked, answer - middle))
    if group.rank != 0:
        return []
    return [
        0 if host == hosts[0] else offset for host, (_, offset) in zip(hosts, best, strict=True)
    ]
