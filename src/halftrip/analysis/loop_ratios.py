"""How many times as long a message takes by halftrip as by a bare loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.stats.interval import between_medians
from halftrip.stats.median import median

# By how much the bare loop may differ before and after halftrip, as a factor: beyond it, something
# else has changed meanwhile, as the cores, and the turn says nothing of halftrip.
STEADY = 1.25
# A ratio within this, either way, is none that anybody has to know of.
TOLERANCE = 1.05
# ... if its interval is within this; with a wider one, it may be anything.
WIDEST = 1.25
# With fewer turns left there is no ratio.
FEWEST_TURNS = 3

Word = Literal["same", "slower", "faster", "unknown"]


class Row(NamedTuple):
    """What is compared."""

    path: str
    pattern: str
    size: int


class Turn(NamedTuple):
    """One run of halftrip between two of the bare loop: what a message took, ns."""

    before: float
    halftrip: float
    after: float

    @property
    def bare(self) -> float:
        return math.sqrt(self.before * self.after)

    @property
    def is_steady(self) -> bool:
        return max(self.before, self.after) <= STEADY * min(self.before, self.after)


class LoopRatio(NamedTuple):
    """Medians over the turns that count, ns; the ratio halftrip / bare with its 95 % interval over
    turns, NaN where there are too few; that of the 99th percentiles, NaN where either has too few
    samples; and how many turns count, of how many."""

    row: Row
    bare: float
    halftrip: float
    ratio: float
    low: float
    high: float
    p99: float
    steady: int
    turns: int

    @property
    def word(self) -> Word:
        """`slower` and `faster`: surely, by more than the tolerance. `same`: within it, with an
        interval that is not too wide. `unknown`: none of these."""
        if math.isnan(self.ratio):
            return "unknown"
        if self.low > TOLERANCE:
            return "slower"
        if self.high < 1 / TOLERANCE:
            return "faster"
        is_narrow = self.low >= 1 / WIDEST and self.high <= WIDEST
        return "same" if is_narrow and 1 / TOLERANCE <= self.ratio <= TOLERANCE else "unknown"


def loop_ratio(row: Row, turns: Sequence[Turn], p99: Iterable[Turn] = ()) -> LoopRatio:
    """The ratio of one row; `p99` has the 99th percentiles of the turns in which they are known."""
    steady = [turn for turn in turns if turn.is_steady]
    ratio = low = high = math.nan
    ratios = np.sort([turn.halftrip / turn.bare for turn in steady])
    if len(steady) >= FEWEST_TURNS:
        ratio = median(ratios)
        found = between_medians(ratios)
        if found is not None:
            low, high = min(found.low, ratio), max(found.high, ratio)
    tails = [turn.halftrip / turn.bare for turn in p99]
    counted = steady or turns
    return LoopRatio(
        row,
        median([turn.bare for turn in counted]),
        median([turn.halftrip for turn in counted]),
        ratio,
        low,
        high,
        median(tails) if tails else math.nan,
        len(steady),
        len(turns),
    )
