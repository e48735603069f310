"""The resource usage of one end of a configuration."""

from __future__ import annotations

import math
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.usage import Usage

# The names of the ends of a pair, in the order of its ranks.
ENDS = ("initiator", "responder")


class EndUsage(NamedTuple):
    """What one end of a configuration has used; the share `delivered` of the messages arrived."""

    configuration: Configuration
    usage: Usage
    delivered: float

    @property
    def cpu_per_gigabyte(self) -> float:
        """CPU time of the end for 10^9 bytes of payload that arrived, in all directions together,
        s; NaN where none did."""
        each = self.configuration
        messages = self.usage.iterations * each.messages_per_iteration * each.directions
        payload = messages * each.size * self.delivered
        return self.usage.busy / payload * 1e9 if payload else math.nan


UsedByEnds = tuple[EndUsage | None, EndUsage | None]


def used_by_ends(
    configuration: Configuration, usage: tuple[Usage, Usage] | None, delivered: float
) -> UsedByEnds:
    """What the initiator and the responder have used; None where it is not known."""
    if usage is None:
        return None, None
    initiator, responder = (EndUsage(configuration, each, delivered) for each in usage)
    return initiator, responder
