"""What a fit of a curve of time over size has found: lines, pieces of lines, and bends."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate

BendKind = Literal["jump", "slope"]


class Line(NamedTuple):
    """Time one way = start + per_byte x size: `start` in ns, `per_byte` in ns per byte, each with
    its 95 % interval. Of a piece that is steeper than those before it, `start` may be below 0."""

    start: Estimate
    per_byte: Estimate

    @property
    def bandwidth(self) -> Estimate:
        """The bandwidth of long messages, bytes per second: 1 / `per_byte`, infinite where a byte
        takes no time; a time per byte that may be 0 bounds it from below only."""
        value, high, low = (
            math.nan if math.isnan(each) else 1e9 / each if each > 0 else math.inf
            for each in self.per_byte
        )
        return Estimate(value, low, high)

    def at(self, size: float) -> float:
        """The time of a message of that size, ns."""
        return self.start.value + self.per_byte.value * size


class Piece(NamedTuple):
    """A straight piece of a curve: its line, and the first and the last measured size on it,
    bytes."""

    first: int
    last: int
    line: Line


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
    sizes whose time is on no piece."""

    pieces: tuple[Piece, ...]
    bends: tuple[Bend, ...]
    outliers: tuple[int, ...]


class PiecewiseFit(NamedTuple):
    """The pieces of one curve of a run. `curve` is its configuration with a size of 0. `found` is
    None where the curve cannot be fitted, and `reason` says why and what to measure."""

    curve: Configuration
    over: Over | None
    found: Pieces | None
    reason: str | None = None
