"""All models of the curves of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.curves import Curve, curves
from halftrip.analysis.fitted import Pieces
from halftrip.analysis.hockney import Hockney, hockney
from halftrip.analysis.piecewise_fits import found_pieces
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.curve_times import draws


class CurveFit(NamedTuple):
    """A curve, the straight lines through it, by method, and the pieces that it consists of;
    without both where it cannot be fitted, as `curve.reason` says."""

    curve: Curve
    lines: Sequence[Hockney] = ()
    pieces: Pieces | None = None

    @property
    def configuration(self) -> Configuration:
        return self.curve.configuration


def fits(run: Run, has: Callable[[Configuration], bool] = lambda _: True) -> list[CurveFit]:
    """The fits of all curves of a run that `has` selects, in its order."""
    return [fit(curve) for curve in curves(run, has)]


def fit(curve: Curve) -> CurveFit:
    """The fits of a curve."""
    if curve.times is None:
        return CurveFit(curve)
    drawn = draws(curve.times)
    return CurveFit(curve, hockney(curve.times, drawn), found_pieces(curve.times, drawn))
