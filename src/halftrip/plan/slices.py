"""How the time of a configuration is dealt in slices."""

from __future__ import annotations

import msgspec

from halftrip.plan.plan import Plan

# A slice takes this long at least, s: a shorter one would be all warm-up.
LEAST_SLICE_SECONDS = 0.001
# Where slices are dealt to launches, what the first screen shows has up to so many times as many as
# the other rows. These take about as long as half of the other rows' slices at most.
MOST_SHOWN_TIMES = 4
# With --counters, a configuration has so many slices in which hardware counters count, as many as
# an interval needs, each this share as long as one that is timed: counts hardly vary.
COUNTING_SLICES = 6
_COUNTING_SHARE = 0.2
# A curve of more sizes is a sweep, whose sizes tell the curve together. Each has a few slices, of
# so many seconds, in passes of random order: a state of the machine that lasts does not fall on
# neighbours.
SWEEP_SIZES = 200
_SWEEP_SLICES, _SWEEP_SLICE_SECONDS = 3, 0.002


def shared_by_sizes(plan: Plan) -> Plan:
    """A plan that says not how long anything takes, with the slices of a sweep, if it is one."""
    if max(len(part.sizes) for part in plan.part_plans) <= SWEEP_SIZES:
        return plan
    seconds = _SWEEP_SLICES * _SWEEP_SLICE_SECONDS
    return msgspec.structs.replace(plan, slices=_SWEEP_SLICES, time=seconds)


def planned_slices(plan: Plan) -> int:
    """In how many slices the time of each configuration is dealt."""
    if plan.iterations is not None:
        return min(plan.slices, plan.iterations)
    return max(1, min(plan.slices, int(plan.time / LEAST_SLICE_SECONDS)))


def counting_slices(plan: Plan) -> int:
    """How many slices of each configuration are counted, not timed."""
    return min(planned_slices(plan), COUNTING_SLICES)


def slice_seconds(plan: Plan, counts: bool = False) -> float:
    """For how long a slice samples, s; `counts`: one that is counted, not timed."""
    seconds = plan.time / planned_slices(plan)
    return max(_COUNTING_SHARE * seconds, LEAST_SLICE_SECONDS) if counts else seconds


def iterations_of(plan: Plan, number: int) -> int | None:
    """How many iterations slice `number` of a configuration has, with a fixed count."""
    if plan.iterations is None:
        return None
    slices = planned_slices(plan)
    return plan.iterations // slices + (number < plan.iterations % slices)
