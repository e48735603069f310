"""The resource usage of both ends of a configuration, as figures."""

from __future__ import annotations

import math
from typing import Any

from halftrip.results.configuration import Configuration
from halftrip.results.usage import Usage

# The names of the ends of a pair, in the order of its ranks.
ENDS = ("initiator", "responder")


def cpu_per_gigabyte(configuration: Configuration, usage: Usage, delivered: float = 1.0) -> float:
    """CPU time of an end for 10^9 bytes of payload that arrived, in all directions together, s; NaN
    where none did. The share `delivered` of the messages arrived."""
    messages = usage.iterations * configuration.messages_per_iteration * configuration.directions
    payload = messages * configuration.size * delivered
    return usage.busy / payload * 1e9 if payload else math.nan


def usage_figures(
    configuration: Configuration, ends: tuple[Usage, Usage] | None, delivered: float = 1.0
) -> dict[str, Any]:
    """The figures of both ends by names that end in their unit; None for a figure that does not
    exist."""
    figures: dict[str, Any] = {}
    for name, usage in zip(ENDS, ends or (None, None), strict=True):
        core = usage.core if usage is not None else None
        of_end: dict[str, Any] = {
            "load": usage and usage.load,
            "elapsed_s": usage and usage.elapsed,
            "user_s": usage and usage.user,
            "system_s": usage and usage.system,
            "kernel_share": usage and usage.kernel_share,
            "cpu_s_per_gb": usage and cpu_per_gigabyte(configuration, usage, delivered),
            "busy_poll": usage and usage.is_busy_poll,
            "voluntary_switches": usage and usage.voluntary,
            "involuntary_switches": usage and usage.involuntary,
            "minor_faults": usage and usage.minor_faults,
            "major_faults": usage and usage.major_faults,
            "peak_memory_bytes": usage and usage.peak_memory,
            "waited_share": usage and usage.waited_share,
            "others_share": usage and usage.others_share,
            "steal_share": usage and usage.steal_share,
            "core": core and core.number,
            "busiest_task": core and core.busiest_task and core.busiest_task.name,
            "frequency_hz": core and core.hertz,
            "energy_j": core and core.joules,
        }
        figures |= {
            f"{name}_{figure}": None if isinstance(value, float) and math.isnan(value) else value
            for figure, value in of_end.items()
        }
    return figures
