"""The time of processors, interrupts and context switches since boot: /proc/stat."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from halftrip.kernel_files import Reader

_PATH = "/proc/stat"
# In the order of proc(5). The columns that follow, guest and guest_nice, are part of user and nice.
KINDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
_TICKS = os.sysconf("SC_CLK_TCK")
# The line of a core is shorter: a name, and ten numbers of at most 20 digits.
_LINE_BYTES = 256
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


class CoreTimes:
    """The file with the times of these cores, which is read often: it stays open."""

    def __init__(self, reader: Reader, cores: Sequence[int]) -> None:
        self._reader = reader
        self._names = [f"cpu{core}" for core in cores]
        # The lines of all cores come first.
        self._file = reader.kept(_PATH, _LINE_BYTES * (max(cores) + 2))

    def read(self) -> list[dict[str, float]]:
        """The seconds of each kind, for each core; empty where they cannot be read."""
        text = "\n" + (self._file.text() or "")
        found = []
        for name in self._names:
            _, _, rest = text.partition(f"\n{name} ")
            found.append(_times(self._reader, name, rest.partition("\n")[0]))
        return found


def _times(reader: Reader, name: str, columns: str) -> dict[str, float]:
    ticks = reader.counts(_PATH, name, KINDS, columns.split())
    return {kind: count / _TICKS for kind, count in ticks.items()}
