"""The interval of a latency, from the medians of slices or of launches.

numpy only: the ranks use it while they measure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from halftrip.stats.autocorrelation import autocorrelation
from halftrip.stats.distributions import student_95_from_one
from halftrip.stats.granularity import granularity_of_ordered
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median, median_interval, median_of_ordered
from halftrip.stats.quantile import Floats, Interval, Samples, in_order

# The largest half width of an interval, as a logarithm: a wider one says nothing, exp() overflows.
_WIDEST = 100.0
# The interval over slices is at least this share of that within them. With all of it, healthy
# slices would cover 99 %.
_WITHIN = 0.5
# Neighbours are taken for correlated by no more than this; then it is three times as wide.
_MOST_CORRELATED = 0.8
# The step of the clock shows in this many samples.
MOST_FOR_STEP = 400


class SliceMedian(NamedTuple):
    """The median of a slice, or of a launch, in the unit of its times.

    `half_width` is that of the 95 % interval of the median within the slice (NaN: not known), and
    `step` the step of the lattice that a coarse clock puts the times on (0: none).
    """

    median: float
    half_width: float = math.nan
    step: float = 0.0

    def at_least(self, unit: float) -> SliceMedian:
        """The same of times that were recorded in multiples of `unit` (0: not known)."""
        return self if self.step >= unit else self._replace(step=unit)


def of_launch(slices: Sequence[SliceMedian]) -> SliceMedian:
    """The median of a launch; only other launches tell how well it is known."""
    return SliceMedian(
        median([each.median for each in slices]), step=median([each.step for each in slices])
    )


def of_samples(times: Samples, unit: float = 0.0, within: bool = True) -> SliceMedian:
    """The median of a slice with these times, shape (n,), n >= 1, in time order. They were recorded
    in multiples of `unit` (0: not known). Without the interval `within` the slice, which takes most
    of the time, its half width is not known."""
    ordered = in_order(times)
    middle = median_of_ordered(ordered)
    own = median_interval(times, ordered) if within else None
    half = math.nan if own is None else max(own.high - middle, middle - own.low)
    # Evenly spaced, so that a slice whose level changes is not judged by its beginning.
    every = -(-times.size // MOST_FOR_STEP)
    return SliceMedian(
        middle, half, max(unit, _step(ordered if every == 1 else in_order(times[::every])))
    )


def _step(ordered: Samples) -> float:
    """The step of these times, shape (n,), ascending; 0 where they are all equal, which does not
    tell it, and where most differ, so that a step is nothing beside their spread."""
    different = 1 + np.count_nonzero(ordered[1:] != ordered[:-1])
    return granularity_of_ordered(ordered) if 1 < different <= ordered.size // 2 else 0.0


def interval(slices: Sequence[SliceMedian]) -> Interval | None:
    """The 95 % interval of the latency whose estimate is the median of the medians of `slices`,
    which are in time order, in their unit: where the median over all slices lies that the run could
    have had, so that it holds for whoever repeats the run. None of one slice, which says nothing
    about the next, and of two to five where one has a median of 0.

    What slices have in common, the interval does not show. It is never narrower than half a step of
    the lattice on either side: a median of coarse times is not known better. Nor is it less than
    half as wide as the interval that the slices have by themselves: by chance a few may agree too
    well.
    """
    medians = np.array([each.median for each in slices], dtype=np.float64)
    between = between_medians(np.sort(medians))
    if between is None:
        return None
    latency = median(medians)
    wider = as_neighbours(medians)
    if between.low > 0:
        # In proportion, so that it stays above 0.
        between = Interval(*(latency * (end / latency) ** wider for end in between))
    else:
        between = Interval(*(latency + wider * (end - latency) for end in between))
    least = 0.5 * median([each.step for each in slices])
    halves = np.array([each.half_width for each in slices], dtype=np.float64)
    known = halves[~np.isnan(halves)]
    if known.size:
        within = math.sqrt(float(np.mean(known * known)) / len(slices))
        least = max(least, _WITHIN * within)
    # Times are not negative.
    low = max(min(between.low, latency - least), min(0.0, float(medians.min())))
    return Interval(low, max(between.high, latency + least))


def as_neighbours(values: Floats) -> float:
    """By what factor the interval of the median of `values`, shape (k,), in time order, is wider
    than that of independent ones: they may be closer together than the time over which a machine
    wanders. It is the square root of (1 + r) / (1 - r), as if there were fewer; r, from 0 to 0.8,
    is the correlation of the ranks of neighbours plus 1 / k, by which independent values show too
    little of it, and correlated ones by more (Kendall, Biometrika 41, 1954). Of fewer than six,
    which do not tell it, 1."""
    if values.size < FEWEST_FOR_INTERVAL:
        return 1.0
    seen = autocorrelation(values).lag1 + 1.0 / values.size
    correlation = min(max(seen, 0.0), _MOST_CORRELATED)
    return math.sqrt((1.0 + correlation) / (1.0 - correlation))


def between_medians(ordered: Floats) -> Interval | None:
    """The 95 % interval of the median of the distribution that these values are from, shape (k,),
    ascending; they are independent.

    Of six or more, by order statistics, which need no distribution (Conover, Practical
    Nonparametric Statistics, 1999, section 3.2), and between two of them, as these reach 95 % in
    steps: of ten values, the second from each end reach 97.9 % and the third 89.1 % (Hettmansperger
    and Sheather, Statistics and Probability Letters 4, 1986). Of two to five these cannot reach
    95 %; then it is
    Student's t about the mean of the logarithms, which supposes that these vary normally: of two
    it is wide, but never below 0. None where a value is 0, and of one.
    """
    k = ordered.size
    if k < 2:
        return None
    if k >= FEWEST_FOR_INTERVAL:
        outside, inward = _bounds(k)
        low, high = ordered[outside], ordered[k - 1 - outside]
        return Interval(
            float(low + inward * (ordered[outside + 1] - low)),
            float(high - inward * (high - ordered[k - 2 - outside])),
        )
    if ordered[0] <= 0:
        return None
    logarithms = np.log(ordered)
    mean = float(logarithms.mean())
    width = min(student_95_from_one(k - 1) * float(logarithms.std(ddof=1)) / math.sqrt(k), _WIDEST)
    return Interval(math.exp(mean - width), math.exp(mean + width))


@lru_cache(maxsize=64)
def _bounds(k: int) -> tuple[int, float]:
    """How many order statistics of `k` lie outside the median's interval on either side: the most
    for which the median lies outside there in no more than 2.5 % of cases; and how far towards the
    next ones its ends are, as a share of the distance.

    Between them the share of cases does not change in proportion to the distance; how it does
    depends little on the distribution (Hettmansperger and Sheather, 1986, equation 2.2).
    """
    # In whole numbers, of the 2**k ways to lie: more than a thousand medians overflow a float.
    ways, below, outside = 1, 1, 0
    while True:
        ways = ways * (k - outside) // (outside + 1)
        if 40 * (below + ways) > 1 << k:
            break
        below += ways
        outside += 1
    excess = ((1 << k) - 40 * below) / (40 * ways)
    number = outside + 1
    return outside, (k - number) * excess / (number + (k - 2 * number) * excess)
