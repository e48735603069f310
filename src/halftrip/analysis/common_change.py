"""What all paths between two ranks have in common when two runs are compared: the clock rate of
virtual cores, and of others, differs by some per cent for minutes, so that all launches of a run
share it and no spread of theirs shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from halftrip.analysis.row_change import RowChange

# By so much runs of the same plan, minutes apart, differed as a whole (benchmarks/README.md, "Like
# runs"): what all paths have in common beyond it is no doing of the machine's.
_MOST = math.log(1.05)
# Less makes no change of any row.
_LEAST = math.log(1.01)
# Of fewer rows of other paths it is not known.
_FEWEST = 6
# Launches that agree by chance, or by the steps of a clock, have no weight without end.
_LEAST_ERROR = 1e-3


def allowing_for_others(changes: Sequence[RowChange]) -> list[RowChange]:
    """The rows of two runs that were not measured in turn, each with an interval that reaches to
    what is left of its change if the machine, and nothing else, made the other paths faster or
    slower. A row that is apart from 1 by that alone has the factor of the others as `elsewhere`."""
    paths: dict[tuple[int, int], dict[str, list[RowChange]]] = {}
    for each in changes:
        if each.difference.is_known and not each.configuration.is_simulated:
            of_pair = paths.setdefault(each.configuration.pair, {})
            of_pair.setdefault(each.configuration.transport, []).append(each)
    common = {
        (pair, path): _common([each for name in of_pair if name != path for each in of_pair[name]])
        for pair, of_pair in paths.items()
        for path in of_pair
    }
    return [
        _allowing(each, common.get((each.configuration.pair, each.configuration.transport), 0.0))
        for each in changes
    ]


def _common(others: Sequence[RowChange]) -> float:
    """The logarithm of the factor by which these rows changed as a whole, as far as a machine does
    that: their median, each weighed by how well it is known."""
    if len(others) < _FEWEST:
        return 0.0
    found = [
        (math.log(e.difference.ratio), 1 / max(e.difference.error, _LEAST_ERROR)) for e in others
    ]
    found.sort()
    half, below = sum(weight for _, weight in found) / 2, 0.0
    for (middle, weight), (following, _) in zip(found, [*found[1:], found[-1]], strict=True):
        below += weight
        if below >= half:
            # Of an even number with the same weights, between the two in the middle.
            common = (middle + following) / 2 if math.isclose(below, half) else middle
            return 0.0 if abs(common) < _LEAST else min(max(common, -_MOST), _MOST)
    return 0.0


def _allowing(change: RowChange, common: float) -> RowChange:
    found = change.difference
    if not found.is_known:
        return change
    # It explains a change, and makes none of what is the same.
    own = math.log(found.ratio)
    explained = min(max(common, min(own, 0.0)), max(own, 0.0))
    allowed = found.allowing_for(math.exp(-explained))
    is_all = found.significant and not allowed.significant
    return change._replace(difference=allowed, elsewhere=math.exp(common) if is_all else None)
