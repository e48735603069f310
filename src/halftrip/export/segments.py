"""The pieces of a curve as a network simulator needs them: without a gap, and with a time for every
size."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

from halftrip.analysis.fit import Bend, Piece, Pieces

# Simulators read sizes and other whole numbers as an int of C.
LARGEST = 2**31 - 1
# A message has a header as well.
_LARGEST_SIZE = LARGEST - 64


class Segment(NamedTuple):
    """A part of a curve: the time of a message is start + per_byte x size, ns, for all sizes
    greater than `above`, -1 in the first, and up to `up_to`, bytes; the last has no such end."""

    above: int
    up_to: int | None
    start: float
    per_byte: float

    def at(self, size: float) -> float:
        """The time of a message of that size, ns."""
        return self.start + self.per_byte * size

    @property
    def shortest(self) -> int:
        """The smallest size, bytes."""
        return self.above + 1


def problem(pieces: Pieces) -> str | None:
    """Why no simulator can have these pieces, and what to do; None: it can."""
    for segment, piece in zip(segments(pieces), pieces.pieces, strict=True):
        sizes = f"{piece.first} to {piece.last} B"
        if segment.above < 0 and segment.start < 0:
            return f"from {sizes} an empty message takes less than no time: measure smaller sizes"
        if not segment.at(segment.shortest) >= 0:
            return f"from {sizes} a message takes less than no time: measure more sizes there"
        if piece.line.per_byte.value < 0:
            return f"from {sizes} longer messages are faster: measure longer, or more sizes there"
    last = pieces.pieces[-1]
    if last.line.per_byte.value == 0:
        return (
            f"from {last.first} B on the time does not grow with the size, so that there is no "
            "bandwidth: measure larger sizes"
        )
    if last.first > _LARGEST_SIZE:
        return "a simulator has no sizes from 2 GiB on: leave them out, as with -s 1..1G"
    return None


def segments(pieces: Pieces) -> tuple[Segment, ...]:
    """The parts of a curve, ascending, without a gap; each piece has all its sizes."""
    ends = [
        _end(*pair, bend) for pair, bend in zip(pairwise(pieces.pieces), pieces.bends, strict=True)
    ]
    return tuple(
        Segment(above, up_to, piece.line.start.value, piece.line.per_byte.value)
        for above, up_to, piece in zip([-1, *ends], [*ends, None], pieces.pieces, strict=True)
    )


def _end(piece: Piece, following: Piece, bend: Bend) -> int:
    """The largest size on a piece: at a jump, as at an eager limit, the last one that was measured
    on it; elsewhere that between both pieces where their lines are closest."""
    steeper = following.line.per_byte.value - piece.line.per_byte.value
    if bend.kind == "jump" or steeper == 0:
        return piece.last
    meet = (piece.line.start.value - following.line.start.value) / steeper
    return math.floor(min(max(meet, piece.last), following.first - 1))


def eager_limit(pieces: Pieces) -> int | None:
    """The largest size that is sent eagerly, bytes, as far as a curve shows it: the last before the
    first jump to longer times, where an MPI begins to ask the receiver first; None without one."""
    ends = [each.up_to for each in segments(pieces)]
    for bend, end in zip(pieces.bends, ends, strict=False):
        if bend.kind == "jump" and bend.step.value > 1:
            return end
    return None
