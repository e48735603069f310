"""The time of processors, interrupts and context switches since boot: /proc/stat."""

from __future__ import annotations

import os
from typing import NamedTuple

from halftrip.kernel_files import Reader

_PATH = "/proc/stat"
# In the order of proc(5). The columns that follow, guest and guest_nice, are part of user and nice.
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_TICKS = os.sysconf("SC_CLK_TCK")
_TOTALS = {"intr": "interrupts", "ctxt": "context_switches"}


class Processors(NamedTuple):
    """`times` has the seconds of each kind by processor: its number, or "all". `counts` has the
    interrupts and context switches of the host. Missing columns are left out."""

    times: dict[str, dict[str, float]]
    counts: dict[str, int]


def read_processors(reader: Reader) -> Processors:
    times: dict[str, dict[str, float]] = {}
    counts: dict[str, int] = {}
    for line in (reader.text(_PATH) or "").splitlines():
        # After the sum of interrupts there may be thousands of single ones: do not split them.
        name, _, rest = line.partition(" ")
        if name.startswith("cpu"):
            times[name[3:] or "all"] = _times(reader, name, rest)
        elif name in _TOTALS:
            total = reader.count(_PATH, name, rest.split(" ", 1)[0])
            if total is not None:
                counts[_TOTALS[name]] = total
    return Processors(times, counts)


def read_core(reader: Reader, core: int) -> dict[str, float]:
    """The seconds of each kind of one processor; empty where they cannot be read."""
    for line in (reader.text(_PATH) or "").splitlines():
        name, _, rest = line.partition(" ")
        if name == f"cpu{core}":
            return _times(reader, name, rest)
        if name == "intr":
            break
    return {}


def _times(reader: Reader, name: str, columns: str) -> dict[str, float]:
    ticks = reader.counts(_PATH, name, KINDS, columns.split())
    return {kind: count / _TICKS for kind, count in ticks.items()}
