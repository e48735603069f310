"""The breakpoints of a curve of time over size: where it bends or jumps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from halftrip.stats.piecewise import CurvePoint, joints, usable


class Breakpoint(NamedTuple):
    """Sizes in bytes: at `low` the curve is still on the piece before, at `high` on the one
    after."""

    low: int
    high: int


def breakpoints(points: Iterable[CurvePoint]) -> tuple[Breakpoint, ...]:
    """Where the curve through `points` bends or jumps, ascending.

    A jump lies between two neighbouring points. A change of slope is known as well as the noise
    allows: its interval, at about 95 %, may span many points.
    """
    curve = usable(points)
    return tuple(
        Breakpoint(curve[joint.low].size, curve[joint.high].size) for joint in joints(curve)
    )
