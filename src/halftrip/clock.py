"""The clock of one rank: its source, its rate, and what a reading costs."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.kernel_files import HOST_FILES, Reader

CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
# A reading of the clock in ticks, of CLOCK_MONOTONIC_RAW in ns, and their uncertainty in ticks.
ClockPair = tuple[int, int, int]
# Two readings at least this far apart, each accurate to about 50 ns, give the rate to a few parts
# per million.
_BASELINE_SECONDS = 0.05
_TRIES = 50


def kernel_clock_source(reader: Reader = HOST_FILES) -> str | None:
    """The clock that the kernel itself uses, such as ``tsc`` or ``kvm-clock``; None if unknown."""
    return reader.line(CLOCK_SOURCE)


def best_source() -> str:
    """The processor's counter where it is invariant and the kernel uses it too, else the kernel's.

    A kernel that found its cores' counters to disagree, or to stop, has switched to another source.
    """
    counter = _native.counter_clock
    trusted = {"tsc": "tsc", "cntvct": "arch_sys_counter"}.get(counter)
    return counter if counter and kernel_clock_source() == trusted else "monotonic"


def raw_now() -> int:
    """Now, ns of CLOCK_MONOTONIC_RAW, which all processes of a host share."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


# The first reading of the next clock in this process, and its source.
_begun: list[tuple[str, ClockPair]] = []


def begin_calibration() -> None:
    """Takes the first reading of the next Clock that this process makes, so that what it does until
    then, such as imports, is part of the time between the two readings."""
    source = best_source()
    _begun[:] = [(source, _native.clock_pair(source, _TRIES))]


class Clock:
    """A clock that is calibrated against CLOCK_MONOTONIC_RAW when it is made, or from the last
    `begin_calibration` until then.

    `hertz` is its rate, ticks per second; `cost` of a reading and `resolution` are ns.
    """

    def __init__(self, source: str | None = None) -> None:
        self.source = source or best_source()
        begun = [start for of_source, start in _begun if of_source == self.source]
        _begun.clear()
        self._start = begun[0] if begun else _native.clock_pair(self.source, _TRIES)
        time.sleep(max(0.0, _BASELINE_SECONDS - (raw_now() - self._start[1]) * 1e-9))
        self.hertz = self._rate_until_now()
        cost, resolution = _native.clock_figures(self.source)
        self.cost = cost * 1e9 / self.hertz
        self.resolution = resolution * 1e9 / self.hertz

    def _rate_until_now(self) -> float:
        ticks, raw, _ = _native.clock_pair(self.source, _TRIES)
        return (ticks - self._start[0]) * 1e9 / (raw - self._start[1])

    def drift(self) -> float:
        """The difference of the rate since the start from `hertz`, parts per million."""
        return (self._rate_until_now() / self.hertz - 1.0) * 1e6

    def intervals(self, timestamps: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The times between timestamps of shape (n + 1,): shape (n,), whole ns."""
        return self.durations(np.diff(timestamps))

    def durations(self, ticks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Times in ticks as whole ns."""
        return np.rint(np.multiply(ticks, 1e9 / self.hertz)).astype(np.int64)

    def ticks(self, ns: float) -> int:
        """A time in ns as ticks."""
        return round(ns * self.hertz * 1e-9)

    def mark(self) -> ClockPair:
        """This moment, for `raw_times`."""
        return _native.clock_pair(self.source, _TRIES)

    def raw_times(
        self, timestamps: npt.NDArray[np.int64], mark: ClockPair
    ) -> npt.NDArray[np.int64]:
        """Timestamps taken between `mark` and now as ns of CLOCK_MONOTONIC_RAW, to about 50 ns:
        the rate between the two moments counts, not the one that was calibrated before."""
        first, first_raw, _ = mark
        ticks, raw, _ = self.mark()
        # A coarse clock may not have moved.
        rate = (raw - first_raw) / max(ticks - first, 1)
        since: npt.NDArray[np.int64] = np.rint((timestamps - first) * rate).astype(np.int64)
        return first_raw + since

    def raw_ns(self, timestamp: int) -> int:
        """A recent timestamp as ns of CLOCK_MONOTONIC_RAW, which all ranks of a host share."""
        ticks, raw, _ = _native.clock_pair(self.source, _TRIES)
        return int(raw - (ticks - timestamp) * 1e9 / self.hertz)
