"""Why a run has no layers to compare, in words."""

from __future__ import annotations

from functools import partial

from halftrip.analysis.layers import below_in, partners, perhaps_below, related, steps
from halftrip.report.document import Document
from halftrip.views.states import BOTH_STATES

OTHER_WAY = "nothing says that one goes by way of the other (show --details: what carried messages)"


def why_none(document: Document) -> str:
    """Why there is nothing to compare, and what else would have to be measured."""
    rows = document.rows
    transports = list(dict.fromkeys(row.configuration.transport for row in rows))
    if not transports:
        return "nothing was measured"
    if layers := related(transports):
        configurations = [row.configuration for row in rows]
        if steps(configurations, partial(below_in, document.run)):
            return f"{', '.join(layers)} were measured in different states: {BOTH_STATES}"
        if steps(configurations, perhaps_below):
            return f"{', '.join(layers)}: {OTHER_WAY}"
        return f"{', '.join(layers)} have no pattern, mode and size in common"
    wanted = [
        f"with {name}: {', '.join(found)}" for name in transports if (found := partners(name))
    ]
    if not wanted:
        return f"{', '.join(transports)}: not built on another transport, nor another on it"
    return f"no two of these transports are layers of each other; also measure {'; '.join(wanted)}"
