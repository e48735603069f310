"""Which sizes to measure next, to locate the breakpoints of a curve (--refine).

The idea is mpptest's (Gropp and Lusk, Reproducible Measurements of MPI Performance Characteristics,
1999): measure between the sizes of the schedule, and halve where the curve is not straight. mpptest
compares each middle with the line between its neighbours, which misses a change of slope: the
middle departs less from that line the closer one looks, and not at all where the change falls on a
scheduled size. Here the whole curve is cut into straight pieces, and the gaps between pieces are
halved; a jump and a change of slope are both places where one piece ends and the next begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from halftrip.measure.walk import Item
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement, Record
from halftrip.stats.piecewise import CurvePoint, joints, usable
from halftrip.stats.series import configuration_times, summarize_configuration

# A breakpoint is located once it is known to within this many bytes, or this share of its size.
RESOLUTION_BYTES = 8
RESOLUTION_SHARE = 0.01
# A breakpoint that may lie in any of this many gaps of equal width is hidden by noise, and more
# sizes would not reveal it: how well the crossing of two lines is known depends on their lengths.
_HIDING_GAPS = 8


def next_sizes(
    points: Iterable[CurvePoint], schedule: Sequence[int], budget: int = 200
) -> tuple[int, ...]:
    """The sizes to measure next, to locate the breakpoints of one curve; empty when none are left.

    `points` are all that were tried so far, in any order; of two with the same size the later one
    counts. A size that could not be measured has the time NaN, or it is requested again. `schedule`
    are the sizes of the plan. First come the middles of the schedule's intervals, then the middles
    of the gaps that may hold a breakpoint, clearest breakpoints first, until each is located or
    hidden by noise. All calls together request at most `budget` sizes outside the schedule.
    """
    points = list(points)
    tried = {point.size for point in points}
    curve = usable(points)
    measured = {point.size for point in curve}
    scheduled = sorted(set(schedule))
    requested = [
        _middle(low, high)
        for low, high in pairwise(scheduled)
        if {low, high} <= measured and _divisible(low, high)
    ]
    for joint in sorted(joints(curve), key=lambda joint: -joint.gain):
        within = curve[joint.low : joint.high + 1]
        if not _divisible(within[0].size, within[-1].size):
            continue
        width = within[-1].size - within[0].size
        # Half the resolution: a breakpoint exactly on a measured size is in the gaps on both sides.
        requested += [
            _middle(low.size, high.size)
            for low, high in pairwise(within)
            if _divisible(low.size, high.size, 0.5) and high.size - low.size > width / _HIDING_GAPS
        ]
    left = budget - len(tried.difference(scheduled))
    fresh = [size for size in dict.fromkeys(requested) if size not in tried]
    return tuple(fresh[: max(0, left)])


class Refinement:
    """The sizes that --refine adds to the curves of a run, whose settings are `wanted`: rank 0
    gives it every measurement."""

    def __init__(self, wanted: Iterable[Configuration]) -> None:
        # The sizes of the plan, by curve.
        self._schedules: dict[Configuration, list[int]] = {}
        for setting in wanted:
            self._schedules.setdefault(setting.curve, []).append(setting.size)
        # By curve, with the number of its round: all slices of each size.
        self._curves: dict[Item, dict[int, list[Measurement]]] = {}
        self._tried: set[Item] = set()

    def take(self, round_: int, records: Iterable[Record]) -> None:
        """Takes the records of a turn. The curve of a round is that of its first pair."""
        measured = [record for record in records if isinstance(record, Measurement)]
        if not measured:
            return
        configuration = measured[0].configuration
        of_size = self._curves.setdefault((round_, configuration.setting.curve), {})
        of_size.setdefault(configuration.size, []).append(measured[0])

    def more(self) -> list[Item]:
        """What to measure next to locate breakpoints. What was refused or failed is not requested
        again."""
        found = []
        for (round_, curve), sizes in self._curves.items():
            points = [
                CurvePoint.of(size, summarize_configuration(configuration_times(slices)))
                for size, slices in sizes.items()
            ]
            found += [
                (round_, _resized(curve, size))
                for size in next_sizes(points, self._schedules.get(curve, ()))
            ]
        fresh = [item for item in found if item not in self._tried]
        self._tried.update(fresh)
        return fresh


def _resized(setting: Configuration, size: int) -> Configuration:
    return msgspec.structs.replace(setting, size=size)


def _middle(low: int, high: int) -> int:
    return (low + high) // 2


def _divisible(low: int, high: int, share: float = 1.0) -> bool:
    """Whether these sizes are further apart than this share of the resolution."""
    return high - low > share * max(RESOLUTION_BYTES, RESOLUTION_SHARE * low)
