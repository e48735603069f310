"""A curve of time over size as straight pieces, each with its line, and what is between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.stats.curve_times import CurveTimes, Draws, estimate
from halftrip.stats.distributions import NORMAL_50, NORMAL_95
from halftrip.stats.estimate import Estimate
from halftrip.stats.line_fit import FittedLine, fit_line
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.piecewise import (
    PIECE_COST,
    Joint,
    deviations,
    joints_of,
    pieces,
)
from halftrip.stats.quantile import Floats

# At most this share of the points is left out as off every line: more are no exceptions.
_MOST_OUTLIERS = 0.2
# Among so many points, bends are few enough that the other points tell the scatter.
_FEWEST_FOR_SCATTER = 12
# The price of a point on no piece, which has one parameter less than a line (see PIECE_COST).
_OUTLIER_COST = 16.0
# Of times that were measured once, a piece is short if others are longer by this factor; so many
# pieces in a row may be a single one, which something disturbed.
_SHORT = 10
_MOST_IN_A_ROW = 8
# The price of a disturbed point: of 1,000 sizes, a tenth of which is disturbed, four in a row are
# by chance in one sweep of ten, and cost less than two more pieces.
_DISTURBED_COST = 12.0
# Steps are told apart from noise from this share of the time on: no curve is straighter (see
# piecewise.STRAIGHTNESS), and at least twice that is needed to tell two lines apart.
_LEAST_STEP = 0.02


class FittedPiece(NamedTuple):
    """The points with the indices `first` to `end` - 1 of a curve, and the line through them."""

    first: int
    end: int
    line: FittedLine


class Transition(NamedTuple):
    """What lies between two pieces: `low` is the largest size, bytes, that is on the first at any
    rate, and `high` the smallest that is on the second. `is_jump`: the pieces do not meet between
    them; `step` is then the time on the second relative to that on the first there, else the ratio
    of their times per byte."""

    low: float
    high: float
    is_jump: bool
    step: Estimate


class Segmented(NamedTuple):
    """The straight pieces of `curve`, ascending, and the changes between them, one fewer. `curve`
    is without `outliers`, the sizes (bytes) of points that are on no piece."""

    curve: CurveTimes
    segments: list[FittedPiece]
    changes: list[Transition]
    outliers: list[float]


def segmented(curve: CurveTimes, drawn: Draws | None) -> Segmented:
    """The pieces that a curve of n >= 3 points supports; `drawn` are draws of its times, as `draws`
    makes them.

    No jump is smaller than the step of the clock, which puts the times of neighbouring sizes on a
    staircase.
    """
    kept, starts, joints = _without_outliers(curve)
    outliers = np.setdiff1d(curve.sizes, curve.sizes[kept])
    curve = curve.part(kept.tolist())
    weights = _weights(curve)
    if drawn is not None and outliers.size:
        drawn = drawn.part(kept.tolist())
    while True:
        segments = _segments(curve, weights, drawn, starts)
        changes = [
            _change(curve, joint, *pair)
            for joint, pair in zip(joints, pairwise(segments), strict=True)
        ]
        smallest = _below_step(curve, segments, changes)
        if smallest is None:
            return Segmented(curve, segments, changes, outliers.tolist())
        starts = [*starts[: smallest + 1], *starts[smallest + 2 :]]
        joints = [*joints[:smallest], *joints[smallest + 1 :]]


def _without_outliers(
    curve: CurveTimes,
) -> tuple[npt.NDArray[np.intp], list[int], list[Joint]]:
    """The indices of the points that are on pieces of several points, where these begin, and the
    joints between them. A piece of a single point says nothing about a line; nor do a few that were
    measured once each, after which the line goes on."""
    kept = np.arange(curve.sizes.size)
    left = int(_MOST_OUTLIERS * kept.size)
    while True:
        part = curve.part(kept.tolist())
        weights = _weights(part)
        starts = pieces(part.sizes, part.times, weights, _OUTLIER_COST, rising=True)
        single = [first for first, end in pairwise([*starts, kept.size]) if end - first == 1]
        single = single or _disturbed(part, weights, starts)
        if not single or len(single) > left or kept.size - len(single) < 3:
            return kept, starts, joints_of(part.sizes, part.times, weights, starts, rising=True)
        left -= len(single)
        kept = np.delete(kept, single)


def _disturbed(part: CurveTimes, weights: Floats, starts: Sequence[int]) -> list[int]:
    """Points that cost less on no piece than the pieces that they make: those off the line through
    the long ones of some pieces in a row, where one line instead of all of these is cheaper. Where
    times were repeated there are none, as a disturbance does not last over several slices."""
    if not _have_few_repeats(part):
        return []
    bounds = [*pairwise([*starts, part.sizes.size])]
    costs = [_Line(part, weights, np.arange(*each)).error + PIECE_COST for each in bounds]
    found: list[int] = []
    free = 0
    for number, count in itertools.product(range(len(bounds)), range(2, _MOST_IN_A_ROW + 1)):
        if number < free or number + count > len(bounds):
            continue
        row = [np.arange(*each) for each in bounds[number : number + count]]
        least = max(map(len, row)) / _SHORT
        short = [each for each in row if len(each) <= least]
        if not short:
            continue
        inside = np.concatenate(short)
        line = _Line(part, weights, np.concatenate([each for each in row if len(each) > least]))
        off = weights[inside] * (part.times[inside] - line.at(part.sizes[inside])) ** 2
        cost = line.error + PIECE_COST + float(np.minimum(off, _DISTURBED_COST).sum())
        if cost < sum(costs[number : number + count]):
            found += inside[off > _DISTURBED_COST].tolist()
            free = number + count
    return found


class _Line:
    """The line through the points with these indices, and by how much they are off it, in squared
    standard deviations."""

    def __init__(self, part: CurveTimes, weights: Floats, points: npt.NDArray[np.intp]) -> None:
        sizes, times, own = part.sizes[points], part.times[points], weights[points]
        self._middle = np.average(sizes, weights=own), np.average(times, weights=own)
        x, y = sizes - self._middle[0], times - self._middle[1]
        square = float(own @ (x * x))
        # No line falls.
        self._slope = max(float(own @ (x * y)) / square, 0.0) if square else 0.0
        self.error = float(own @ (y - self._slope * x) ** 2)

    def at(self, sizes: Floats) -> Floats:
        times: Floats = self._middle[1] + self._slope * (sizes - self._middle[0])
        return times


def _weights(curve: CurveTimes) -> Floats:
    """The weights, shape (n,), of squared distances from a piece. Of many points that were measured
    a few times each, all together tell how well each is known, and how they scatter about the
    curve: of two or three times, some agree by chance. Where the clock has steps, a time is not
    known better than by one."""
    spreads = curve.spreads
    if curve.sizes.size >= _FEWEST_FOR_SCATTER and _have_few_repeats(curve):
        spreads = _pooled_spreads(curve)
    if curve.step:
        spreads = np.fmax(spreads, NORMAL_95 * curve.step / curve.times)
    return deviations(curve.sizes, curve.times, spreads) ** -2


def _have_few_repeats(curve: CurveTimes) -> bool:
    """Whether most times were repeated less often than an interval without a distribution takes."""
    return median([len(each) for each in curve.repeats] or [1]) < FEWEST_FOR_INTERVAL


def _pooled_spreads(curve: CurveTimes) -> Floats:
    """The half widths of the 95 % intervals of the times, relative to them, shape (n,), if repeats
    vary alike at all sizes; 0 where no size was measured more than once. A repeat of 0, which
    the clock cannot tell, says nothing.

    The deviation is robust: one repeat in many was disturbed. What all sizes of a launch have in
    common is no distance from a line.
    """
    logarithms = [
        np.log(each) - np.log(each).mean()
        for each in curve.repeats
        if len(each) > 1 and each.min() > 0
    ]
    if not logarithms:
        return np.zeros_like(curve.times)
    counts = np.array([len(each) for each in curve.repeats])
    if curve.over == "launches":
        launches = np.array(logarithms)
        logarithms = list(launches - np.median(launches, axis=0))
    # Each is of the variance of a repeat, whatever their number.
    off = [each * math.sqrt(each.size / (each.size - 1)) for each in logarithms]
    deviation = median(np.abs(np.concatenate(off))) / NORMAL_50
    spreads: Floats = NORMAL_95 * deviation / np.sqrt(counts)
    return spreads


def _segments(
    curve: CurveTimes, weights: Floats, drawn: Draws | None, starts: Sequence[int]
) -> list[FittedPiece]:
    found = []
    for first, end in pairwise([*starts, curve.sizes.size]):
        part = None if drawn is None else drawn.part(slice(first, end))
        line = fit_line(curve.part(range(first, end)), weights[first:end], part, "slope")
        found.append(FittedPiece(first, end, line))
    return found


def _change(curve: CurveTimes, joint: Joint, before: FittedPiece, after: FittedPiece) -> Transition:
    low, high = float(curve.sizes[joint.low]), float(curve.sizes[joint.high])
    steps = [_step(before.line, after.line, size) for size in (low, _middle(low, high), high)]
    at_low, middle, at_high = steps
    # Where both ends are apart from 1 to the same side, the lines do not cross in between.
    is_jump = all(each.low > 1.0 + _LEAST_STEP / 2 for each in (at_low, at_high)) or all(
        each.high < 1.0 - _LEAST_STEP / 2 for each in (at_low, at_high)
    )
    if is_jump or (math.isnan(middle.low) and _same_side(at_low, at_high)):
        return Transition(low, high, True, middle)
    return Transition(low, high, False, _ratio_of_slopes(before.line, after.line))


def _same_side(one: Estimate, other: Estimate) -> bool:
    """Whether two steps without intervals are both up, or both down, by more than noise."""
    least = min(abs(one.value - 1.0), abs(other.value - 1.0))
    return (one.value > 1.0) is (other.value > 1.0) and least > _LEAST_STEP


def _middle(low: float, high: float) -> float:
    return math.sqrt(low * high)


def _step(before: FittedLine, after: FittedLine, size: float) -> Estimate:
    """The time of a message of this size on the second line, relative to that on the first."""
    base = before.at(size)
    if not base > 0:
        return Estimate(math.nan)
    value = after.at(size) / base
    drawn_before, drawn_after = before.drawn_at(size), after.drawn_at(size)
    if drawn_before is None or drawn_after is None:
        return Estimate(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return estimate(value, drawn_after / drawn_before, min(*before.dof, *after.dof))


def _ratio_of_slopes(before: FittedLine, after: FittedLine) -> Estimate:
    if not before.per_byte > 0:
        return Estimate(math.nan)
    value = after.per_byte / before.per_byte
    if before.drawn is None or after.drawn is None:
        return Estimate(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = after.drawn[:, 1] / before.drawn[:, 1]
    return estimate(value, drawn, min(before.dof[1], after.dof[1]))


def _below_step(
    curve: CurveTimes, segments: Sequence[FittedPiece], changes: Sequence[Transition]
) -> int | None:
    """The index of the jump that is the furthest below the step of the clock; None where none
    is."""
    steps = [
        abs(after.line.at(change.high) - before.line.at(change.high))
        for change, (before, after) in zip(changes, pairwise(segments), strict=True)
    ]
    below = [
        (step, index)
        for index, (step, change) in enumerate(zip(steps, changes, strict=True))
        if change.is_jump and step < curve.step
    ]
    return min(below)[1] if below else None
