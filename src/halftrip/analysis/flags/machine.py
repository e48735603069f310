"""Flags about the machine: its bounds, its state, and who had the cores of the ranks."""

from __future__ import annotations

import numpy as np

from halftrip.analysis.device_copies import CopyLimit, device_limit, is_direct
from halftrip.analysis.flags.flag import FEWEST, Evidence, Finding, counted, percent, us
from halftrip.analysis.states import probed
from halftrip.analysis.usage import ENDS, count_suspect
from halftrip.results.memory_name import parse_memory
from halftrip.results.records import Environment
from halftrip.results.usage import CoreUse, Usage
from halftrip.stats.series import rtt_states
from halftrip.units import significant, size_name

# Tolerance between measurements at different times.
_SLACK = 1.25
# A sample of more medians than this is a spike; spikes may take this share of all the time.
_SPIKE = 10.0
_MOST_SPIKES = 0.1


def above_bound(row: Evidence) -> Finding | None:
    """No message arrives sooner than a cache line, and none has more bandwidth than memcpy, or, in
    a device's memory, than that device's copies."""
    if row.rtts and _crosses_once(row):
        trips = 1 if row.configuration.is_in_turn else 2
        half = min(row.rtts) / 2
        if row.summary.latency * trips < half / _SLACK:
            return Finding(
                f"{us(row.summary.latency)} one way, where a cache line alone takes {us(half)}",
                advice="check the clock with halftrip doctor; name the cores that are probed with "
                "--cores",
            )
    limit = _copy_limit(row)
    if (
        limit is None
        or not row.configuration.size
        or row.configuration.is_simulated
        or not row.measurements[0].core_to_core_rtts
    ):
        return None
    rate = row.summary.bandwidth / 1e9
    # NaN where no time passed.
    if not rate > _SLACK * limit.rate:
        return None
    return Finding(
        f"{significant(rate, 3)} GB/s, where {limit.what} at {significant(limit.rate, 3)} GB/s at "
        f"best ({size_name(limit.size)})"
    )


def _copy_limit(row: Evidence) -> CopyLimit | None:
    """The fastest copy of those that every message of a row needs; None where none is known: where
    managed memory and that of plug-ins is, only the device knows."""
    kinds = {parse_memory(end.memory).kind for end in row.configuration.ends}
    if not kinds <= {"host", "pinned"}:
        return device_limit(row.run, row.configuration)
    copy = row.run.fastest_copy
    if copy is None:
        return None
    return CopyLimit(copy.size / copy.ns, copy.size, f"rank {copy.rank} copies memory")


def _crosses_once(row: Evidence) -> bool:
    """Whether every iteration waits for at least one cache line to cross from core to core. What a
    device writes need not."""
    if is_direct(row.configuration):
        return False
    return not (row.configuration.has_window or row.configuration.is_one_sided)


def other_state(row: Evidence) -> Finding | None:
    """With --placement-state: rows that were measured before the requested state was seen."""
    requested = row.run.header.plan.get("placement_state")
    if requested is None:
        return None
    # The round trips of a simulated path are not those of this machine.
    own = probed(row.configuration)
    alike = [m for m in row.run.measurements if probed(m.configuration) == own]
    known = rtt_states(alike)
    # Where that round trip moves continuously, what is near changes a little with every probe.
    if len(known) < 2:
        return None
    state = known[0 if requested == "near" else -1]
    found = rtt_states(row.measurements)
    if all(state.has(end) for other in found for end in other):
        return None
    return Finding(
        f"measured before it was known that core to core can take {state.low:.0f} to "
        f"{state.high:.0f} ns, which is {requested}"
    )


def unpinned(row: Evidence) -> Finding | None:
    ranks = row.ranks
    names = row.run.names
    # A launcher may have bound it to one.
    loose = [
        names.rank(each.rank)
        for each in ranks
        if each.core is None and len(each.allowed_cores) != 1
    ]
    return Finding(f"{loose[0]} could move from core to core") if loose else None


def can_move(rank: Environment) -> bool:
    """Whether what a rank runs on can be another core after a while: a hypervisor moves virtual
    cores, the scheduler a rank without a core of its own."""
    return rank.hypervisor is not None or rank.core is None


