"""Flags that other rows of the same run raise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from halftrip.analysis.flags.flag import Evidence, Flag, percent, us
from halftrip.results.case import Case
from halftrip.units import format_size

# A size is an outlier where it is off by this factor from what its neighbours on both sides, or on
# either, lead one to expect.
_OFF = 1.3
# Both neighbours of a side, or two on each: fewer are no curve.
_FEWEST_IN_CURVE = 5
# A larger message that is so much faster, or a stream that is so much slower, contradicts: less may
# be what this machine does from one second to the next.
_CONTRADICTS = 1.25
# Two sizes lead to a third no farther away than so many times their distance.
_FARTHEST = 4.5
# Rows whose core-to-core round trips differ by more were taken in different states.
_SAME_STATE = 1.25

Curve = list[Evidence]


def curves(rows: Iterable[Evidence]) -> list[Curve]:
    """The rows of each curve, in order of size."""
    groups: dict[Case, Curve] = {}
    for row in rows:
        groups.setdefault(msgspec.structs.replace(row.case, size=0), []).append(row)
    return [sorted(curve, key=lambda row: row.case.size) for curve in groups.values()]


def outlier_sizes(curve: Curve) -> dict[Case, Flag]:
    """Sizes that none of their neighbours lead one to expect: neither those on both sides, nor, as
    at a change of protocol, those on one. The worst first; what it spoils for others is no longer
    counted then."""
    rows = [row for row in curve if row.summary.latency > 0]
    found: dict[Case, Flag] = {}
    while len(rows) >= _FEWEST_IN_CURVE:
        points = [(float(row.case.size), row.summary.latency) for row in rows]
        off = [_off(points, i) for i in range(len(rows))]
        surely = [abs(by) - _uncertainty(row) for by, row in zip(off, rows, strict=True)]
        worst = int(np.argmax(surely))
        row = rows[worst]
        if surely[worst] <= math.log(_OFF):
            break
        expected = row.summary.latency / math.exp(off[worst])
        found[row.case] = Flag(
            "outlier-size",
            f"{us(row.summary.latency)}, where the sizes around it lead to {us(expected)}",
            "measure it again with sizes close by (--perturb 8, --refine) and several --launches",
        )
        rows = [other for other in rows if other is not row]
    return found


Point = tuple[float, float]


def _off(points: Sequence[Point], i: int) -> float:
    """The logarithm of the factor by which the time of point `i`, (bytes, ns), is off from the
    nearest of what others lead to; 0 at the ends, where there is one side only."""
    if i < 2 or i > len(points) - 3:
        return 0.0
    size, time = points[i]
    # A step may lie just before it or after it.
    low, high = sorted((points[i - 1][1], points[i + 1][1]))
    expected = [low, high]
    for a, b in ((i - 1, i + 1), (i - 2, i - 1), (i + 1, i + 2)):
        expected += _lines(points[a], points[b], size)
    if low <= time <= high or min(expected) <= time <= max(expected):
        return 0.0
    return min((math.log(time / value) for value in expected), key=abs)


def _lines(a: Point, b: Point, size: float) -> list[float]:
    """What two points lead to at another size: on a line, as where a latency and a bandwidth make
    up a time, and on one of logarithms; those of these that are times. None where it is too far."""
    share = (size - a[0]) / (b[0] - a[0])
    if not -_FARTHEST <= share <= 1 + _FARTHEST:
        return []
    straight = a[1] + share * (b[1] - a[1])
    steep = math.log(b[1] / a[1]) / math.log((b[0] + 1) / (a[0] + 1))
    curved = a[1] * ((size + 1) / (a[0] + 1)) ** steep
    return [value for value in (straight, curved) if value > 0]


def _uncertainty(row: Evidence) -> float:
    """By how much a row may be off because its interval is wide, as a logarithm."""
    summary = row.summary
    # Where there is none, nothing is excluded; nor where, of few launches that differ much, it
    # reaches below zero.
    if math.isnan(summary.low) or summary.low <= 0:
        return math.inf
    return math.log(summary.high / summary.low)


def faster_when_larger(curve: Curve) -> dict[Case, Flag]:
    """A message is never slower than a larger one, which could carry it: so Traeff, Gropp and
    Thakur, Self-consistent MPI Performance Guidelines (TPDS 2010)."""
    found = {}
    for place, row in enumerate(curve):
        for larger in curve[place + 1 :]:
            if _surely_more(row, larger):
                found[row.case] = Flag(
                    "contradiction",
                    f"{us(row.summary.latency)}, where {format_size(larger.case.size)} take "
                    f"{us(larger.summary.latency)}: more goes faster",
                    "take several --launches first: one may be what the machine did just then; if "
                    "it stays, look for a change of protocol between them",
                )
                break
    return found


def slower_in_a_stream(rows: Iterable[Evidence]) -> dict[Case, Flag]:
    """Messages that follow each other get no less through than those that wait for an answer, and
    both ways at once no less than one."""
    cases = {row.case: row for row in rows if row.case.rate is None}
    found: dict[Case, Flag] = {}
    for case, row in cases.items():
        if case.mode not in ("blocking", "nonblocking"):
            continue
        if case.pattern == "stream":
            # A ping-pong in that mode would have both messages on their way at once.
            turns = msgspec.structs.replace(case, pattern="pingpong", mode="blocking", window=1)
            # Each of a window takes no longer than one that waits, nor does the acknowledgement: so
            # a window of one may well take twice as long as half a round trip.
            found |= _less(row, cases.get(turns), (case.window + 1) / case.window)
        elif case.pattern == "bidirectional":
            found |= _less(row, cases.get(msgspec.structs.replace(case, pattern="stream")), 2.0)
    return found


def _less(row: Evidence, other: Evidence | None, parts: float) -> dict[Case, Flag]:
    """A flag on `row`, if a message of it takes surely longer than `parts` of `other` do."""
    # Times of a message: the more get through, the shorter.
    if other is None or not _surely_more(row, other, parts):
        return {}
    share = row.case.directions * other.summary.latency / row.summary.latency
    return {
        row.case: Flag(
            "contradiction",
            f"it gets {percent(share)} of the bandwidth of {other.case.pattern} through at the "
            "same size",
            "look at the window, at how the receiver waits, and at what fills up on the way",
        )
    }


def _surely_more(one: Evidence, other: Evidence, parts: float = 1.0) -> bool:
    """Whether a message takes longer in `one`, of which a time counts for `parts`, than in `other`,
    while the machine was in the same state; not where that cannot be told."""
    rtts = [rtt for row in (one, other) if (rtt := row.median_rtt) is not None]
    if len(rtts) == 2 and max(rtts) > _SAME_STATE * min(rtts):
        return False
    return one.summary.low / parts > _CONTRADICTS * other.summary.high
