"""The machine's own limits: no path between two ranks is faster."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.memory.allocator import Bytes
from halftrip.memory.host import HOST
from halftrip.results.block import Times
from halftrip.results.patterns import ROUND_TRIP
from halftrip.stats.median import median

# One probe of a cache line: this many samples of this many round trips, some 10 us in all.
_LINE_SAMPLES = 5
_LINE_BATCH = 8
_LINE_WARM_UP = 4
# One copy time: this many samples of about this length.
_COPY_SAMPLES = 15
_COPY_SAMPLE_NS = 400_000
COPY_SIZES = (4096, 65536, 1 << 20, 4 << 20, 32 << 20)
# Copies of more than this many of the largest message bound nothing: buffers are not larger than
# two windows, and memory is never faster than the caches that hold small copies. Those up to the
# second size are always taken, as the fastest copy is among them. The largest takes 0.1 s.
_MOST_MESSAGES = 16
_ALWAYS = 65536


class CacheLineProbe:
    """Measures the round trip of a cache line between the cores of two ranks; each has a probe.

    The time depends on the address of the line, so several lines are tried, and the fastest is the
    bound. `segment` is memory that both ranks map, zeros at first, which begins with these lines.
    """

    def __init__(self, segment: Bytes, clock: Clock) -> None:
        size = _native.probed_line_size
        self._lines = [
            _native.CacheLine(segment[number * size : (number + 1) * size])
            for number in range(_native.probed_lines)
        ]
        self._clock = clock
        self._empty = _native.Ring(np.empty((1, 0), dtype=np.uint8))

    def initiate(self) -> float:
        """The fastest line's median round trip, ns. The other rank calls `respond` meanwhile."""
        timestamps = self._run(_native.initiate)
        # Sorted, because np.median would take longer than the probe.
        medians = np.sort(np.diff(timestamps, axis=1), axis=1)[:, _LINE_SAMPLES // 2]
        return float(self._clock.durations(medians).min()) / _LINE_BATCH

    def respond(self) -> None:
        self._run(_native.respond)

    def _run(self, part: Callable[..., None]) -> Times:
        """The timestamps of each line, shape (lines, samples + 1)."""
        timestamps = np.zeros((len(self._lines), _LINE_SAMPLES + 1), dtype=np.int64)
        empty, source = self._empty, self._clock.source
        for line, row in zip(self._lines, timestamps, strict=True):
            part(line, ROUND_TRIP, empty, empty, 1, _LINE_WARM_UP, _LINE_BATCH, row, source)
        return timestamps


def copy_sizes(largest: int) -> list[int]:
    """The sizes of the copies that bound messages of up to `largest` bytes."""
    most = max(_MOST_MESSAGES * largest, _ALWAYS)
    return [size for size in COPY_SIZES if size <= most]


def copy_time(size: int, clock: Clock) -> float:
    """The median time of one memcpy of `size` bytes from one buffer to another, ns."""
    source, target = (HOST.allocate(size, "4K").bytes for _ in range(2))

    def time(batch: int, samples: int) -> float:
        """The median time of a copy, ns, in samples of `batch` copies."""
        timestamps = np.zeros(samples + 1, dtype=np.int64)
        _native.copy(target, source, batch, timestamps, clock.source)
        return median(clock.intervals(timestamps)) / batch

    once = max(time(1, 3), 1.0)
    return time(max(1, int(_COPY_SAMPLE_NS / once)), _COPY_SAMPLES)
