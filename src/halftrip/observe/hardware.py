"""What the processor counts of a thread, where it has counters and they may be used."""

from __future__ import annotations

import contextlib
from typing import Literal

from halftrip._native import Counter

# Of linux/perf_event.h: PERF_TYPE_HARDWARE, and PERF_COUNT_HW_ of both.
_HARDWARE = 0
_INSTRUCTIONS = 1
_CYCLES = 0


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

    def read(self) -> tuple[int, int] | None:
        """Instructions and cycles so far; None where there are no counters."""
        if self._counters is None:
            return None
        instructions, cycles = self._counters
        return instructions.read(), cycles.read()
