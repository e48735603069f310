"""How many times as long a message takes by halftrip as by a bare loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.stats.interval import between_medians
from halftrip.stats.median import median

# A ratio within this, either way, is none that anybody has to know of.
TOLERANCE = 1.05
# ... if its interval is within this; with a wider one, it may be anything.
WIDEST = 1.25

Word = Literal["same", "slower", "faster", "unknown"]


class Row(NamedTuple):
    """What is compared."""

    path: str
    pattern: str
    size: int


class Turn(NamedTuple):
    """A slice of halftrip and one of the bare loop, one right after the other: what a message took,
    ns, and the 99th percentiles, None where one has too few samples."""

    bare: float
    halftrip: float
    p99: tuple[float, float] | None = None


class LoopRatio(NamedTuple):
    """Medians over the turns, ns; the ratio halftrip / bare, the median over turns, with its 95 %
    interval; that of the 99th percentiles, None where they are not known; and how many turns."""

    row: Row
    bare: float
    halftrip: float
    ratio: float
    low: float
    high: float
    p99: float | None
    turns: int

    @property
    def word(self) -> Word:
        """`slower` and `faster`: surely, by more than the tolerance. `same`: surely no slower, or
        within it, with an interval that is not too wide. `unknown`: none of these."""
        if self.low > TOLERANCE:
            return "slower"
        if self.high < 1 / TOLERANCE:
            return "faster"
        if self.high <= TOLERANCE:
            return "same"
        is_narrow = self.low >= 1 / WIDEST and self.high <= WIDEST
        return "same" if is_narrow and 1 / TOLERANCE <= self.ratio <= TOLERANCE else "unknown"


def loop_ratio(row: Row, turns: Sequence[Turn]) -> LoopRatio:
    """The ratio of one row, which has two turns at least."""
    ratios = np.sort([turn.halftrip / turn.bare for turn in turns])
    ratio = median(ratios)
    found = between_medians(ratios)
    assert found is not None, "times are not 0"
    tails = [turn.p99[1] / turn.p99[0] for turn in turns if turn.p99 is not None]
    return LoopRatio(
        row,
        median([turn.bare for turn in turns]),
        median([turn.halftrip for turn in turns]),
        ratio,
        min(found.low, ratio),
        max(found.high, ratio),
        median(tails) if tails else None,
        len(turns),
    )
