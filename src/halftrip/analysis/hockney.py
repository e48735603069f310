"""Hockney's model of a curve, t = s + n / B: Hockney, The Communication Challenge for MPP: Intel
Paragon and Meiko CS-2, Parallel Computing 20, 1994. One straight line for all sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.fitted import Line
from halftrip.stats.curve_times import CurveTimes, Draws, clipped
from halftrip.stats.estimate import Estimate
from halftrip.stats.line_fit import (
    FittedLine,
    fit_line,
    lines_through,
    relative_weights,
    robust_weights,
)
from halftrip.stats.median import median
from halftrip.stats.quantile import NORMAL_95, Floats

Method = Literal["ordinary", "relative", "robust"]
METHODS: tuple[Method, ...] = ("ordinary", "relative", "robust")
# A line that is further off than this share of a time, and this many times its standard deviation,
# does not describe it.
FAR = 0.1
_DEVIATIONS = 4.0


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
    line: Line
    n_half: Estimate
    worst: Residual
    typical: float
    unfit: str | None
    by_launch: tuple[tuple[float, float], ...] = ()


_UNKNOWN = Estimate(math.nan)
_NONE = Hockney(
    "robust",
    Line(_UNKNOWN, _UNKNOWN),
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
        Line(*(found if method == "ordinary" else map(clipped, found))),
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
    far = np.abs(residuals) > np.maximum(FAR, _noise(times, weights))
    if not np.any(far):
        return None
    count = int(np.count_nonzero(far))
    return f"off by more than {100 * FAR:.0f} % at {count} of {residuals.size} sizes"


def _noise(times: CurveTimes, weights: Floats) -> Floats:
    """How far points may be from a line that describes the curve, relative to their times, shape
    (n,): by the steps of the clock, and by their own intervals, or by how far the distances of each
    launch from its own line spread: what all sizes of a launch have in common moves its line, not
    the distances."""
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
