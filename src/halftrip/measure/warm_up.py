"""The warm-up of a slice: how much of it there is, and when it is over."""

from __future__ import annotations

import numpy as np

from halftrip.results.block import NO_TIMES, Times
from halftrip.results.records import WarmUp
from halftrip.stats.settle import settled

# Blocks have at least this length and this many samples, where the time allows; in the first slice,
# where everything is cold, they are longer.
_BLOCK_NS = 0.5e6
_FIRST_BLOCK_NS = 2e6
_BLOCK_SAMPLES = 24
# A block whose samples have an uncertain length has as many as calibration takes.
_FEWEST_SAMPLES = 3
# Each further block is this much longer than the one before it.
_GROWTH = 2.0
# Warm-up ends when the times of a block have settled, to within the requested interval (or this,
# where there is none), or after this share of the time allowed.
TOLERANCE = 0.01
_SHARE = 0.5
# Where iterations are long, a block has fewer samples than this, and those before it are looked at,
# too.
_FEWEST_SETTLED = 6


class WarmUpBlocks:
    """The warm-up of one slice in blocks that are timed and not kept: until the times have settled,
    or `count` iterations, if that is given. `allowed_ns` is the time allowed for the slice.

    `is_guess`: how long a sample takes was worked out from samples that were too short to be timed.
    """

    def __init__(
        self, is_first: bool, ci: float | None, allowed_ns: float, count: int | None = None
    ) -> None:
        self.is_guess = False
        self._count = count
        self._tolerance = ci or TOLERANCE
        self._most_ns = _SHARE * allowed_ns
        self._block_ns = _FIRST_BLOCK_NS if is_first else _BLOCK_NS
        # What `record` reports, calibration included.
        self._iterations = 0
        self._ns = 0
        self._settled = False
        # Without calibration: the iterations of a fixed count, and the time with timeouts.
        self._fixed_iterations = 0
        self._warming_ns = 0.0
        # The latest samples of the present length.
        self._latest: Times = NO_TIMES

    @property
    def record(self) -> WarmUp:
        """What preceded the kept samples of the slice, without the first iteration."""
        # Nobody looks whether a fixed count was enough, or none.
        settled = self._settled if self._count is None and self._ns else None
        return WarmUp(iterations=self._iterations, ns=self._ns, settled=settled)

    @property
    def left(self) -> int | None:
        """How many iterations of a fixed count are left; None: there is no such count."""
        return None if self._count is None else max(0, self._count - self._fixed_iterations)

    @property
    def is_over(self) -> bool:
        if self._count is not None:
            return self.left == 0
        return self._settled or self._warming_ns >= self._most_ns

    def count(self, times: Times, iterations: int) -> None:
        """Counts samples of so many iterations each, of calibration or of warm-up."""
        self._iterations += times.size * iterations
        self._ns += int(times.sum())

    def spend(self, ns: float) -> None:
        """Counts time of warm-up."""
        self._warming_ns += ns

    def count_fixed(self, iterations: int) -> None:
        """Counts iterations of a fixed count."""
        self._fixed_iterations += iterations

    def samples(self, turn_ns: float) -> float:
        """How many samples of `turn_ns` each the next block has."""
        if self.is_guess:
            return _FEWEST_SAMPLES
        return min(max(self._block_ns / turn_ns, _BLOCK_SAMPLES), self._most_ns / turn_ns)

    def look(self, times: Times) -> None:
        """Finds out whether the times, the latest being those of a block, have settled."""
        fewest = max(times.size, _FEWEST_SETTLED)
        self._latest = np.concatenate([self._latest, times])[-fewest:]
        self._settled = settled(self._latest, self._tolerance)
        self._block_ns *= _GROWTH

    def forget(self) -> None:
        """Lets go of the samples: later ones are of another length, or do not come."""
        self._latest = NO_TIMES
