"""Whether to look at the machine before a run."""

from __future__ import annotations

from halftrip.plan.plan import Plan

# Before a run that samples for less than this, s, nobody looks.
_LEAST_SECONDS = 0.5


def is_worthwhile(plan: Plan) -> bool:
    """Whether anything is measured in real time, and for so long that a look before it costs
    little; the verdicts on a shorter run say who had the cores just as soon."""
    parts = plan.part_plans
    rows = sum(len(part.transport) * len(part.pattern) * len(part.sizes) for part in parts)
    has_count = any(part.iterations is not None for part in parts)
    is_short = not has_count and rows * plan.launches * plan.time < _LEAST_SECONDS
    return not is_short and any(name != "simulated" for name in plan.transports)
