"""The blocks of a slice whose samples are kept: how long the next one is, and whether they tell
enough."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.measure.batch import Sampled
from halftrip.stats.median import half_width

# Sampling consists of blocks: the first takes this share of the time allowed, each later one this
# share of the time of all before it.
FIRST_BLOCK_SHARE = 0.1
BLOCK_GROWTH = 3.0
# But a block is at least this long: what surrounds it, at both ends, takes a tenth of that.
_LEAST_BLOCK_NS = 2e6
# A slice is over early when the interval of its own median is within this share of the requested
# one, or within what half of the slices of the configuration differ by: a longer one would tell
# little more about the configuration.
_WITHIN_SHARE = 0.5
# The interval is computed from this share of the time on, each time it has grown by this much.
_LEAST_LOOK_SHARE = 0.05
_LOOK_GROWTH = 0.25
# A slice has sampled for as long as it has to, where a block took this share of what was planned.
_ROUNDING = 0.9
# Rejected batches may take this many times the time allowed. Each counts as this share of it at
# least: a short one is probed for the state all the same.
_MOST_REJECTED = 20
_LEAST_REJECTED_SHARE = 0.005


class BlockLengths(NamedTuple):
    """The first block of a slice takes the share `first` of the time allowed, a later one the share
    `growth` of the time of all before it; with 0 all are as long as the first."""

    first: float = FIRST_BLOCK_SHARE
    growth: float = BLOCK_GROWTH


DEFAULT_LENGTHS = BlockLengths()


class KeptBlocks:
    """The blocks of one slice that count. `allowed_ns` is the time allowed, and `ci` the relative
    half width of the interval that was asked for (None: none). Slices so far differ by the share
    `spread` of their median. A slice is not over early before it has sampled for `least_ns`."""

    def __init__(
        self,
        lengths: BlockLengths,
        allowed_ns: float,
        ci: float | None = None,
        spread: float = 0.0,
        least_ns: float = 0.0,
    ) -> None:
        self._lengths = lengths
        self._allowed_ns = allowed_ns
        self._may_converge = ci is not None
        self._enough = max(_WITHIN_SHARE * (ci or 0.0), spread)
        self._least_ns = least_ns
        self._batches: Sequence[Sampled] = ()
        self._rejected_ns = 0.0
        self._next_look_ns = _LEAST_LOOK_SHARE * allowed_ns

    @property
    def ns(self) -> int:
        """The time of all of them, timeouts included."""
        return sum(batch.elapsed for batch in self._batches)

    @property
    def samples(self) -> int:
        """How many samples they have."""
        return sum(batch.times.size for batch in self._batches)

    @property
    def gave_up(self) -> bool:
        """Whether too much was rejected."""
        return self._rejected_ns >= _MOST_REJECTED * self._allowed_ns

    def take(self, kept: Sequence[Sampled], rejected: Sequence[Sampled]) -> None:
        """Takes all batches that count by now, and those that no longer do."""
        self._batches = kept
        least_ns = _LEAST_REJECTED_SHARE * self._allowed_ns
        self._rejected_ns += sum(max(batch.elapsed, least_ns) for batch in rejected)
        if rejected:
            # The last interval was computed from samples that no longer count.
            self._next_look_ns = _LEAST_LOOK_SHARE * self._allowed_ns

    def forget(self) -> None:
        """Lets go of the samples."""
        self._batches = ()

    def next_ns(self) -> float:
        """How long the next block is."""
        kept_ns = self.ns
        left_ns = self._allowed_ns - kept_ns
        first, growth = self._lengths
        block_ns = first * self._allowed_ns
        if growth:
            block_ns = growth * kept_ns if kept_ns else max(block_ns, self._least_ns)
            block_ns = max(block_ns, _LEAST_BLOCK_NS)
            if left_ns - block_ns < _LEAST_BLOCK_NS:
                block_ns = left_ns
        return min(block_ns, left_ns)

    def have_converged(self, is_last: bool) -> bool:
        """Whether the interval of their median is narrow enough; it is computed now and then, and
        where none comes after them (`is_last`)."""
        kept_ns = self.ns
        if not self._may_converge or kept_ns < _ROUNDING * self._least_ns:
            return False
        if not is_last and kept_ns < self._next_look_ns:
            return False
        self._next_look_ns = (1 + _LOOK_GROWTH) * kept_ns
        times = np.concatenate([batch.times for batch in self._batches])
        return half_width(times) <= self._enough
