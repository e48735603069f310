"""The hardware counters of a thread, where the machine has them and the kernel allows them."""

from __future__ import annotations

import contextlib
from typing import Literal, NamedTuple

from halftrip import _native

# From linux/perf_event.h: PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS and
# PERF_COUNT_HW_CPU_CYCLES.
_HARDWARE = 0
_INSTRUCTIONS = 1
_CYCLES = 0


class HardwareReading(NamedTuple):
    """A reading of each counter of a thread: its count, and how long it was enabled and ran, ns."""

    instructions: tuple[int, int, int]
    cycles: tuple[int, int, int]


class HardwareCounters:
    """Instructions and cycles of the thread that makes it. `counted` is "all" if those in the
    kernel are counted, too, "user" if the kernel forbids that, None if nothing is counted."""

    def __init__(self) -> None:
        self.counted: Literal["user", "all"] | None = None
        self._counters: tuple[_native.Counter, _native.Counter] | None = None
        kinds: tuple[Literal["all", "user"], ...] = ("all", "user")
        for counted in kinds if "counters" in _native.parts else ():
            with contextlib.suppress(OSError):
                self._counters = (
                    _native.Counter(_HARDWARE, _INSTRUCTIONS, counted == "all"),
                    _native.Counter(_HARDWARE, _CYCLES, counted == "all"),
                )
                self.counted = counted
                break

    def read(self) -> HardwareReading | None:
        """None where there are no counters, or they can no longer be read."""
        if self._counters is None:
            return None
        instructions, cycles = self._counters
        try:
            return HardwareReading(instructions.read(), cycles.read())
        except OSError:
            self._counters = None
            return None


def counted_between(before: tuple[int, int, int], after: tuple[int, int, int]) -> int | None:
    """The count between two readings of a counter, scaled up if it ran for only a part of the time;
    None if it never ran."""
    count, enabled, ran = (b - a for a, b in zip(before, after, strict=True))
    if ran <= 0 or count < 0:
        return None
    return count if ran == enabled else round(count * enabled / ran)
