"""The curve of a run that a network simulator is given: one, as it has one model for all pairs, and
its pieces without a gap, with a time for every size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, NoReturn

from halftrip.analysis.fit import Bend, Piece, Pieces, PiecewiseFit, piecewise_fits
from halftrip.errors import UsageError
from halftrip.export.names import row_name
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ROUND_TRIP
from halftrip.texts import printable
from halftrip.units import format_size

# So many choices are named; there may be thousands of pairs.
_MOST_NAMED = 4
# Simulators read sizes and other whole numbers as an int of C.
LARGEST = 2**31 - 1
# A message has a header as well.
_LARGEST_SIZE = LARGEST - 64


class FittedCurve(NamedTuple):
    """The pieces of one curve of times one way; `curve` is its configuration with a size of 0."""

    curve: Configuration
    pieces: Pieces


def fitted_curve(document: Document, to: str) -> FittedCurve:
    """The only ping-pong among the rows of a document, as the format `to` needs it. Raises
    UsageError where there is none, where there are several, where it cannot be fitted, and where no
    simulator can have it."""
    found = _ping_pongs(document)
    if not found:
        raise UsageError(
            f"--to {to}: no row is a ping-pong, whose half is the time of a message; "
            f"measure one: halftrip run -p {ROUND_TRIP}"
        )
    if len(found) > 1:
        raise UsageError(f"--to {to} is of one curve, and there are {len(found)}; {_choice(found)}")
    fit = fit_of(document, found[0])
    if fit.found is None:
        refuse(to, fit.curve, fit.reason or "no line fits its times")
    trouble = problem(fit.found)
    if trouble is not None:
        refuse(to, fit.curve, trouble)
    return FittedCurve(fit.curve, fit.found)


def refuse(to: str, curve: Configuration, reason: str) -> NoReturn:
    """Raises UsageError: the format `to` cannot have this curve."""
    raise UsageError(f"--to {to}: {row_name(curve, with_size=False)}: {reason}")


def fit_of(document: Document, curve: Configuration) -> PiecewiseFit:
    """The fit of a curve that rows of a document are on, to these rows alone."""
    on_it = {row.configuration for row in document.rows if row.configuration.curve == curve}
    (fit,) = piecewise_fits(document.run, on_it.__contains__)
    return fit


def _ping_pongs(document: Document) -> list[Configuration]:
    """The curves whose half is the time of a message one way."""
    curves = dict.fromkeys(row.configuration.curve for row in document.rows)
    return [curve for curve in curves if curve.is_in_turn and not curve.delay]


def described(document: Document, found: FittedCurve) -> Iterator[str]:
    """The curve, its ranks, and when it was measured, as far as these are known."""
    yield row_name(found.curve, with_size=False)
    yield " and ".join(map(document.run.names.rank, found.curve.pair))
    if document.run.measured is not None:
        yield document.run.measured
    doubtful = sum(
        row.verdict.word == "no" for row in document.rows if row.configuration.curve == found.curve
    )
    if doubtful:
        yield f"{doubtful} of its sizes with the verdict no"


def _choice(curves: Sequence[Configuration]) -> str:
    """How to choose one of several, in the words of the options."""
    transports = list(dict.fromkeys(curve.transport for curve in curves))
    if len(transports) > 1:
        return f"choose one: -t {_named(transports)}"
    pairs = list(dict.fromkeys("-".join(map(str, curve.pair)) for curve in curves))
    if len(pairs) > 1:
        return f"choose one: --pair {_named(pairs)}"
    names = [row_name(curve, with_size=False) for curve in curves]
    return f"measure one of them by itself: {_named(names)}"


def _named(names: Sequence[str]) -> str:
    more = f" or {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return printable(", ".join(names[:_MOST_NAMED]) + more)


# Its pieces.


class SimulatorSegment(NamedTuple):
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
            said = f"from {sizes} longer messages are faster: measure longer, or more sizes there"
            if piece is pieces.pieces[0] and len(pieces.pieces) > 1:
                ends = pieces.pieces[1].first, pieces.pieces[-1].last
                said += f", or leave these out: -s {'..'.join(map(format_size, ends))}"
            return said
    last = pieces.pieces[-1]
    if last.line.per_byte.value == 0:
        return (
            f"from {last.first} B on the time does not grow with the size, so that there is no "
            "bandwidth: measure larger sizes"
        )
    if last.first > _LARGEST_SIZE:
        return "a simulator has no sizes from 2 GiB on: leave them out, as with -s 1..1G"
    return None


def segments(pieces: Pieces) -> tuple[SimulatorSegment, ...]:
    """The parts of a curve, ascending, without a gap; each piece has all its sizes."""
    ends = [
        _end(*pair, bend) for pair, bend in zip(pairwise(pieces.pieces), pieces.bends, strict=True)
    ]
    return tuple(
        SimulatorSegment(above, up_to, piece.line.start.value, piece.line.per_byte.value)
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
