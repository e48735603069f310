"""Whether samples have two modes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.granularity import counted, granularity_of_ordered, most_granularities
from halftrip.stats.median import median_of_ordered
from halftrip.stats.quantile import Floats, Samples, quantiles_of_ordered

Places = npt.NDArray[np.intp]

_FEWEST = 20
# At most this many quantiles stand for all samples.
_POINTS = 1000
# The dip of samples with one mode exceeds this over the square root of their number in less than
# 1 % of cases, whatever their distribution (simulated: 0.65 for the uniform distribution,
# the worst; 0.46 at most for normal, lognormal and gamma; 0.54 for an autocorrelation of 0.9).
_CRITICAL = 0.65
# A smaller dip is ignored, however many samples show it: a mode of 2 % of the samples makes no
# larger one.
_LEAST_DIP = 0.01
# Each mode holds at least this share of the samples, ...
_LEAST_SHARE = 0.05
# ... and they differ by this share of the median.
LEAST_DISTANCE = 0.05
# Beforehand, samples are cut at so many places, evenly spread.
_CUTS = 33
# What excludes modes beforehand does so by this margin, for rounding.
_SURELY = 1 - 1e-9
# The less dense mode is denser than the valley between them by this factor.
_LEAST_DEPTH = 1.3


class TwoModes(NamedTuple):
    """Two modes: their medians, in the samples' unit, `low` < `high`, and the shares of all samples
    that they hold; the two shares sum to 1."""

    low: float
    high: float
    low_share: float
    high_share: float


def two_modes(
    samples: Samples, least: float = LEAST_DISTANCE, apart: float = 0.0
) -> TwoModes | None:
    """The two modes of `samples`, shape (n,); None where there is no more than one.

    There are two where the dip (Hartigan and Hartigan, The dip test of unimodality, Annals of
    Statistics 13, 1985) is more than chance gives, each mode holds 5 % of the samples, they differ
    by more than the share `least` of the median and more than `apart`, in the samples' unit, and
    samples are rarer between them. Samples of a coarse clock are spread over its steps first: ties
    would pass for modes.
    """
    return two_modes_of_each(samples[np.newaxis], least, apart)[0]


def two_modes_of_each(
    samples: Samples, least: float = LEAST_DISTANCE, apart: float = 0.0
) -> list[TwoModes | None]:
    """As `two_modes`, of m series of equally many samples, shape (m, n): of short ones numpy takes
    longer to be called than to compute."""
    n = samples.shape[1]
    found: list[TwoModes | None] = [None] * len(samples)
    if n < _FEWEST:
        return found
    ties = samples.copy()
    ties.sort(axis=1)
    far = np.flatnonzero(~_are_near(ties, least, apart)).tolist()
    if not far:
        return found
    # Where no two are equal there is nothing to spread.
    have_ties = (ties[far, 1:] == ties[far, :-1]).any(axis=1).tolist()
    ordered = ties[far].astype(np.float64)
    for row, (place, has_ties) in enumerate(zip(far, have_ties, strict=True)):
        if has_ties:
            ordered[row] = spread_ties(ordered[row], granularity_of_ordered(ties[place]))
    count = min(n, _POINTS)
    points = quantiles_of_ordered(ordered, (np.arange(count) + 0.5) / count)
    valleys, depths = _valleys(points)
    for row in np.flatnonzero(depths >= _LEAST_DEPTH).tolist():
        found[far[row]] = _beside(ordered[row], points[row], float(valleys[row]), least, apart)
    return found


def _beside(
    ordered: Floats, points: Floats, valley: float, least: float, apart: float
) -> TwoModes | None:
    """The two modes of samples, shape (n,), ascending, on both sides of this valley, if they are
    two; `points` stand for all samples."""
    n = ordered.size
    below = int(np.searchsorted(ordered, valley))
    share = below / n
    if not _LEAST_SHARE <= share <= 1 - _LEAST_SHARE:
        return None
    low, high = (median_of_ordered(part) for part in (ordered[:below], ordered[below:]))
    if high - low <= max(least * abs(median_of_ordered(ordered)), apart):
        return None
    # Last, since it takes the longest.
    if not has_dip(points, max(_LEAST_DIP, _CRITICAL / math.sqrt(n))):
        return None
    return TwoModes(low, high, share, 1.0 - share)


def _are_near(ordered: Samples, least: float, apart: float) -> npt.NDArray[np.bool_]:
    """Of which rows, shape (m, n), each ascending, no two modes can be far enough apart, as is told
    without looking for them: wherever a row is cut in two, the medians of both parts are near."""
    n = ordered.shape[1]
    below, above = _around_cuts(n)
    farthest = (ordered[:, above] - ordered[:, below]).max(axis=1).astype(np.float64)
    # Ties are spread over a step.
    steps = most_granularities(ordered)
    middles = np.abs(ordered[:, [(n - 1) // 2, n // 2]].sum(axis=1) / 2)
    far = np.maximum(least * np.maximum(0.0, middles - steps / 2), apart)
    return np.asarray(farthest + steps <= _SURELY * far)


@lru_cache(maxsize=64)
def _around_cuts(n: int) -> tuple[Places, Places]:
    """Where n samples that ascend are cut in two, each part with its least share: from one of some
    cuts to the next, the median of the lower part is no less than the sample at the first place,
    and that of the upper part no more than the one at the second."""
    fewest = max(1, int(_LEAST_SHARE * n))
    cuts = np.linspace(fewest, n - fewest, min(n, _CUTS)).astype(np.intp)
    return (cuts[:-1] - 1) // 2, (n + cuts[1:]) // 2


def spread_ties(ordered: Floats, step: float) -> Floats:
    """`ordered`, shape (n,), ascending, with equal values spread evenly over `step`."""
    _, counts = counted(ordered)
    place = np.arange(ordered.size) - np.repeat(np.cumsum(counts) - counts, counts)
    spread: Floats = ordered + step * ((place + 0.5) / np.repeat(counts, counts) - 0.5)
    return np.sort(spread)


def has_dip(ordered: Floats, least: float) -> bool:
    """Whether the dip of `ordered`, shape (n,), ascending, no two equal, n >= 2, is at least this:
    the largest distance of their distribution function from the nearest one with a single mode."""
    limit = 2 * ordered.size * least
    return _dip(ordered, limit) / (2 * ordered.size) >= least


def _dip(ordered: Floats, limit: float) -> float:
    """The dip in units of 1 / (2 n); or, as soon as it is known on which side of `limit` the dip
    lies, a bound on that side.

    Hartigan (Algorithm AS 217, Applied Statistics 34, 1985): the interval of the mode is narrowed
    until the greatest convex minorant and the least concave majorant of the distribution function
    differ within it by no more than the misfit outside.
    """
    low, high = 0, ordered.size - 1
    worst = 1.0
    while True:
        x = ordered[low : high + 1]
        ranks = np.arange(x.size, dtype=np.float64)
        convex = _minorant(x)
        concave = (x.size - 1 - _minorant(-x[::-1]))[::-1]
        # The distance of the two curves at the corners of each; one more for the step there.
        at_convex = np.interp(x[convex], x[concave], ranks[concave]) - ranks[convex] + 1.0
        at_concave = ranks[concave] - np.interp(x[concave], x[convex], ranks[convex]) + 1.0
        gap = max(float(at_convex.max()), float(at_concave.max()))
        if float(at_convex.max()) > float(at_concave.max()):
            left = int(convex[at_convex.argmax()])
            right = int(concave[np.searchsorted(concave, left)])
        else:
            right = int(concave[at_concave.argmax()])
            left = int(convex[np.searchsorted(convex, right, side="right") - 1])
        if gap <= worst:
            break
        # The dip is never more than the gap, nor less than the misfit outside.
        if gap < _SURELY * limit:
            return max(gap, worst)
        before = x[: left + 1]
        worst = max(
            worst,
            1.0 + float(np.max(ranks[: left + 1] - np.interp(before, x[convex], ranks[convex]))),
        )
        after = x[right:]
        worst = max(
            worst, 1.0 + float(np.max(np.interp(after, x[concave], ranks[concave]) - ranks[right:]))
        )
        if (left, right) == (0, x.size - 1):
            break
        low, high = low + left, low + right
    return worst


def _minorant(x: Floats) -> npt.NDArray[np.intp]:
    """The corners of the greatest convex minorant of the points (x[i], i), as indices.

    A point that is not below the line between two others is no corner; all such points beside their
    neighbours are dropped at once, again and again until none is left. Few rounds do, each of fewer
    points.
    """
    places = np.arange(x.size)
    while places.size > 2:
        # As np.diff, which takes three times as long for a few values.
        corners = x[places]
        right, up = corners[1:] - corners[:-1], places[1:] - places[:-1]
        # The slope on its left is less steep than that on its right.
        is_corner = up[:-1] * right[1:] < up[1:] * right[:-1]
        if is_corner.all():
            break
        places = places[np.concatenate(([True], is_corner, [True]))]
    return places


def _valleys(points: Floats) -> tuple[Floats, Floats]:
    """The deepest valley of each row, shape (m,), and its depth: the densest places on either side
    are denser than the valley by at least this factor; 0 where there is no room for a valley.

    `points` has shape (m, k), each row ascending: quantiles that stand for the samples. The density
    comes from the width of a fixed number of neighbours (Loftsgaarden and Quesenberry, Annals of
    Mathematical Statistics 36, 1965).
    """
    m, k = points.shape
    neighbours = max(3, k // 40)
    widths = points[:, neighbours:] - points[:, :-neighbours]
    edge = max(1, int(_LEAST_SHARE * k) - neighbours // 2)
    if widths.shape[1] <= 2 * edge:
        return np.zeros(m), np.zeros(m)
    # The width of the densest place on either side, beside the width here.
    left = np.minimum.accumulate(widths, axis=1)
    right = np.minimum.accumulate(widths[:, ::-1], axis=1)[:, ::-1]
    peaks = np.maximum(left, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        depths = np.nan_to_num(widths / peaks, nan=1.0, posinf=np.inf)[:, edge:-edge]
    rows, deepest = np.arange(m), np.argmax(depths, axis=1)
    # The valley is in the widest gap between these neighbours.
    inside = points[
        rows[:, np.newaxis], (edge + deepest)[:, np.newaxis] + np.arange(neighbours + 1)
    ]
    gap = np.argmax(inside[:, 1:] - inside[:, :-1], axis=1)
    depth = np.where(widths.min(axis=1) < 0, 0.0, depths[rows, deepest])
    return (inside[rows, gap] + inside[rows, gap + 1]) / 2, depth
