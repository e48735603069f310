"""Decides when a path has settled: when the latest blocks of warm-up agree."""

from __future__ import annotations

import numpy as np

from halftrip.results.block import Times
from halftrip.stats.median import median_interval
from halftrip.stats.quantile import Interval

# A path has settled when this many blocks in a row agree.
AGREEING_BLOCKS = 3


class Settling:
    """The latest blocks of warm-up. Two blocks agree if their medians differ by no more than the
    share `tolerance`, or than chance explains."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._latest: list[Times] = []

    def add(self, block: Times) -> None:
        """Takes the times of the next block, shape (n,) with n > 0, ns."""
        self._latest = [*self._latest[1 - AGREEING_BLOCKS :], block]

    def restart(self) -> None:
        """Forgets all blocks: the next ones have other samples."""
        self._latest = []

    @property
    def settled(self) -> bool:
        if len(self._latest) < AGREEING_BLOCKS:
            return False
        *earlier, last = self._latest
        return all(self._agree(block, last) for block in earlier)

    def _agree(self, block: Times, last: Times) -> bool:
        middle, last_middle = float(np.median(block)), float(np.median(last))
        if abs(middle - last_middle) <= self._tolerance * last_middle:
            return True
        one, other = _bounds(block), _bounds(last)
        return one.low <= other.high and other.low <= one.high


def _bounds(block: Times) -> Interval:
    """The confidence interval of a block's median; its range, where it has too few samples."""
    return median_interval(block) or Interval(float(block.min()), float(block.max()))
