"""A platform of SimGrid with SMPI's factors, on which `smpirun` replays the fitted ping-pong.

The factors are in the platform's own configuration, so that the file is all that `smpirun` needs.

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

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from halftrip.analysis.fit import Pieces
from halftrip.export.fitted_curve import (
    LARGEST,
    FittedCurve,
    SimulatorSegment,
    described,
    eager_limit,
    fitted_curve,
    segments,
)
from halftrip.report.document import Document
from halftrip.texts import printable

_TO = "simgrid"
_WIDTH = 100
# Bytes that SMPI adds to each message.
HEADER = 16
# What smpi/send-is-detached-thresh is where nobody sets it.
_USUAL_DETACHED = 65536
# Where the time does not grow with the size: the share of it that is divided among the bytes all
# the same, as SMPI has no infinite bandwidth.
_FLAT = 1e-9
# Paragraphs of the head that all platforms have.
_ABOUT = (
    (
        f"SMPI adds {HEADER} bytes to each message: boundaries of factors are of sizes with these, "
        "those of smpi/os without. Times are in s, bandwidths in bytes per s, sizes in bytes."
    ),
    (
        "The options are called as in SimGrid 3.32. Later versions call smpi/lat-factor and "
        "smpi/bw-factor network/latency-factor and network/bandwidth-factor, and accept the older "
        "names."
    ),
    (
        "Each rank has a host of its own; radical has their numbers. All pairs are as fast as the "
        "measured one. Messages that a host sends at the same time share its link, and so do those "
        "that it receives; nothing else is shared."
    ),
)


def files(document: Document) -> Mapping[str, str]:
    """The platform. Raises UsageError where the rows are not one ping-pong that has factors."""
    found = fitted_curve(document, _TO)
    return {"-simgrid.xml": platform(document, found)}


def platform(document: Document, found: FittedCurve) -> str:
    """The platform for a curve of a document whose pieces have no `problem`."""
    told = factors(found.pieces)
    ranks = max(len(document.run.first_ranks), max(found.curve.pair) + 1)
    settings = "".join(
        f"    <prop id={quoteattr(name)} value={quoteattr(value)}/>\n"
        for name, value in _settings(told)
    )
    head = "".join(f"{line}\n" for line in _head(document, found, told))
    # A route has a link of each of two hosts, and so has its latency twice.
    link = f'bw="{told.bandwidth!r}Bps" lat="{told.latency / 2!r}s"'
    return (
        "<?xml version='1.0'?>\n"
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        f"<!--\n{head}-->\n"
        '<platform version="4.1">\n'
        f"  <config>\n{settings}  </config>\n"
        '  <zone id="network" routing="Full">\n'
        f'    <cluster id="ranks" prefix="rank" suffix="" radical="0-{ranks - 1}" speed="1Gf" '
        f"{link}/>\n"
        "  </zone>\n"
        "</platform>\n"
    )


def _settings(told: Factors) -> Iterator[tuple[str, str]]:
    """The names of SimGrid 3.32, which later ones know as well."""
    yield "smpi/lat-factor", _steps(told.latency_factors)
    yield "smpi/bw-factor", _steps(told.bandwidth_factors)
    if told.overheads:
        # Blocking and nonblocking sends.
        yield "smpi/os", _steps(told.overheads)
        yield "smpi/ois", _steps(told.overheads)
    if told.eager is not None:
        yield "smpi/async-small-thresh", str(told.eager)
    if told.detached is not None:
        yield "smpi/send-is-detached-thresh", str(told.detached)
    # All that is not in the measured times.
    yield "network/crosstraffic", "no"
    yield "network/TCP-gamma", "0"
    yield "smpi/simulate-computation", "no"
    yield "smpi/wtime", "0"


def _steps(values: tuple[tuple[float, ...], ...]) -> str:
    return ";".join(":".join(map(repr, each)) for each in values)


def _head(document: Document, found: FittedCurve, told: Factors) -> Iterator[str]:
    """What the file is, for who reads it."""
    yield "A network as halftrip has measured it, for smpirun of SimGrid:"
    yield "  smpirun -platform THIS_FILE -np 2 PROGRAM"
    yield ""
    yield _comment(f"From {', '.join(described(document, found))}.")
    yield "The time of a message of s bytes one way, ns:"
    divided = divisions(found.pieces)
    yield from map(_line, divided)
    for paragraph in (*_about_thresholds(divided, told), *_ABOUT):
        yield ""
        yield from wrap(paragraph, _WIDTH)


def _line(division: Division) -> str:
    segment = division.segment
    up_to = "on" if segment.up_to is None else f"to {segment.up_to}"
    return f"  from {segment.shortest} {up_to}: {segment.start!r} + {segment.per_byte!r} s"


def _about_thresholds(divided: Sequence[Division], told: Factors) -> Iterator[str]:
    """What sends wait for, and why."""
    if told.eager is None:
        yield "No jump to longer times shows an eager limit: SMPI's usual thresholds hold."
    else:
        yield (
            f"Sends of up to {told.eager - 1} bytes are taken to be eager: they begin before the "
            "receiver has asked for them. From there on the time jumps."
        )
    steep = [str(each.segment.shortest) for each in divided if each.has_overhead]
    if steep:
        yield (
            f"From {', '.join(steep)} bytes on the time grows faster than on any network without "
            "latency. The sender is busy for the rest, smpi/os, and SMPI has that only where it "
            f"does not wait for the receiver: sends of fewer than {told.detached} bytes do not. It "
            "is busy for the option surf/precision at least, which smpirun sets to 1e-9 s."
        )


def _comment(text: str) -> str:
    """A text from a run in a comment, which ends with two hyphens."""
    shown = printable(text).encode("ascii", "backslashreplace").decode()
    return shown.replace("--", "- -")


# The factors.


class Division(NamedTuple):
    """A segment as SMPI divides it. The network takes latency + per_byte x (size + HEADER), the
    sender overhead + overhead_per_byte x size; ns, and ns per byte."""

    segment: SimulatorSegment
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


def _divided(segment: SimulatorSegment) -> Division:
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
