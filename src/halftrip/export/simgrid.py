"""A platform of SimGrid with SMPI's factors, on which `smpirun` replays the fitted ping-pong.

The factors are in the platform's own configuration, so that the file is all that `smpirun` needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from xml.sax.saxutils import quoteattr

from halftrip.errors import UsageError
from halftrip.export.fitted_curve import FittedCurve, described, fitted_curve
from halftrip.export.names import row_name
from halftrip.export.segments import problem
from halftrip.export.smpi import HEADER, Division, Factors, divisions, factors
from halftrip.report.document import Document
from halftrip.texts import printable

_TO = "simgrid"
_WIDTH = 100
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
    """The platform. Raises UsageError where the rows are not one ping-pong, or its pieces have no
    factors."""
    found = fitted_curve(document, _TO)
    trouble = problem(found.pieces)
    if trouble is not None:
        raise UsageError(f"--to {_TO}: {row_name(found.curve, with_size=False)}: {trouble}")
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
