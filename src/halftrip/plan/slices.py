"""How the time of a configuration is dealt in slices."""

from __future__ import annotations

from halftrip.plan.plan import Plan

# A slice takes this long at least, s: a shorter one would be all warm-up.
LEAST_SLICE_SECONDS = 0.001


def planned_slices(plan: Plan) -> int:
    """In how many slices the time of each configuration is dealt."""
    if plan.iterations is not None:
        return min(plan.slices, plan.iterations)
    return max(1, min(plan.slices, int(plan.time / LEAST_SLICE_SECONDS)))


def iterations_of(plan: Plan, number: int) -> int | None:
    """How many iterations slice `number` of a configuration has, with a fixed count."""
    if plan.iterations is None:
        return None
    slices = planned_slices(plan)
    return plan.iterations // slices + (number < plan.iterations % slices)
