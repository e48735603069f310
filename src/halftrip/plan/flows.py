"""What the flows of traffic beside what is timed run, and which no transport carries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halftrip.errors import Unavailable, UsageError
from halftrip.plan.background import Background, parsed
from halftrip.plan.configurations import settings
from halftrip.plan.plan import Plan
from halftrip.registry import SIMULATED, TRANSPORTS
from halftrip.results.patterns import SHAPES

if TYPE_CHECKING:
    from halftrip.results.configuration import Configuration

# So many messages are in flight, where the pattern has a window: with fewer bytes, a queue on the
# way runs empty before they are acknowledged; with more, a slow link takes seconds for them.
_WINDOW = 16


def flow_of(found: Background, capabilities: Any) -> tuple[Configuration, float | None]:
    """What each flow of a background runs over a transport with these `capabilities`, whose
    defaults are its settings, and how often it begins an iteration, s; None: at once. Raises
    Unavailable for what does not go beside what is timed."""
    reason = _not_beside(found.transport)
    if reason is not None:
        raise Unavailable(f"--background {found}: {reason}")
    rate = found.bytes_per_s
    is_paced = rate is not None and found.pattern not in capabilities.rated
    plan = Plan(
        transport=(found.transport,),
        pattern=(found.pattern,),
        sizes=(found.size,),
        # A message at a time is nearest to a steady rate.
        window=(1,) if is_paced else (_WINDOW,) if SHAPES[found.pattern].is_stream else (),
        rate=None if is_paced else rate,
    )
    (made,) = settings(plan, {found.transport: capabilities.choices})
    if not is_paced or rate is None:
        return made, None
    return made, made.size * made.messages_per_iteration * made.directions / rate


def _not_beside(transport: str) -> str | None:
    """Why no traffic of a transport goes on beside what is timed, or None."""
    if transport == SIMULATED:
        return "nothing goes on beside a simulated path"
    if ".python." in str(TRANSPORTS.entry(transport).target):
        return f"the calls of {transport} are Python's, and would hold up what is timed"
    return None


def check_backgrounds(plan: Plan) -> None:
    """Raises UsageError for traffic that none of the transports that it is for can carry."""
    for part in plan.part_plans:
        for text in part.background:
            found = parsed(text)
            if found is None:
                continue
            carriers = (found.transport,) if found.transport else part.transport
            reasons = [_obstacle(found._replace(transport=name)) for name in carriers]
            if reasons and all(reasons):
                raise UsageError(f"--background {text}: {reasons[0]}; name another, as stream:tcp")


def _obstacle(found: Background) -> str | None:
    reason = _not_beside(found.transport)
    if reason is not None:
        return reason
    # Of a plug-in, each object may have its own; what these refuse, ranks say.
    capabilities = getattr(TRANSPORTS.load(found.transport), "capabilities", None)
    if capabilities is None:
        return None
    made, _ = flow_of(found, capabilities)
    refused: str | None = capabilities.refusal(made)
    return refused