def oversubscribed(row: Evidence) -> Finding | None:
    ranks = row.ranks
    shared = [environment for environment in ranks if environment.oversubscribed]
    if not shared:
        return None
    other = "rank" if shared[0].thread_cores is None else "rank, or one of its threads with another"
    core = "its cores" if shared[0].core is None else f"core {shared[0].core}"
    core += row.run.names.of_host(shared[0].rank)
    return Finding(f"rank {shared[0].rank} shares {core} with another {other}")


# Who else had the cores of a row, and what that did to the samples.


def taken_ends(row: Evidence) -> list[tuple[int, Usage]]:
    """The ends whose core other programs had for much of the time: ranks and their usage."""
    # Where ranks share a core, the other task is a rank of this run: `oversubscribed` says so.
    shared = {environment.rank for environment in row.ranks if environment.oversubscribed}
    return [
        (rank, usage)
        for rank, usage in row.usage_by_rank
        if usage.taken_by_others and rank not in shared
    ]


def steal_ends(row: Evidence) -> list[tuple[int, CoreUse, float]]:
    """The ends whose core the hypervisor had for much of the time: ranks, cores, and the share."""
    return [
        (rank, usage.core, usage.steal_share or 0.0)
        for rank, usage in row.usage_by_rank
        if usage.core is not None and usage.much_steal
    ]


def core_of(row: Evidence, rank: int, core: CoreUse | None) -> str:
    """The name of an end's core, with its host where the run has several."""
    if core is None:
        return f"the core of {row.run.names.rank(rank)}"
    return core_at(row, row.configuration.pair.index(rank))


def core_at(row: Evidence, end: int) -> str:
    """The name of the core of an end, or of all cores that it had, with its host where the run has
    several."""
    numbers = sorted({core.number for core in row.cores_of(end)})
    where = row.run.names.of_host(row.configuration.pair[end])
    return f"core{'s' * (len(numbers) > 1)} {' and '.join(map(str, numbers))}{where}"


def contention(row: Evidence) -> Finding | None:
    """Other tasks had the core of an end for much of the time."""
    taken = []
    for rank, usage in taken_ends(row):
        task = None if usage.core is None else usage.core.busiest_task
        who = "" if task is None else f" (just after, {task.name} had {percent(task.share)})"
        taken.append(f"{percent(usage.taken_share)} of {core_of(row, rank, usage.core)}{who}")
    if not taken:
        return None
    share = max(usage.taken_share for _, usage in taken_ends(row))
    return Finding(f"other programs had {' and '.join(taken)}", share)


def steal(row: Evidence) -> Finding | None:
    """The hypervisor had the core of an end for much of the time."""
    ends = steal_ends(row)
    if not ends:
        return None
    cores = [f"{core_of(row, rank, core)} for {percent(share)}" for rank, core, share in ends]
    said = f"the hypervisor did not run {' and '.join(cores)} of the time"
    return Finding(said, max(share for _, _, share in ends))


def spikes(row: Evidence) -> Finding | None:
    """Few samples took much of the time."""
    times = np.concatenate(row.steady) if row.steady else np.empty(0)
    if times.size < FEWEST or not row.summary.latency > 0:
        return None
    found = times > _SPIKE * row.summary.latency
    share = float((times[found] - row.summary.latency).sum() / times.sum())
    if share <= _MOST_SPIKES:
        return None
    seen = (
        f"{counted(int(found.sum()), 'sample')} of more than {_SPIKE:.0f} medians took "
        f"{percent(share)} of the time"
    )
    cores = [usage.core for usage in row.usage or () if usage.core is not None]
    again = max((core.retransmits or 0 for core in cores), default=0)
    if not again:
        return Finding(seen, share)
    seen += f", and TCP sent {counted(again, 'segment')} again"
    return Finding(seen, share, "look for losses on the way: what is sent again comes much later")


def losses(row: Evidence) -> str:
    """How often each end lost its core, for how long it waited for it, and how many samples are
    suspect because of that; empty where that is not known."""
    suspect = count_suspect(row.measurements)
    if row.usage is None or suspect is None:
        return ""
    lost = [_lost(name, usage) for name, usage in zip(ENDS, row.usage, strict=True)]
    return f"; {'; '.join(lost)}; {counted(suspect, 'suspect sample')}"


def _lost(name: str, usage: Usage) -> str:
    lost = f"{name}: core lost {counted(usage.involuntary, 'time')}"
    share = usage.waited_share
    return lost if share is None else f"{lost}, waited {percent(share)} of the time"
