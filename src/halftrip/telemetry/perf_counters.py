"""What the processor counts of a thread, where it has counters and they may be used."""

from __future__ import annotations

import contextlib
from typing import Literal, NamedTuple

from halftrip._native import Counter

# Of linux/perf_event.h: PERF_TYPE_HARDWARE, and PERF_COUNT_HW_ of both.
_HARDWARE = 0
_INSTRUCTIONS = 1
_CYCLES = 0


class HardwareReading(NamedTuple):
    """Where a thread's counters stand: each its count, and for how long it was wanted and ran."""

    instructions: tuple[int, int, int]
    cycles: tuple[int, int, int]


class HardwareCounters:
    """Instructions and cycles of the thread that makes it, in the kernel, too, where that is
    allowed."""

    def __init__(self) -> None:
        self.counted: Literal["user", "all"] | None = None
        self._counters: tuple[Counter, Counter] | None = None
        for counted in ("all", "user"):
            with contextlib.suppress(OSError):
                self._counters = (
                    Counter(_HARDWARE, _INSTRUCTIONS, counted == "all"),
                    Counter(_HARDWARE, _CYCLES, counted == "all"),
                )
                self.counted = "all" if counted == "all" else "user"
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
    """What a counter has counted between two readings; scaled up where it ran a part of the time,
    None where it never did."""
    count, wanted, ran = (b - a for a, b in zip(before, after, strict=True))
    if ran <= 0 or count < 0:
        return None
    return count if ran == wanted else round(count * wanted / ran)
