"""Rules on what kept an end from running, or slowed its core, beside other programs and the
hypervisor."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from halftrip.analysis.flags.flag import Evidence, Finding, percent
from halftrip.analysis.flags.machine import core_of
from halftrip.registry import TRANSPORTS
from halftrip.results.usage import Usage

# Interrupts, or a processor of the same physical core, had more than this share of the time.
_MUCH = 0.1
# What a core has of them that nobody disturbs: timers, and what wakes its own tasks up.
_USUAL_INTERRUPTS = 0.05
# A time that the kernel finds out at its ticks of some 4 ms and tells in steps of 10 ms: what a
# step adds to a slice, standard deviation, s (of the difference of two times), and a tick, s.
_STEP_DEVIATION = 0.004
_TICK_SECONDS = 0.004
_DEVIATIONS = 3.0
# What it is said of must be at least this share of a processor's time: less is the kernel's own.
_BUSY_SIBLING = 0.25
_SENDS_PACKETS = ("tcp", "udp")


def own_tasks(row: Evidence) -> Finding | None:
    """Threads of the rank itself, or processes of the run, had the core of an end."""
    return _ends_with(row, lambda usage: usage.taken_share if _owner(usage) else 0.0, _own_task)


def _owner(usage: Usage) -> str | None:
    task = None if usage.core is None else usage.core.busiest_task
    return None if task is None or task.owner == "kernel" else task.owner


def _own_task(row: Evidence, rank: int, usage: Usage, share: float) -> str:
    task = None if usage.core is None else usage.core.busiest_task
    name = "" if task is None else f" {task.name}"
    whose = f"another thread of rank {rank}" if _owner(usage) == "rank" else "this run's own"
    return f"{whose}{name} had {percent(share)} of {core_of(row, rank, usage.core)}"


def quota(row: Evidence) -> Finding | None:
    """A control group's quota stopped an end."""
    return _ends_with(
        row,
        lambda usage: (usage.throttled_share or 0.0) if usage.much_throttled else 0.0,
        _throttled,
    )


def _throttled(_row: Evidence, rank: int, _usage: Usage, share: float) -> str:
    return f"rank {rank} was throttled for {percent(share)} of the time"


def waiting(row: Evidence) -> Finding | None:
    """An end waited for its core, and nothing shows why."""
    shared = {each.rank for each in row.ranks if each.oversubscribed}
    return _ends_with(
        row, lambda usage: usage.unexplained_wait, _waited, {*row.configuration.pair} - shared
    )


def _waited(row: Evidence, rank: int, usage: Usage, share: float) -> str:
    where = core_of(row, rank, usage.core)
    return (
        f"rank {rank} was ready to run, and did not get {where}, for {percent(share)} of the time"
    )


def interrupts(row: Evidence) -> Finding | None:
    """Interrupts that are not of the row's own packets had the core of an end."""
    if _has_packets(row):
        return None
    return _ends_with(row, lambda usage: _interrupts_share(row, usage), _interrupted)


def _interrupts_share(row: Evidence, usage: Usage) -> float:
    """Their share, where it is more than chance gives; or that of the kernel's threads that do what
    they leave to them. Otherwise 0."""
    task = None if usage.core is None else usage.core.busiest_task
    if task is not None and task.owner == "kernel" and usage.taken_share:
        return usage.taken_share + (usage.interrupts_share or 0.0)
    share = usage.interrupts_share
    if not share:
        return 0.0
    # The times of hard and of soft interrupts, in each slice.
    steps = _STEP_DEVIATION * math.sqrt(2 * len(row.measurements)) / usage.core_seconds
    ticks = math.sqrt(share * _TICK_SECONDS / usage.core_seconds)
    least = max(_MUCH, _USUAL_INTERRUPTS + _DEVIATIONS * math.hypot(steps, ticks))
    return share if share > least else 0.0


def _interrupted(row: Evidence, rank: int, usage: Usage, share: float) -> str:
    return f"interrupts had {percent(share)} of {core_of(row, rank, usage.core)}"


def _has_packets(row: Evidence) -> bool:
    """Whether its messages make interrupts themselves, as far as is known."""
    if len({each.host for each in row.ranks}) > 1:
        return True
    transport = row.configuration.transport
    while transport in TRANSPORTS and transport not in _SENDS_PACKETS:
        transport = TRANSPORTS.entry(transport).built_on
        if not transport:
            return False
    return True


def siblings(row: Evidence) -> Finding | None:
    """Another processor of the same physical core was busy, or is the other rank's."""
    ranks = row.ranks
    for each in ranks:
        beside = {
            other.core
            for other in ranks
            if other.rank != each.rank
            and (other.machine or other.host, other.launch)
            == (each.machine or each.host, each.launch)
        }
        if each.core is not None and beside & (set(each.siblings or ()) - {each.core}):
            pair = sorted({each.core, *(core for core in beside if core is not None)})
            numbers = " and ".join(map(str, pair))
            return Finding(f"cores {numbers} of its ranks are one physical core")
    return _ends_with(
        row,
        lambda usage: (
            share
            if (share := usage.sibling_share or 0.0) > _BUSY_SIBLING
            and share * usage.core_seconds > _least_seconds(row)
            else 0.0
        ),
        _beside,
    )


def _least_seconds(row: Evidence) -> float:
    """A time in steps of 10 ms that is no chance, s."""
    return _DEVIATIONS * _STEP_DEVIATION * math.sqrt(len(row.measurements))


def _beside(row: Evidence, rank: int, usage: Usage, share: float) -> str:
    where = f"the physical core of {core_of(row, rank, usage.core)}"
    return f"another processor of {where} was busy for {percent(share)} of the time"


def _ends_with(
    row: Evidence,
    share_of: Callable[[Usage], float],
    says: Callable[[Evidence, int, Usage, float], str],
    ranks: set[int] | None = None,
) -> Finding | None:
    """What is said of the ends that have a share, and the larger one."""
    found = [
        (share, says(row, rank, usage, share))
        for rank, usage in row.usage_by_rank
        if (ranks is None or rank in ranks) and (share := share_of(usage))
    ]
    if not found:
        return None
    return Finding(" and ".join(said for _, said in found), max(share for share, _ in found))


# What libraries say where they go on another way than usual.
_WARNS = re.compile(
    r"warn|error|fail|not enough|unable|cannot|could not|degrad|back to|refus|denied|limit|slow",
    re.IGNORECASE,
)


def mpi_warned(row: Evidence) -> Finding | None:
    """The MPI, or what has started its ranks, printed a warning in a launch of this row."""
    transport = row.configuration.transport
    if transport not in TRANSPORTS or TRANSPORTS.entry(transport).needs != "mpi":
        return None
    launches = {each.launch for each in row.measurements}
    for notice in row.run.notices:
        is_of_row = notice.kind == "printed" and notice.launch in launches
        if is_of_row and any(map(_WARNS.search, (notice.text, *notice.lines))):
            said = notice.text.partition(" printed: ")[2].rstrip(".")
            return Finding(f"the MPI itself warned: {said}")
    return None
