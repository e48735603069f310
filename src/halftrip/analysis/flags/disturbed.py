"""Whether something else had the cores while a row was measured, and what it did to the samples."""

from __future__ import annotations

import numpy as np

from halftrip.analysis.flags.flag import FEWEST, Evidence, Flag, counted, percent
from halftrip.analysis.flags.machine import ranks_of
from halftrip.analysis.suspect import suspect
from halftrip.analysis.usage import ENDS, usages
from halftrip.results.usage import Usage

# A sample that takes so many medians is a disturbance; these may take this share of all the time.
_SPIKE = 10.0
_MOST_SPIKES = 0.1


def disturbed(e: Evidence) -> Flag | None:
    for found in (_taken(e), _stolen(e), _spikes(e)):
        if found is not None:
            return found
    return None


def _taken(e: Evidence) -> Flag | None:
    """Others that had the core of an end for much of the time."""
    # Whoever has the core of a rank that shares it is a rank of ours.
    shared = {environment.rank for environment in ranks_of(e) if environment.oversubscribed}
    ends = zip(e.case.pair, usages(e.measurements) or (), strict=False)
    taken = [_had(r, usage) for r, usage in ends if usage.taken_share and r not in shared]
    if not taken:
        return None
    return Flag(
        "disturbed",
        f"{'; '.join(taken)}{_marks(e)}",
        "end what else runs there, or choose other cores with --cores",
    )


def _had(rank: int, usage: Usage) -> str:
    """Of one end, for how much of the time others had its core, and who was seen there."""
    core = usage.core
    where = f"core {core.number} (rank {rank})" if core is not None else f"the core of rank {rank}"
    seen = f"others had {where} for {percent(usage.taken_share)} of the time"
    if core is not None and core.busiest_task is not None:
        seen += f"; just after, {core.busiest_task.name} had {percent(core.busiest_task.share)}"
    return seen


def _stolen(e: Evidence) -> Flag | None:
    ends = zip(e.case.pair, usages(e.measurements) or (), strict=False)
    stolen = [
        f"core {usage.core.number} (rank {rank}) for {percent(usage.stolen_share or 0.0)}"
        for rank, usage in ends
        if usage.core is not None and usage.much_stolen
    ]
    if not stolen:
        return None
    return Flag(
        "disturbed",
        f"the hypervisor had {' and '.join(stolen)} of the time{_marks(e)}",
        "measure again when its other machines are quiet, or on one of your own",
    )


def _spikes(e: Evidence) -> Flag | None:
    times = np.concatenate(e.steady) if e.steady else np.empty(0)
    if times.size < FEWEST or not e.summary.latency > 0:
        return None
    spikes = times > _SPIKE * e.summary.latency
    share = float((times[spikes] - e.summary.latency).sum() / times.sum())
    if share <= _MOST_SPIKES:
        return None
    return Flag(
        "disturbed",
        f"{counted(int(spikes.sum()), 'sample')} of more than {_SPIKE:.0f} medians took "
        f"{percent(share)} of the time{_marks(e)}",
        "look for what else runs on these cores; the median does not show it, mean and max do",
    )


def _marks(e: Evidence) -> str:
    """How often each end lost its core, for how long it waited for one, and how many samples are
    marked because of that, where it is known."""
    ends = usages(e.measurements)
    if ends is None:
        return ""
    lost = [_lost(name, usage) for name, usage in zip(ENDS, ends, strict=True)]
    marks = sum(int(suspect(m).sum()) for m in e.measurements)
    return f"; {'; '.join(lost)}; {counted(marks, 'sample')} marked"


def _lost(name: str, usage: Usage) -> str:
    said = f"{name}: core lost {counted(usage.involuntary, 'time')}"
    share = usage.waited_share
    return said if share is None else f"{said}, waited {percent(share)} of the time"
