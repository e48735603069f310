"""The options of LogGOPSim, the simulator of messages among many ranks in the LogGOPS model.

Hoefler, Schneider, Lumsdaine: LogGOPSim - Simulating Large-Scale Applications in the LogGOPS Model,
HPDC 2010. A message of s bytes takes o + L + (s - 1) G + o in its way from one rank to another; a
rank sends or receives one every g + (s - 1) G at most; one longer than S waits until the receiver
has asked for it. All are whole numbers in one unit of time, which is that of the schedule's
computations, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from halftrip.analysis.fit import Pieces
from halftrip.analysis.loggp import loggp_fits
from halftrip.export.fitted_curve import (
    LARGEST,
    FittedCurve,
    described,
    eager_limit,
    fit_of,
    fitted_curve,
    refuse,
    segments,
)
from halftrip.report.document import Document
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import STREAM
from halftrip.stats.estimate import Estimate
from halftrip.texts import printable

_TO = "loggopsim"
# By how much a parameter may be rounded to a whole number.
_ROUNDING = 1e-3
# Names of units by how many of them a nanosecond has.
_UNITS = {1: "ns", 10**3: "ps", 10**6: "fs"}


class Parameters(NamedTuple):
    """L, o and g, ns; G, ns per byte. S, bytes; None: no limit is known."""

    latency: float
    overhead: float
    gap: float
    gap_per_byte: float
    eager_limit: int | None

    @property
    def times(self) -> dict[str, float]:
        """Those that are times, ns or ns per byte, by the letter of their option."""
        return {
            "L": self.latency,
            "o": self.overhead,
            "g": self.gap,
            "G": self.gap_per_byte,
        }


class Seen(NamedTuple):
    """What something other than a ping-pong has shown, ns: the CPU overhead, the mean of sender and
    receiver, and the gap between two short messages; None: not known."""

    overhead: float | None = None
    gap: float | None = None


class Scaled(NamedTuple):
    """The times of parameters as whole numbers of a unit, of which a nanosecond has `per_ns`, by
    the letters of their options; `rounding` is the largest relative change by that."""

    per_ns: int
    times: dict[str, int]
    rounding: float

    @property
    def unit(self) -> str:
        return _UNITS[self.per_ns]


def files(document: Document) -> Mapping[str, str]:
    """The options, a line each under a comment. Raises UsageError where the rows are not one
    ping-pong, or its pieces are no model."""
    found = fitted_curve(document, _TO)
    also = seen(document, found)
    told = parameters(found.pieces, also)
    scale = scaled(told)
    if scale is None:
        refuse(_TO, found.curve, f"a message takes more than LogGOPSim's {LARGEST} ns")
    lines = _lines(document, found, told, scale, also)
    return {"-loggopsim.txt": "".join(f"{line}\n" for line in lines)}


def seen(document: Document, found: FittedCurve) -> Seen:
    """What the rows of a document show apart from a ping-pong: the figures of LogGP, as far as
    there are any. Without that of the gap, it is the time between two messages of one byte in the
    stream with the most in flight, between the same ranks with the same settings."""
    chosen = {row.configuration for row in document.rows}
    fits = loggp_fits(document.run, chosen.__contains__)
    loggp = next((fit for fit in fits if fit.path == found.curve), None)
    both = loggp.smallest.both.estimate if loggp and loggp.smallest else None
    gap = loggp.gap.estimate if loggp else None
    return Seen(
        overhead=None if both is None else _told(both) / 2,
        gap=_gap(document, found) if gap is None else _told(gap),
    )


def _told(figure: Estimate) -> float:
    """A figure that is 0 where its interval reaches that: what is noise has no unit to be given
    in."""
    return figure.value if figure.low > 0 else 0.0


def _gap(document: Document, found: FittedCurve) -> float | None:
    like = _but_for_pattern(found.curve)
    streams = {
        curve.window: curve
        for curve in (row.configuration.curve for row in document.rows)
        if curve.pattern == STREAM
        and curve.has_window
        and not curve.delay
        and _but_for_pattern(curve) == like
    }
    if not streams:
        return None
    pieces = fit_of(document, streams[max(streams)]).found
    return pieces.pieces[0].line.at(1) if pieces else None


def _but_for_pattern(curve: Configuration) -> Configuration:
    """What curves of different patterns have in common."""
    return msgspec.structs.replace(curve.round_trip, places="same")


def parameters(pieces: Pieces, also: Seen) -> Parameters:
    """The parameters of a curve of times one way. A ping-pong shows L + 2 o, the time of one byte,
    and G, the time per byte of the longest messages; where o and g are not known, they are 0. What
    both ends are busy for is no longer than that message takes: o is half of it at most."""
    first, last = pieces.pieces[0].line, pieces.pieces[-1].line
    overhead = min(also.overhead or 0.0, first.at(1) / 2)
    return Parameters(
        latency=max(0.0, first.at(1) - 2 * overhead),
        overhead=overhead,
        gap=also.gap or 0.0,
        gap_per_byte=last.per_byte.value,
        eager_limit=eager_limit(pieces),
    )


def scaled(told: Parameters) -> Scaled | None:
    """The times in the coarsest unit in which none is rounded by much, or else in the finest in
    which all are small enough; None where none is."""
    found = [_in_unit(told, per_ns) for per_ns in _UNITS]
    possible = [each for each in found if max(each.times.values()) <= LARGEST]
    good = [each for each in possible if each.rounding <= _ROUNDING]
    return next(iter([*good, *reversed(possible)]), None)


def _in_unit(told: Parameters, per_ns: int) -> Scaled:
    times = {name: round(value * per_ns) for name, value in told.times.items()}
    roundings = [
        abs(times[name] / (value * per_ns) - 1) for name, value in told.times.items() if value > 0
    ]
    return Scaled(per_ns, times, max(roundings, default=0.0))


def _lines(
    document: Document, found: FittedCurve, told: Parameters, scale: Scaled, also: Seen
) -> Iterator[str]:
    unit = scale.unit
    yield "# Options of LogGOPSim, as halftrip has measured them:"
    yield "#   LogGOPSim $(grep -v '^#' THIS_FILE) -f SCHEDULE.bin"
    yield printable(f"# From {', '.join(described(document, found))}.")
    yield f"# One unit of time is 1 {unit}, also of the computations in a schedule and of results."
    if scale.rounding > _ROUNDING:
        yield f"# Whole numbers of this unit change a parameter by up to {scale.rounding:.2g}."
    off, size = _furthest(found.pieces, told)
    yield (
        "# o + L + (s - 1) G + o is a single line. The fitted pieces are off it by up to "
        f"{off:.1%} (at {size} B)."
    )
    yield f"# Latency, {unit}: the time of one byte one way, less 2 o."
    yield f"-L {scale.times['L']}"
    apart = (
        "in a ping-pong without delays it is a part of L"
        if also.overhead is None
        else "half of o_s + o_r of LogGP, and at most half of the time of one byte"
    )
    yield f"# CPU overhead of a send or a receive, {unit}: {apart}."
    yield f"-o {scale.times['o']}"
    stream = "not known without a stream" if also.gap is None else "of the streams of the same run"
    yield f"# Gap between two messages, {unit}: {stream}."
    yield f"-g {scale.times['g']}"
    yield f"# Gap per byte, {unit}: of the longest messages."
    yield f"-G {scale.times['G']}"
    yield f"# CPU overhead per byte, {unit}: not known."
    yield "-O 0"
    if told.eager_limit is None:
        yield "# No jump to longer times shows an eager limit: LogGOPSim's own -S, 65535, holds."
    else:
        yield "# Eager limit, bytes: the last size before the first jump to longer times."
        yield f"-S {told.eager_limit}"


def _furthest(pieces: Pieces, told: Parameters) -> tuple[float, int]:
    """How far the pieces are from the model at most, relative to the model, and at which size."""
    base = told.latency + 2 * told.overhead
    sizes = {max(size, 1) for piece in pieces.pieces for size in (piece.first, piece.last)}
    return max(
        (abs(segment.at(size) / (base + (size - 1) * told.gap_per_byte) - 1), size)
        for segment in segments(pieces)
        for size in sizes
        if size > segment.above and (segment.up_to is None or size <= segment.up_to)
    )
