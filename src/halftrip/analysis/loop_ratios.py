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

RatioWord = Literal["same", "slower", "faster", "unknown"]


class LoopRow(NamedTuple):
    """A row that is measured by both."""

    path: str
    pattern: str
    size: int


class LoopTimes(NamedTuple):
    """A slice of halftrip and one of the bare loop, one right after the other: what a message took,
    ns, and the 99th percentiles, None where one has too few samples."""

    bare: float
    halftrip: float
    p99: tuple[float, float] | None = None


class Ratio(NamedTuple):
    """The median over turns, with its 95 % interval."""

    median: float
    low: float
    high: float


class LoopRatio(NamedTuple):
    """Medians over the turns, ns; the ratio halftrip / bare, and that of the 99th percentiles, None
    where these are known in too few turns; and how many turns."""

    row: LoopRow
    bare: float
    halftrip: float
    ratio: Ratio
    p99: Ratio | None
    turns: int

    @property
    def word(self) -> RatioWord:
        """`slower` and `faster`: surely, by more than the tolerance. `same`: surely no slower, or
        within it, with an interval that is not too wide. `unknown`: none of these."""
        ratio, low, high = self.ratio
        if low > TOLERANCE:
            return "slower"
        if high < 1 / TOLERANCE:
            return "faster"
        if high <= TOLERANCE:
            return "same"
        is_narrow = low >= 1 / WIDEST and high <= WIDEST
        return "same" if is_narrow and 1 / TOLERANCE <= ratio <= TOLERANCE else "unknown"


def loop_ratio(row: LoopRow, turns: Sequence[LoopTimes]) -> LoopRatio:
    """The ratio of one row, which has two turns at least."""
    tails = [turn.p99[1] / turn.p99[0] for turn in turns if turn.p99 is not None]
    return LoopRatio(
        row,
        median([turn.bare for turn in turns]),
        median([turn.halftrip for turn in turns]),
        _over_turns([turn.halftrip / turn.bare for turn in turns]),
        _over_turns(tails) if len(tails) > 1 else None,
        len(turns),
    )


def _over_turns(ratios: Sequence[float]) -> Ratio:
    middle = median(ratios)
    found = between_medians(np.sort(ratios))
    assert found is not None, "times are not 0"
    return Ratio(middle, min(found.low, middle), max(found.high, middle))
