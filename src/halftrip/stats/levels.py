"""The levels of a quantity of the machine that holds for a while, such as the core-to-core round
trip of virtual cores that the hypervisor moves; and whether times go with them.

numpy only.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.distributions import upper_tail
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats, quantile_of_ordered

Places = npt.NDArray[np.intp]

# A level has at least this share of all readings, and this many of them.
_LEAST_SHARE = 0.05
_FEWEST = 6
# Two levels are farther apart than both interquartile ranges together by this factor, and by more
# where there are few readings: by this over the square root of those of the rarer level. Of the two
# halves of a normal distribution, the distance is 0.8 of these ranges; of two normal ones that are
# four standard deviations apart, 1.5. The figures are those with which of 200 paths that wander
# (first-order autoregressions, 20 to 1,600 readings, with a memory of 0.3 to 1,000 of them), and of
# as many with a heavy tail, no more than 2.5 % are split.
_APART = 1.5
_APART_OF_FEW = 4.0
# The step of a coarse reading, as a logarithm, which counts as spread.
_STEP = 0.01
# Between two levels, this part of the distance has no more than that share of the readings of the
# rarer level.
_VALLEY = 1 / 3
_MOST_IN_VALLEY = 0.15
# A level comes back: the quantity changes at least so often between the two; once is enough of
# levels that are this many times as far apart as they have to be.
_CHANGES = 3
_CLEARLY = 2.0
# Readings farther outside the quartiles of a level than so many interquartile ranges, or outside
# all readings of it, each by more than this factor, were disturbed (Tukey, Exploratory Data
# Analysis, 1977: "far out").
_FAR_OUT = 3.0
# A larger logarithm says nothing, and exp() overflows.
_WIDEST = 100.0
_OUTSIDE = 1.05
# Times go with the level where chance gives such a difference in no more than this share of cases,
# and where it is larger than this: an interval as wide is ok.
_LEVEL_OF_TEST = 0.04
_LEAST_DIFFERENCE = math.log(1.02)
# What rounding leaves of the squares of logarithms that are all equal.
_SAME_LEVEL = 1e-12


class Level(NamedTuple):
    """Readings from `low` to `high`, whose median is `middle`; they are the share `share` of all.
    All in the unit of the quantity."""

    low: float
    high: float
    middle: float
    share: float

    def has(self, reading: float) -> bool:
        return self.low <= reading <= self.high

    def narrowed(self, readings: Sequence[float]) -> Level:
        """The level of some of its readings, at least one: those of one place."""
        low, high = min(readings) / _OUTSIDE, max(readings) * _OUTSIDE
        return Level(max(self.low, low), min(self.high, high), median(readings), self.share)


def levels(series: Sequence[Sequence[float]]) -> list[Level]:
    """The levels of a quantity that is above 0, the lowest first, from the readings of each of
    several places (pairs of cores), in time order; none without readings, and one where nothing
    tells several apart.

    There are two levels where a cut separates two groups of readings that are farther apart than
    their own spread, with hardly any readings in between, and where a place has been at one, the
    other and again at the first: what wanders continuously passes through all that lies between,
    and what differs from place to place does not come back. Each group is then cut again.
    """
    parts = [np.asarray(each, dtype=np.float64) for each in series]
    values = np.concatenate(parts) if parts else np.empty(0)
    places = np.repeat(np.arange(len(parts)), [part.size for part in parts])
    known = np.isfinite(values) & (values > 0)
    values, places = values[known], places[known]
    if not values.size:
        return []
    logarithms = np.log(values)
    groups = [np.sort(values[group]) for group in _groups(logarithms, places)]
    # Neither reaches beyond the middle of the gap.
    cuts = [
        0.0,
        *(math.sqrt(one[-1]) * math.sqrt(other[0]) for one, other in itertools.pairwise(groups)),
        math.inf,
    ]
    found = []
    for group, (low, high) in zip(groups, itertools.pairwise(cuts), strict=True):
        lower, upper = (quantile_of_ordered(group, share) for share in (0.25, 0.75))
        fence = math.exp(min(_WIDEST, _FAR_OUT * math.log(upper / lower)))
        found.append(
            Level(
                max(low, float(group[0]) / _OUTSIDE, lower / fence / _OUTSIDE),
                min(high, float(group[-1]) * _OUTSIDE, upper * fence * _OUTSIDE),
                median(group),
                group.size / values.size,
            )
        )
    return found


def _groups(logarithms: Floats, places: Places) -> list[Places]:
    """The numbers of the readings of each level, in time order."""
    left, found = [np.arange(logarithms.size)], []
    while left:
        own = left.pop()
        values = logarithms[own]
        cut = _cut(values, places[own])
        if cut is None:
            found.append(own)
        else:
            above = values >= cut
            left += [own[above], own[~above]]
    return found


def _cut(values: Floats, places: Places) -> float | None:
    """The logarithm from which on readings are of a higher level; None where all are of one."""
    x = np.sort(values)
    n = x.size
    least = max(_FEWEST, math.ceil(_LEAST_SHARE * n))
    if n < 2 * least:
        return None
    # All ways to cut them in two, by the number of those below.
    below = np.arange(least, n - least + 1)
    above = n - below

    def quantile(start: Places | int, size: Places, share: float) -> Floats:
        return np.asarray(x[start + np.rint(share * (size - 1)).astype(np.intp)])

    one, other = quantile(0, below, 0.5), quantile(below, above, 0.5)
    spread = _STEP + sum(
        quantile(start, size, 0.75) - quantile(start, size, 0.25)
        for start, size in ((0, below), (below, above))
    )
    rarer = np.minimum(below, above)
    needed = _APART + _APART_OF_FEW / np.sqrt(rarer)
    distance = (other - one) / spread
    best = int(np.argmax(distance - needed))
    if distance[best] < needed[best]:
        return None
    width = _VALLEY * float(other[best] - one[best])
    starts = x[(x >= one[best]) & (x <= other[best] - width)]
    if not starts.size:
        return None
    inside = np.searchsorted(x, starts + width, "left") - np.searchsorted(x, starts, "right")
    emptiest = int(np.argmin(inside))
    if inside[emptiest] > _MOST_IN_VALLEY * rarer[best]:
        return None
    cut = float(starts[emptiest]) + width / 2
    high = values >= cut
    if min(np.count_nonzero(high), np.count_nonzero(~high)) < least:
        return None
    changes = int(np.count_nonzero((high[1:] != high[:-1]) & (places[1:] == places[:-1])))
    enough = 1 if distance[best] > _CLEARLY * needed[best] else _CHANGES
    return cut if changes >= enough else None


def level_of(known: Sequence[Level], reading: float) -> int | None:
    """The number of the level that a reading is of; None where it was disturbed."""
    return next((number for number, each in enumerate(known) if each.has(reading)), None)


class Held(NamedTuple):
    """The number of the level that held in a slice; None where it is not known, and where it
    `changed`."""

    level: int | None
    changed: bool = False


def held(known: Sequence[Level], readings: Sequence[float]) -> Held:
    """The level that held in a slice with these readings before it, in it and after it. A disturbed
    reading says nothing, but if most are, nothing is known."""
    numbers = [level_of(known, each) for each in readings]
    seen = {number for number in numbers if number is not None}
    if len(seen) > 1:
        return Held(None, changed=True)
    if not seen or 2 * numbers.count(None) > len(numbers):
        return Held(None)
    return Held(seen.pop())


def goes_with(
    levels: Sequence[float | None], launches: Sequence[int], medians: Sequence[float]
) -> bool:
    """Whether the times of a row go with the level: from the lowest to the highest they change by
    more than 2 %, and by more than chance explains. Each slice has its level (None: it counts for
    none), its launch, and its median, above 0.

    Both tests are Student's, of the slope of a line through logarithms, which vary alike at all
    levels if times do not go with them. One is of all launches, each with its median at each level:
    launches differ by more than slices of one, so it errs on the safe side where one has seen
    several. The other one is of these medians less the mean of their launch. Of a single launch,
    slices stand for launches.
    """
    found: dict[int, dict[float, list[float]]] = {}
    for level, launch, time in zip(levels, launches, medians, strict=True):
        if level is not None and time > 0:
            found.setdefault(launch, {}).setdefault(math.log(level), []).append(math.log(time))
    if len(found) == 1:
        ((slices,),) = ([*found.values()],)
        alone = [(x, y) for x, of_level in slices.items() for y in of_level]
        return _slope_p_value(_repeated(alone), 2) <= _LEVEL_OF_TEST
    points = {
        launch: [(x, median(of_level)) for x, of_level in by_level.items()]
        for launch, by_level in found.items()
    }
    within = [_centred(each) for each in points.values() if len(each) > 1]
    p_values = (
        _slope_p_value(_repeated([point for each in points.values() for point in each]), 2),
        _slope_p_value([point for each in within for point in each], 1 + len(within)),
    )
    return min(p_values) <= _LEVEL_OF_TEST / 2


_Points = Sequence[tuple[float, float]]


def _repeated(points: _Points) -> _Points:
    """The points at levels that have several: one alone may be there by chance."""
    counts = Counter(x for x, _ in points)
    return [(x, y) for x, y in points if counts[x] > 1]


def _centred(points: _Points) -> _Points:
    mean_x, mean_y = np.mean(points, axis=0).tolist()
    return [(x - mean_x, y - mean_y) for x, y in points]


def _slope_p_value(points: _Points, estimated: int) -> float:
    """The p-value of the slope of the line through these points, from which so many figures have
    been `estimated`; 1 where it can have none, and where the line hardly rises."""
    dof = len(points) - estimated
    if dof < 1:
        return 1.0
    x, y = np.array(_centred(points)).T
    square = float(x @ x)
    if square <= _SAME_LEVEL:
        return 1.0
    slope = float(x @ y) / square
    if abs(slope) * float(np.ptp(x)) <= _LEAST_DIFFERENCE:
        return 1.0
    left = y - slope * x
    return _p_value(slope, float(left @ left) / dof / square, dof)


def _p_value(difference: float, square: float, dof: int) -> float:
    """That of a difference from 0 whose variance is `square`."""
    if square <= 0:
        return 1.0 if difference == 0 else 0.0
    return 2.0 * upper_tail(abs(difference) / math.sqrt(square), dof)
