"""The pieces of the curves of a run, in bytes and ns, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.analysis.curves import Curve, curves
from halftrip.analysis.fitted import Bend, Line, Piece, Pieces, PiecewiseFit
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.curve_times import CurveTimes, Draws, clipped, draws
from halftrip.stats.line_fit import FittedLine
from halftrip.stats.segmented import Segmented, segmented


def piecewise_fits(
    run: Run, has: Callable[[Configuration], bool] = lambda _: True
) -> list[PiecewiseFit]:
    """The pieces of each curve of a run that `has` selects, in the order of the run."""
    return [piecewise_fit(curve) for curve in curves(run, has)]


def piecewise_fit(curve: Curve) -> PiecewiseFit:
    """The pieces of a curve."""
    if curve.times is None:
        return PiecewiseFit(curve.configuration, None, None, curve.reason)
    return PiecewiseFit(
        curve.configuration, curve.times.over, found_pieces(curve.times, draws(curve.times))
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
    )


def _bends(found: Segmented) -> Sequence[Bend]:
    return [
        Bend(int(each.low), int(each.high), "jump" if each.is_jump else "slope", each.step)
        for each in found.changes
    ]


def as_line(line: FittedLine) -> Line:
    return Line(line.start_estimate(), clipped(line.per_byte_estimate()))
