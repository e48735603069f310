"""SMPI's model of a message, and how the pieces of a curve become its factors.

SMPI, the MPI of SimGrid, lets a message of s bytes to another host last

    T(s) = lat L(s + 16) + (s + 16) / (bw B(s + 16)) + [s < detached] os(s)

where `lat` and `bw` are those of the route, L and B are step functions, and os(s) is the sender's
CPU time, a step function of lines; 16 bytes are SMPI's header (Clauss et al., Single Node On-Line
Simulation of MPI Applications with SMPI, IPDPS 2011; src/smpi and
src/kernel/resource/models/network_cm02.cpp of SimGrid 3.32). So a piece a + b s of a curve is exact
with lat L = a - 16 b and bw B = 1 / b, as long as a >= 16 b. Where it is not, as where a curve gets
steeper, the network takes as much of the time as it can from the shortest message of the piece on,
and the sender the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.fit import Pieces
from halftrip.export.segments import LARGEST, Segment, eager_limit, segments

# Bytes that SMPI adds to each message.
HEADER = 16
# What smpi/send-is-detached-thresh is where nobody sets it.
_USUAL_DETACHED = 65536
# Where the time does not grow with the size: the share of it that is divided among the bytes all
# the same, as SMPI has no infinite bandwidth.
_FLAT = 1e-9


class Division(NamedTuple):
    """A segment as SMPI divides it. The network takes latency + per_byte x (size + HEADER), the
    sender overhead + overhead_per_byte x size; ns, and ns per byte."""

    segment: Segment
    latency: float
    per_byte: float
    overhead: float = 0.0
    overhead_per_byte: float = 0.0

    @property
    def has_overhead(self) -> bool:
        """Whether the sender takes a part."""
        return (self.overhead, self.overhead_per_byte) != (0.0, 0.0)


class Factors(NamedTuple):
    """What SMPI is told of a network.

    `latency`, s, and `bandwidth`, bytes per second, are those of a route. `latency_factors` and
    `bandwidth_factors` are pairs of a boundary, which a size with header has to exceed, and a
    factor. `overheads` are a boundary, which a size without header has to exceed, a start, s, and a
    time per byte, s; none where the network takes all. Sends of fewer bytes than `eager` begin at
    once, those of fewer than `detached` do not wait for the receiver; None: not known, as SMPI has
    it.
    """

    latency: float
    bandwidth: float
    latency_factors: tuple[tuple[int, float], ...]
    bandwidth_factors: tuple[tuple[int, float], ...]
    overheads: tuple[tuple[int, float, float], ...]
    eager: int | None
    detached: int | None


def divisions(pieces: Pieces) -> tuple[Division, ...]:
    """How SMPI divides each segment of pieces that have no `problem`: exact, but for messages
    without payload where the first start-up is 0."""
    return tuple(map(_divided, segments(pieces)))


def _divided(segment: Segment) -> Division:
    if segment.per_byte == 0:
        # Only the last segment has no end, and its time grows with the size.
        longest = segment.up_to or segment.shortest
        per_byte = _FLAT * segment.start / (longest + HEADER)
        return Division(segment, segment.start - HEADER * per_byte, per_byte)
    if segment.start >= HEADER * segment.per_byte:
        return Division(segment, segment.start - HEADER * segment.per_byte, segment.per_byte)
    # SMPI lets a message without payload have no overhead.
    shortest = segment.shortest if segment.at(segment.shortest) > 0 else 1
    per_byte = segment.at(shortest) / (shortest + HEADER)
    rest = segment.start - HEADER * per_byte, segment.per_byte - per_byte
    return Division(segment, 0.0, per_byte, *rest)


def factors(pieces: Pieces) -> Factors:
    """What to tell SMPI of a curve of pieces that have no `problem`."""
    found = divisions(pieces)
    # Any values would do, as the factors are relative to them: a latency of the shortest messages,
    # and a bandwidth of the longest, say something by themselves.
    latency = next((each.latency for each in found if each.latency > 0), 1.0)
    per_byte = found[-1].per_byte
    limit = eager_limit(pieces)
    eager = None if limit is None else limit + 1
    return Factors(
        latency=latency / 1e9,
        bandwidth=1e9 / per_byte,
        latency_factors=tuple((_boundary(each), each.latency / latency) for each in found),
        bandwidth_factors=tuple((_boundary(each), per_byte / each.per_byte) for each in found),
        overheads=_overheads(found),
        eager=eager,
        detached=_detached(found, eager),
    )


def _boundary(division: Division) -> int:
    """The boundary of a factor; a message without payload has the first, too."""
    above = division.segment.above
    return 0 if above < 0 else above + HEADER


def _overheads(found: Sequence[Division]) -> tuple[tuple[int, float, float], ...]:
    if not any(each.has_overhead for each in found):
        return ()
    return tuple(
        (max(each.segment.above, 0), each.overhead / 1e9, each.overhead_per_byte / 1e9)
        for each in found
    )


def _detached(found: Sequence[Division], eager: int | None) -> int | None:
    """A sender has an overhead only where it does not wait for the receiver."""
    for each in reversed(found):
        if each.has_overhead:
            end = each.segment.up_to
            return LARGEST if end is None else max(end + 1, eager or _USUAL_DETACHED)
    return eager
