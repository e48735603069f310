"""The hardware counters of a thread, where the machine has them and the kernel allows them.

They are open only while something is counted. An open counter is stopped and started at every
context switch of its thread, which takes 0.1 to 2 us on most processors, and 30 to 40 us where a
hypervisor emulates the registers: nothing is timed meanwhile.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import TypeVar

from halftrip import _native
from halftrip.results.counts import Counted, Counts

_Result = TypeVar("_Result")
# The count so far; for how long the counter has been enabled, and for how long it has run, ns.
CounterReading = tuple[int, int, int]

# From linux/perf_event.h: PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS and
# PERF_COUNT_HW_CPU_CYCLES.
_HARDWARE = 0
INSTRUCTIONS = (_HARDWARE, 1)
CYCLES = (_HARDWARE, 0)
_FORBIDDEN = (errno.EACCES, errno.EPERM)


class HardwareCounters:
    """Instructions and cycles of the calling thread, which are counted until the last reference to
    this is gone; in the kernel, too, if that is allowed. Raises OSError where nothing is."""

    def __init__(self) -> None:
        if "counters" not in _native.parts:
            raise OSError(errno.ENOSYS, "halftrip was built without them")
        self.counted: Counted = "all"
        try:
            self._open(everywhere=True)
        except OSError as error:
            if error.errno not in _FORBIDDEN:
                raise
            self.counted = "user"
            self._open(everywhere=False)

    def _open(self, everywhere: bool) -> None:
        self._instructions = _native.Counter(*INSTRUCTIONS, everywhere)
        self._cycles = _native.Counter(*CYCLES, everywhere)

    def read(self) -> tuple[CounterReading, CounterReading] | None:
        """The instructions and the cycles; None where they can no longer be read."""
        try:
            return self._instructions.read(), self._cycles.read()
        except OSError:
            return None


def missing() -> str | None:
    """Why this process cannot count instructions and cycles; None if it can."""
    try:
        HardwareCounters()
    except OSError as error:
        if error.errno in _FORBIDDEN:
            return "the kernel does not allow hardware counters; kernel.perf_event_paranoid=2 does"
        if error.errno == errno.ENOSYS:
            return f"no hardware counters: {error.strerror}"
        return "no hardware counters here, as in most virtual machines"
    return None


def count(run: Callable[[], _Result], iterations: int) -> tuple[_Result, Counts | None]:
    """The result of `run`, which does so many iterations, and what this thread took for it; None
    where that cannot be counted."""
    try:
        counters = HardwareCounters()
    except OSError:
        return run(), None
    before, result, after = counters.read(), run(), counters.read()
    if before is None or after is None:
        return result, None
    instructions, cycles = (counted_between(*each) for each in zip(before, after, strict=True))
    if instructions is None or cycles is None:
        return result, None
    return result, Counts(
        iterations=iterations, instructions=instructions, cycles=cycles, counted=counters.counted
    )


def counted_between(before: CounterReading, after: CounterReading) -> int | None:
    """The count between two readings of a counter, scaled up if it ran for only a part of the time;
    None if it never ran."""
    counted, enabled, ran = (b - a for a, b in zip(before, after, strict=True))
    if ran <= 0 or counted < 0:
        return None
    return counted if ran == enabled else round(counted * enabled / ran)
