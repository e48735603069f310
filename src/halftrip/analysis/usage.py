"""What a case cost both ends, as figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from halftrip.results.case import Case
from halftrip.results.records import Measurement
from halftrip.results.usage import Usage, add_usages

# What the ends of a pair are called, in the order of its ranks.
ENDS = ("initiator", "responder")


def usages(measurements: Iterable[Measurement]) -> tuple[Usage, Usage] | None:
    """What a case has cost its initiator and its responder in all; None where nobody looked."""
    known = [m.usage for m in measurements if m.usage is not None]
    if not known:
        return None
    one, other = (add_usages(those) for those in zip(*known, strict=True))
    return one, other


def cpu_per_gigabyte(case: Case, usage: Usage, delivered: float = 1.0) -> float:
    """CPU time of an end for 10^9 bytes of payload, all ways together, of which the share
    `delivered` arrived, s; NaN where there was none."""
    messages = usage.exchanges * case.messages_per_exchange * case.directions
    payload = messages * case.size * delivered
    return usage.busy / payload * 1e9 if payload else math.nan


def usage_figures(
    case: Case, ends: tuple[Usage, Usage] | None, delivered: float = 1.0
) -> dict[str, Any]:
    """The figures of both ends by names that end in their unit; None where one does not exist."""
    figures: dict[str, Any] = {}
    for name, usage in zip(ENDS, ends or (None, None), strict=True):
        core = usage.core if usage is not None else None
        of_end: dict[str, Any] = {
            "load": usage and usage.load,
            "elapsed_s": usage and usage.elapsed,
            "user_s": usage and usage.user,
            "system_s": usage and usage.system,
            "kernel_share": usage and usage.kernel_share,
            "cpu_s_per_gb": usage and cpu_per_gigabyte(case, usage, delivered),
            "busy_poll": usage and usage.is_busy_poll,
            "voluntary_switches": usage and usage.voluntary,
            "involuntary_switches": usage and usage.involuntary,
            "minor_faults": usage and usage.minor_faults,
            "major_faults": usage and usage.major_faults,
            "peak_memory_bytes": usage and usage.peak_memory,
            "waited_share": usage and usage.waited_share,
            "others_share": usage and usage.others_share,
            "stolen_share": usage and usage.stolen_share,
            "instructions": usage and usage.instructions,
            "cycles": usage and usage.cycles,
            "instructions_per_cycle": usage and usage.instructions_per_cycle,
            "counted": usage and usage.counted,
            "core": core and core.number,
            "culprit": core and core.busiest_task and core.busiest_task.name,
            "frequency_hz": core and core.hertz,
            "energy_j": core and core.joules,
        }
        figures |= {
            f"{name}_{figure}": None if value != value else value  # noqa: PLR0124 (NaN)
            for figure, value in of_end.items()
        }
    return figures
