"""The models of the curves of a run: straight lines through all sizes, and straight pieces with the
bends between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.curves import MeasuredCurve, curves
from halftrip.analysis.flags.flag import percent
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.curve_times import CurveTimes, Draws, Over, clipped, draws
from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.estimate import Estimate, inverse
from halftrip.stats.line_fit import (
    FittedLine,
    fit_line,
    lines_through,
    relative_weights,
    robust_weights,
)
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.segmented import Segmented, segmented

BendKind = Literal["jump", "slope"]


class StraightLine(NamedTuple):
    """Time one way = start + per_byte x size: `start` in ns, `per_byte` in ns per byte, each with
    its 95 % interval. Of a piece that is steeper than those before it, `start` may be below 0."""

    start: Estimate
    per_byte: Estimate

    @property
    def bandwidth(self) -> Estimate:
        """The bandwidth of long messages, bytes per second: 1 / `per_byte`."""
        return inverse(1e9, self.per_byte)

    def at(self, size: float) -> float:
        """The time of a message of that size, ns."""
        return self.start.value + self.per_byte.value * size


class Piece(NamedTuple):
    """A straight piece of a curve: its line, and the first and the last measured size on it,
    bytes."""

    first: int
    last: int
    line: StraightLine


class Bend(NamedTuple):
    """Where one piece ends and the next begins: sizes up to `low` are on the one, from `high` on on
    the other, bytes; at about 95 %, the true place is between them.

    A jump's `step` is the time just above it relative to that just below it, 1.25 for a quarter
    more. A change of slope has no step; its `step` is the ratio of the times per byte.
    """

    low: int
    high: int
    kind: BendKind
    step: Estimate


class Pieces(NamedTuple):
    """A curve as straight pieces, ascending, and the bends between them, one fewer. `outliers` are
    sizes whose time is on no piece. `unclear` says of a curve without a bend why it may have one
    nevertheless; None where it is straight."""

    pieces: tuple[Piece, ...]
    bends: tuple[Bend, ...]
    outliers: tuple[int, ...]
    unclear: str | None = None


class PiecewiseFit(NamedTuple):
    """The pieces of one curve of a run. `curve` is its configuration with a size of 0. `found` is
    None where the curve cannot be fitted, and `reason` says why and what to measure. `measured` is
    the curve itself."""

    curve: Configuration
    over: Over | None
    found: Pieces | None
    reason: str | None = None
    measured: MeasuredCurve | None = None


Method = Literal["ordinary", "relative", "robust"]
# A line does not describe a time from which it is further off than this share, and than this many
# standard deviations of the time.
_FAR = 0.1
_DEVIATIONS = 4.0
# Two lines through fewer sizes would fit by themselves.
_FEWEST_FOR_BEND = 4


class Residual(NamedTuple):
    """How far a point is from the line: the measured time less the line's, relative to the measured
    one, at `size` bytes."""

    size: int
    share: float


class Hockney(NamedTuple):
    """A line through a curve: its start-up time and time per byte, ns; `n_half`, bytes; by how much
    it is off at `worst`, and by how much, as a share, at half of the points (`typical`).

    `unfit` says why the line does not describe the curve; None where it does. That of ordinary
    least squares may start below 0; the others are not negative. `by_launch` has the start-up
    time, ns, and the time per byte, ns, of the line of each launch, where there are several."""

    method: Method
    line: StraightLine
    n_half: Estimate
    worst: Residual
    typical: float
    unfit: str | None
    by_launch: tuple[tuple[float, float], ...] = ()


_UNKNOWN = Estimate(math.nan)
_NONE = Hockney(
    "robust",
    StraightLine(_UNKNOWN, _UNKNOWN),
    _UNKNOWN,
    Residual(0, math.nan),
    math.nan,
    "it does not converge",
)


def hockney(times: CurveTimes, drawn: Draws | None) -> list[Hockney]:
    """The lines of all methods; one that does not converge has no figures. `drawn` are draws of the
    times, as `curve_times.draws` makes them."""
    weights: dict[Method, Floats | None] = {
        "ordinary": np.ones_like(times.sizes),
        "relative": relative_weights(times),
        "robust": robust_weights(times),
    }
    return [
        _NONE if each is None else _fitted(method, times, each, drawn)
        for method, each in weights.items()
    ]


def _fitted(method: Method, times: CurveTimes, weights: Floats, drawn: Draws | None) -> Hockney:
    line = fit_line(times, weights, drawn, "none" if method == "ordinary" else "both")
    residuals = (times.times - line.start - line.per_byte * times.sizes) / times.times
    place = int(np.argmax(np.abs(residuals)))
    worst = Residual(int(times.sizes[place]), float(residuals[place]))
    by_launch = _by_launch(times, weights) if method == "ordinary" else ()
    found = line.start_estimate(), line.per_byte_estimate()
    return Hockney(
        method,
        StraightLine(*(found if method == "ordinary" else map(clipped, found))),
        line.n_half(),
        worst,
        median(np.abs(residuals)),
        _unfit(line, times, weights, residuals, by_launch),
        by_launch,
    )


def _unfit(
    line: FittedLine,
    times: CurveTimes,
    weights: Floats,
    residuals: Floats,
    by_launch: Sequence[tuple[float, float]],
) -> str | None:
    below = [start for start, _ in by_launch if start < 0]
    if line.start < 0 or below:
        where = f" in {len(below)} of {len(by_launch)} launches" if line.start >= 0 else ""
        return f"an empty message would take less than no time{where}"
    far = np.abs(residuals) > np.maximum(_FAR, _noise(times, weights))
    if not np.any(far):
        return None
    count = int(np.count_nonzero(far))
    return f"off by more than {100 * _FAR:.0f} % at {count} of {residuals.size} sizes"


def _noise(times: CurveTimes, weights: Floats) -> Floats:
    """How far points may be from a line that describes the curve, relative to their times, shape
    (n,): as far as the clock's step, and as their own intervals allow. With several launches,
    instead of the intervals, as far as the distances from each launch's own line spread: what all
    sizes of a launch have in common moves its line, not the distances."""
    steps = times.step / times.times
    if times.over == "residuals":
        return steps
    if times.over == "slices":
        spreads = np.where(np.isfinite(times.spreads), times.spreads, 0.0)
        return np.maximum(steps, _DEVIATIONS / NORMAL_95 * spreads)
    rows = np.array(times.repeats).T
    lines = lines_through(times.sizes, weights, rows)
    distances = rows - lines[:, :1] - lines[:, 1:] * times.sizes
    errors = distances.std(axis=0, ddof=1) / math.sqrt(rows.shape[0])
    noise: Floats = np.maximum(steps, _DEVIATIONS * errors / times.times)
    return noise


def _by_launch(times: CurveTimes, weights: Floats) -> tuple[tuple[float, float], ...]:
    if times.over != "launches":
        return ()
    lines = lines_through(times.sizes, weights, np.array(times.repeats).T)
    return tuple((start, per_byte) for start, per_byte in lines.tolist())


def piecewise_fits(
    run: Run, has: Callable[[Configuration], bool] = lambda _: True
) -> list[PiecewiseFit]:
    """The pieces of each curve of a run that `has` selects, in the order of the run."""
    return [piecewise_fit(curve) for curve in curves(run, has)]


def piecewise_fit(curve: MeasuredCurve) -> PiecewiseFit:
    """The pieces of a curve."""
    if curve.times is None:
        return PiecewiseFit(curve.configuration, None, None, curve.reason)
    return PiecewiseFit(
        curve.configuration,
        curve.times.over,
        found_pieces(curve.times, draws(curve.times)),
        measured=curve,
    )


def found_pieces(times: CurveTimes, drawn: Draws | None) -> Pieces:
    """The pieces that a curve supports; `drawn` are draws of its times, as `curve_times.draws`
    makes them."""
    found = segmented(times, drawn)
    return Pieces(
        tuple(
            Piece(int(sizes[0]), int(sizes[-1]), as_line(each.line))
            for each in found.segments
            for sizes in [found.curve.sizes[each.first : each.end]]
        ),
        tuple(_bends(found)),
        tuple(map(int, found.outliers)),
        None if found.changes else _unclear(found),
    )


def _unclear(found: Segmented) -> str | None:
    """Why it cannot be told whether a curve of one piece bends; None where it is straight."""
    curve, (piece,) = found.curve, found.segments
    fitted = piece.line.start + piece.line.per_byte * curve.sizes
    off = float(np.max(np.abs(1.0 - fitted / curve.times)))
    if off > _FAR:
        return f"sizes are off one line by up to {percent(off)}"
    if curve.sizes.size < _FEWEST_FOR_BEND:
        return f"{curve.sizes.size} sizes are too few"
    return None


def _bends(found: Segmented) -> Sequence[Bend]:
    return [
        Bend(int(each.low), int(each.high), "jump" if each.is_jump else "slope", each.step)
        for each in found.changes
    ]


def as_line(line: FittedLine) -> StraightLine:
    return StraightLine(line.start_estimate(), clipped(line.per_byte_estimate()))


class CurveFit(NamedTuple):
    """A curve, the straight lines through it, by method, and the pieces that it consists of;
    without both where it cannot be fitted, as `curve.reason` says."""

    curve: MeasuredCurve
    lines: Sequence[Hockney] = ()
    pieces: Pieces | None = None

    @property
    def configuration(self) -> Configuration:
        return self.curve.configuration


def fits(run: Run, has: Callable[[Configuration], bool] = lambda _: True) -> list[CurveFit]:
    """The fits of all curves of a run that `has` selects, in its order."""
    return [fit(curve) for curve in curves(run, has)]


def fit(curve: MeasuredCurve) -> CurveFit:
    """The fits of a curve."""
    if curve.times is None:
        return CurveFit(curve)
    drawn = draws(curve.times)
    return CurveFit(curve, hockney(curve.times, drawn), found_pieces(curve.times, drawn))
