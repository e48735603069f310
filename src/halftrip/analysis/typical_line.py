"""The latency of a row at the core-to-core round trip that is typical of the run.

Virtual cores move, and with them the core-to-core round trip, the line: between the slices of a
row, between rows and between runs. Rows are compared at the same line.
"""

from __future__ import annotations

import numpy as np

from halftrip.results.case import Case
from halftrip.results.run import Run
from halftrip.stats.line import AtLine, at_line
from halftrip.stats.median import median
from halftrip.stats.series import CaseTimes

# What has a line of its own: a pair, its thread, and whether in virtual time.
Probed = tuple[tuple[int, int], int, bool]


def typical_lines(run: Run) -> dict[Probed, float]:
    """The median of all core-to-core round trips of each pair in the run, ns."""
    probes: dict[Probed, list[float]] = {}
    for measurement in run.measurements:
        probes.setdefault(probed(measurement.case), []).extend(measurement.cache_line_rtts)
    return {pair: median(rtts) for pair, rtts in probes.items() if rtts}


def probed(case: Case) -> Probed:
    """Whose line a case has."""
    return case.pair, case.thread, case.is_simulated


def at_typical_line(times: CaseTimes, lines: dict[Probed, float], case: Case) -> AtLine | None:
    """The latency of a case at the run's typical line of its pair; None where that is not known,
    with fewer than six slices that count (of several launches, six launches), and where the line
    did not vary between these."""
    line = lines.get(probed(case))
    if line is None:
        return None
    points: dict[int, list[tuple[float, float]]] = {}
    every = zip(times.launches, times.lines, times.slices, times.counted, strict=True)
    for launch, of_slice, each, counts in every:
        if counts:
            points.setdefault(launch, []).append((of_slice, each.median.median))
    # Slices of one launch have in common what launches differ by.
    of_launches = [tuple(np.median(slices, axis=0).tolist()) for slices in points.values()]
    pairs = (
        of_launches if len(points) > 1 else [pair for slices in points.values() for pair in slices]
    )
    return at_line([of_slice for of_slice, _ in pairs], [median for _, median in pairs], line)
