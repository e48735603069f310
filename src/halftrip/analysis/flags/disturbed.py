"""The flag disturbed: whether others had the cores of a row, and what that did to the samples."""

from __future__ import annotations

import numpy as np

from halftrip.analysis.flags.flag import FEWEST, Evidence, Flag, counted, percent
from halftrip.analysis.flags.machine import ranks_of
from halftrip.analysis.suspect import count_suspect
from halftrip.analysis.usage import ENDS
from halftrip.results.usage import CoreUse, Usage

# A sample of more medians than this is a spike; spikes may take this share of all the time.
_SPIKE = 10.0
_MOST_SPIKES = 0.1


def disturbed(row: Evidence) -> Flag | None:
    for found in (_taken(row), _steal(row), _spikes(row)):
        if found is not None:
            return found
    return None


def taken_ends(row: Evidence) -> list[tuple[int, Usage]]:
    """The ends whose core other tasks had for much of the time: ranks and their usage."""
    # Where ranks share a core, the other task is a rank of this run: `oversubscribed` says so.
    shared = {environment.rank for environment in ranks_of(row) if environment.oversubscribed}
    return [
        (rank, usage)
        for rank, usage in row.usage_by_rank
        if usage.taken_share and rank not in shared
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
    names = row.run.names
    if core is None:
        return f"the core of {names.rank(rank)}"
    return f"core {core.number}{names.of_host(rank)}"


def _taken(row: Evidence) -> Flag | None:
    """Other tasks had the core of an end for much of the time."""
    taken = [_others_had(row, rank, usage) for rank, usage in taken_ends(row)]
    if not taken:
        return None
    return Flag(
        "disturbed",
        f"{'; '.join(taken)}{_losses(row)}",
        "end what else runs there, or choose other cores with --cores",
    )


def _others_had(row: Evidence, rank: int, usage: Usage) -> str:
    """For how much of the time others had the core of one end, and the busiest task there."""
    core = usage.core
    where = core_of(row, rank, core)
    if core is not None:
        where += f" (rank {rank})"
    seen = f"others had {where} for {percent(usage.taken_share)} of the time"
    if core is not None and core.busiest_task is not None:
        seen += f"; just after, {core.busiest_task.name} had {percent(core.busiest_task.share)}"
    return seen


def _steal(row: Evidence) -> Flag | None:
    """The hypervisor had the core of an end for much of the time."""
    steal = [
        f"{core_of(row, rank, core)} (rank {rank}) for {percent(share)}"
        for rank, core, share in steal_ends(row)
    ]
    if not steal:
        return None
    return Flag(
        "disturbed",
        f"the hypervisor had {' and '.join(steal)} of the time{_losses(row)}",
        "measure again when its other machines are quiet, or on one of your own",
    )


def _spikes(row: Evidence) -> Flag | None:
    """Few samples took much of the time."""
    times = np.concatenate(row.steady) if row.steady else np.empty(0)
    if times.size < FEWEST or not row.summary.latency > 0:
        return None
    spikes = times > _SPIKE * row.summary.latency
    share = float((times[spikes] - row.summary.latency).sum() / times.sum())
    if share <= _MOST_SPIKES:
        return None
    return Flag(
        "disturbed",
        f"{counted(int(spikes.sum()), 'sample')} of more than {_SPIKE:.0f} medians took "
        f"{percent(share)} of the time{_losses(row)}",
        "look for what else runs on these cores; the median does not show it, mean and max do",
    )


def _losses(row: Evidence) -> str:
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
