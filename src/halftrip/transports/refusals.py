"""What of a plan no machine could measure: looked for before any process is started."""

from __future__ import annotations

import msgspec

from halftrip import registry
from halftrip.errors import UsageError
from halftrip.plan.cases import expand, outlasts
from halftrip.plan.plan import Plan
from halftrip.transports.base import Scene, Transport

# What a transport thinks of a case does not depend on who talks.
_ANYBODY = Scene(rank=0, peer=1, same_host=True, yields=False, token="")
# More reasons than this are no help.
_MOST_REASONS = 4


def check_possible(plan: Plan) -> None:
    """Raises UsageError, with the reasons, if each case of the plan is refused for what it is: then
    nothing can be measured here or elsewhere."""
    ends = {name: _transport(name) for name in plan.transport}
    waits = {name: end.waits for name, end in ends.items()}
    refused: dict[str, dict[str, None]] = {}
    one_pair = msgspec.structs.replace(plan, pairs="halves", pairs_at_once=None, threads=1)
    for (case,) in expand(one_pair, 2, waits):
        # Without a rate, how long a window takes is for the machine to say.
        slow = outlasts(plan, case) if case.rate is not None else None
        reason = ends[case.transport].refuses(case) or slow
        if reason is None:
            return
        refused.setdefault(reason, {})[case.transport] = None
    reasons = [f"{', '.join(names)}: {reason}" for reason, names in refused.items()]
    more = len(reasons) - _MOST_REASONS
    if more > 0:
        reasons[_MOST_REASONS:] = [f"and {more} more"]
    if reasons:
        raise UsageError(f"nothing of this can be measured: {'; '.join(reasons)}")


def _transport(name: str) -> Transport:
    kind: type[Transport] = registry.load(registry.TRANSPORTS, name).Transport
    return kind(_ANYBODY)
