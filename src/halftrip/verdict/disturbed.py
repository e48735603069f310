"""Whether something else had the cores while a row was measured, and what it did to the samples."""

from __future__ import annotations

import numpy as np

from halftrip.summaries import marked, usages
from halftrip.verdict.flag import FEWEST, Evidence, Flag, counted, percent

# A sample that takes so many medians is a disturbance; these may take this share of all the time.
_SPIKE = 10.0
_MOST_SPIKES = 0.1


def disturbed(e: Evidence) -> Flag | None:
    for found in (_taken(e), _stolen(e), _spikes(e)):
        if found is not None:
            return found
    return None


def _taken(e: Evidence) -> Flag | None:
    """Others that had the core of an end for much of the time, unless they are ranks of ours."""
    found = usages(e.measurements)
    shared = {env.rank for env in e.run.environments if env.oversubscribed}
    if found is None or shared.intersection(e.case.pair):
        return None
    shares = [usage.taken_share for usage in found]
    worst = int(np.argmax(shares))
    if not shares[worst]:
        return None
    core = found[worst].core
    where = f"core {core.number}" if core is not None else "its core"
    who = f", most of all {core.culprit}" if core is not None and core.culprit else ""
    marks = _marks(e)
    return Flag(
        "disturbed",
        f"others had {where} of rank {e.case.pair[worst]} for {percent(shares[worst])} of the time"
        f"{who}{marks}",
        "end what else runs there, or choose other cores with --cores",
    )


def _stolen(e: Evidence) -> Flag | None:
    for rank, usage in zip(e.case.pair, usages(e.measurements) or (), strict=False):
        if usage.core is not None and usage.much_stolen:
            return Flag(
                "disturbed",
                f"the hypervisor had core {usage.core.number} of rank {rank} for "
                f"{percent(usage.stolen_share or 0.0)} of the time",
                "measure again when its other machines are quiet, or on one of your own",
            )
    return None


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
    """How many samples are marked, and how often the ends lost their cores, where that is known."""
    known = [m for m in e.measurements if m.preemptions]
    if not known:
        return ""
    marks = sum(int(marked(m).sum()) for m in known)
    one, other = np.sum([lost for m in known for lost in m.preemptions], axis=0)
    lost = "neither end lost its core to others"
    if one or other:
        lost = (
            f"the initiator lost its core to others {counted(int(one), 'time')}, the responder "
            f"{int(other):,}"
        )
    return f"; {lost}: {counted(marks, 'sample')} marked" if marks else f"; {lost}"
