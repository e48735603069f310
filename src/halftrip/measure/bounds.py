"""The limits of the machine: no path between two ranks is faster."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.memory.allocator import Bytes
from halftrip.memory.host import HOST
from halftrip.results.block import Times
from halftrip.stats.median import median

# One probe of a page: this many samples of this many round trips, some 5 to 30 us in all.
_LINE_SAMPLES = 3
_LINE_BATCH = 10
_LINE_WARM_UP = 3
# How many pages are probed. Where cores are far from each other, each page has a level of its own:
# which memory controller has it decides how far its lines travel, and nothing tells which one that
# is. If half of the pages are far, one of ten is near in all but a thousandth of the cases.
_PAGES = 10
# A single pause between two polls has to take less than this of the time that more of them take: it
# does so only where two cores share all caches.
_MOST_OF_MORE = 0.8
# One copy time: this many samples of about this length.
_COPY_SAMPLES = 15
_COPY_SAMPLE_NS = 400_000
COPY_SIZES = (4096, 65536, 1 << 20, 4 << 20, 32 << 20)
# Copies of more than this many of the largest message bound nothing: buffers are not larger than
# two windows, and memory is never faster than the caches that hold small copies. Those up to the
# second size are always taken, as the fastest copy is among them. The largest takes 0.1 s.
_MOST_MESSAGES = 16
_ALWAYS = 65536


class Probed(NamedTuple):
    """The core-to-core round trip of a cache line in the nearest and in the farthest of the probed
    pages, ns; None: there is one page only."""

    nearest: float
    farthest: float | None = None


class CacheLineProbe:
    """Measures the round trip of a cache line between the cores of two ranks; each has a probe.

    The time depends on the page, so several are tried, and the fastest is the bound. And it depends
    on how close the polls lie. Two threads of one core answer within a single pause of the
    processor, and more pauses make half of the time; where caches are far apart, each poll takes
    the line away from its writer, and more pauses save a fifth. Cores move between the two, so a
    probe tries a single pause and `poll_pause` of them, and what suits stays set at both ends until
    the next probe.

    `pages` is memory that both ranks map, PROBED_BYTES of zeros at first, which begins a page.
    `poll_pause` is how many pauses the machine calls for, the same at both ends: what is set may be
    the choice of a probe with another rank.
    """

    def __init__(self, pages: Bytes, clock: Clock, poll_pause: int) -> None:
        # Lines at other places of each page: those at the same one share a set of the caches.
        self._lines = _native.CacheLines(pages, _PAGES, mmap.PAGESIZE + 2 * _native.cache_line)
        self._clock = clock
        self._pauses = sorted({1, poll_pause})
        # The initiator's choice, beside the last line.
        self._chosen = np.frombuffer(pages, dtype=np.uint8)[-1:]

    def initiate(self) -> Probed:
        """The median round trips of the pages. The other rank calls `respond` meanwhile."""
        found = []
        for pause in self._pauses:
            timestamps = self._run(self._lines.initiate, pause)
            # Sorted, because np.median would take longer than the probe.
            medians = np.sort(np.diff(timestamps, axis=1), axis=1)[:, _LINE_SAMPLES // 2]
            found.append(self._clock.durations(medians))
        single, more = found[0], found[-1]
        best = single if single.min() < _MOST_OF_MORE * more.min() else more
        self._chosen[0] = self._pauses[0 if best is single else -1]
        self._agree(self._lines.initiate)
        return Probed(float(best.min()) / _LINE_BATCH, float(best.max()) / _LINE_BATCH)

    def respond(self) -> None:
        for pause in self._pauses:
            self._run(self._lines.respond, pause)
        self._agree(self._lines.respond)

    def _run(self, part: Callable[..., None], pause: int) -> Times:
        """The timestamps of each page, shape (pages, samples + 1)."""
        _native.set_poll_pause(pause)
        timestamps = np.zeros(_PAGES * (_LINE_SAMPLES + 1), dtype=np.int64)
        part(_LINE_WARM_UP, _LINE_BATCH, timestamps, self._clock.source)
        return timestamps.reshape(_PAGES, _LINE_SAMPLES + 1)

    def _agree(self, part: Callable[..., None]) -> None:
        """Sets the initiator's choice, which the other end has seen after a round trip."""
        part(0, 1, np.zeros(2 * _PAGES, dtype=np.int64), self._clock.source)
        _native.set_poll_pause(int(self._chosen[0]))


PROBED_BYTES = _PAGES * mmap.PAGESIZE


def copy_sizes(largest: int) -> list[int]:
    """The sizes of the copies that bound messages of up to `largest` bytes."""
    most = max(_MOST_MESSAGES * largest, _ALWAYS)
    return [size for size in COPY_SIZES if size <= most]


def copy_time(
    size: int, clock: Clock, by_kernel: bool = False, samples: int = _COPY_SAMPLES
) -> float:
    """The median time of one copy of `size` bytes from one buffer to another, ns, of so many
    samples: a memcpy, or `by_kernel`, with process_vm_readv. Raises OSError where that is not
    allowed."""
    source, target = (HOST.allocate(size, "4K").bytes for _ in range(2))

    def time(batch: int, samples: int) -> float:
        """The median time of a copy, ns, in samples of `batch` copies."""
        timestamps = np.zeros(samples + 1, dtype=np.int64)
        _native.copy(target, source, batch, timestamps, clock.source, by_kernel)
        return median(clock.intervals(timestamps)) / batch

    once = max(time(1, 3), 1.0)
    return time(max(1, int(_COPY_SAMPLE_NS / once)), samples)
