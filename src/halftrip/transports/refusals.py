"""Refuses a plan that no machine could measure, before any process is started."""

from __future__ import annotations

from halftrip.errors import UsageError
from halftrip.plan.configurations import outlasts, settings
from halftrip.plan.plan import Plan
from halftrip.registry import TRANSPORTS
from halftrip.transports.base import ProcessContext, Transport

# More reasons than this are no help.
_MOST_REASONS = 4


def check_possible(plan: Plan) -> None:
    """Raises UsageError, with the reasons, if every configuration of the plan is refused on any
    machine."""
    process = ProcessContext.of(plan, rank=0, token="")
    transports: dict[str, Transport] = {
        name: TRANSPORTS.load(name)(process) for name in plan.transport
    }
    waits = {name: transport.capabilities.waits for name, transport in transports.items()}
    refused: dict[str, dict[str, None]] = {}
    for configuration in settings(plan, waits):
        # Without a rate, the time of a window depends on the machine.
        slow = outlasts(plan, configuration) if configuration.rate is not None else None
        reason = transports[configuration.transport].refuses(configuration) or slow
        if reason is None:
            return
        refused.setdefault(reason, {})[configuration.transport] = None
    reasons = [f"{', '.join(names)}: {reason}" for reason, names in refused.items()]
    more = len(reasons) - _MOST_REASONS
    if more > 0:
        reasons[_MOST_REASONS:] = [f"and {more} more"]
    if reasons:
        raise UsageError(f"nothing of this can be measured: {'; '.join(reasons)}")
