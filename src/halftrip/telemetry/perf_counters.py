"""The hardware counters of a thread, where there are any and they may be used."""

from __future__ import annotations

import contextlib
from typing import Literal, NamedTuple

from halftrip import _native

# Of linux/perf_event.h: PERF_TYPE_HARDWARE, and PERF_COUNT_HW_ of both.
_HARDWARE = 0
_INSTRUCTIONS = 1
_CYCLES = 0


class HardwareReading(NamedTuple):
    """A reading of each counter of a thread: its count, and how long it was enabled and ran, ns."""

    instructions: tuple[int, int, int]
    cycles: tuple[int, int, int]


class HardwareCounters:
    """Instructions and cycles of the thread that makes it, those in the kernel included where that
    is allowed."""

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
        """None where there are no counters, or none any more."""
        if self._counters is None:
            return None
        instructions, cycles = self._counters
        try:
            return HardwareReading(instructions.read(), cycles.read())
        except OSError:
            self._counters = None
            return None


def counted_between(before: tuple[int, int, int], after: tuple[int, int, int]) -> int | None:
    """The count between two readings of a counter; scaled up where it ran for a part of the time,
    None where it never did."""
    count, enabled, ran = (b - a for a, b in zip(before, after, strict=True))
    if ran <= 0 or count < 0:
        return None
    return count if ran == enabled else round(count * enabled / ran)
