"""The figures that NetPIPE sums a curve up by: latency, saturation point and n-half.

Q. Snell, A. Mikler and J. Gustafson, NetPIPE: A Network Protocol Independent Performance Evaluator
(IASTED International Conference on Intelligent Information Management and Systems, 1996): latency
is the time of the smallest message; the saturation point is the knee of the curve, the size beyond
which a larger message gets no more bandwidth, so that its time grows in proportion. n-half is the
size that gets half of the largest bandwidth (R. Hockney, The Communication Challenge for MPP,
Parallel Computing 20, 1994), here of the largest that was measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.repeats import repeats
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.estimate import Estimate, inverse, ratio
from halftrip.units import format_size, size_name

# A curve is saturated from this share of its largest bandwidth on: once it grows no more,
# bandwidths vary by less than the rest from size to size.
SATURATED = 0.95
_FEWEST_SIZES = 3


class SizeFound(NamedTuple):
    """A size at which a curve gets to some bandwidth: between `low` and `high`, which were
    measured, bytes. At `low` it surely has less; from `high` on, up to the largest bandwidth, it
    surely has as much. `value` is in between, on the straight line of time over size."""

    value: float
    low: int
    high: int


class NetpipeFigures(NamedTuple):
    """The figures of a curve, which is its configuration with a size of 0. `latency` is the time of
    a message of `smallest` bytes one way, ns, `bandwidth` the largest, of messages of `largest_at`
    bytes, bytes per second. What is None has its reason in `reasons`, by name."""

    curve: Configuration
    smallest: int
    latency: Estimate | None
    bandwidth: Estimate | None
    largest_at: int | None
    saturation: SizeFound | None
    n_half: SizeFound | None
    reasons: dict[str, str]


class _Point(NamedTuple):
    size: int
    time: Estimate

    @property
    def bandwidth(self) -> Estimate:
        """Bytes per second."""
        return inverse(1e9 * self.size, self.time)


def netpipe_figures(
    run: Run, has: Callable[[Configuration], bool] = lambda _: True
) -> list[NetpipeFigures]:
    """The figures of each curve whose messages wait for each other, in the order of the run, of the
    configurations that `has` selects."""
    curves: dict[Configuration, list[_Point]] = {}
    for configuration, measurements in run.by_configuration.items():
        c = configuration
        if c.is_rate or c.delay or not c.size_known or not has(c):
            continue
        found = repeats(configuration, measurements)
        points = curves.setdefault(c.curve, [])
        if found is not None and found.middle > 0:
            points.append(_Point(c.size, found.estimate))
    return [_figures(curve, sorted(points)) for curve, points in curves.items() if points]


def _figures(curve: Configuration, points: Sequence[_Point]) -> NetpipeFigures:
    latency = points[0].time
    reasons = {}
    if math.isnan(latency.low):
        reasons["latency"] = "no interval; measure several slices or launches"
    found = NetpipeFigures(
        curve=curve,
        smallest=points[0].size,
        latency=None if "latency" in reasons else latency,
        bandwidth=None,
        largest_at=None,
        saturation=None,
        n_half=None,
        reasons=reasons,
    )
    why = _unusable(points)
    if why:
        reasons.update(dict.fromkeys(("bandwidth", "saturation", "n_half"), why))
        return found
    sized = [point for point in points if point.size]
    largest = max(sized, key=lambda point: point.bandwidth.value)
    up_to = [point for point in sized if point.size <= largest.size]
    saturation, n_half = (_reaches(up_to, share) for share in (SATURATED, 0.5))
    if saturation is not None and saturation.high == points[-1].size:
        saturation = None
        reasons["saturation"] = (
            f"bandwidth may still grow at {size_name(points[-1].size)}, the largest size; "
            f"measure larger ones: -s 1..{format_size(16 * points[-1].size)}"
        )
    for name, each, share in (("saturation", saturation, SATURATED), ("n_half", n_half, 0.5)):
        if each is None and name not in reasons:
            reasons[name] = _not_reached(sized[0], largest, share)
    return found._replace(
        bandwidth=largest.bandwidth,
        largest_at=largest.size,
        saturation=saturation,
        n_half=n_half,
    )


def _not_reached(first: _Point, largest: _Point, share: float) -> str:
    """Why it is not known where a curve gets to a share of its largest bandwidth, if no size surely
    has less."""
    is_less = first.bandwidth.value < share * largest.bandwidth.value
    if is_less or first.size == 1:
        return "intervals are too wide; measure for longer, with --time"
    words = "half of" if share == 0.5 else "about"
    return (
        f"{size_name(first.size)}, the smallest size, may have {words} the largest bandwidth; "
        "measure smaller ones, for longer"
    )


def _unusable(points: Sequence[_Point]) -> str:
    """Why a curve has no bandwidths that can be compared; empty where it has."""
    if len({point.size for point in points if point.size}) < _FEWEST_SIZES:
        return "fewer than three sizes; measure more: -s 1..4M"
    if any(not point.time.low > 0 for point in points if point.size):
        return "a time has no interval above 0; measure several slices or launches"
    return ""


def _reaches(points: Sequence[_Point], share: float) -> SizeFound | None:
    """Where a curve, whose last point has the largest bandwidth, gets to a share of that; None
    where its first point may have as much."""
    largest = points[-1].bandwidth
    shares = [ratio(point.bandwidth, largest) for point in points[:-1] if point.size]
    sized = [point for point in points if point.size]
    below = [place for place, found in enumerate(shares) if found.high < share]
    if not below:
        return None
    # Where the bandwidth falls again, the last time counts: beyond it, no size has less.
    low = below[-1]
    surely = (place for place in range(low + 1, len(shares)) if shares[place].low >= share)
    high = next(surely, len(sized) - 1)
    values = [found.value for found in shares] + [1.0]
    after = next(place for place in range(low + 1, high + 1) if values[place] >= share)
    one, other = sized[after - 1], sized[after]
    slope = (other.time.value - one.time.value) / (other.size - one.size)
    # size / time(size) = wanted, with time on the line through both.
    wanted = share * largest.value * 1e-9
    value = wanted * (one.time.value - slope * one.size) / (1.0 - wanted * slope)
    return SizeFound(min(max(value, one.size), other.size), sized[low].size, sized[high].size)
