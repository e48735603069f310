"""The latency of a row at the core-to-core round trip that is typical of the run.

Virtual cores move, and with them the core-to-core round trip: between the slices of a row, between
rows and between runs. Rows are compared at the same round trip.
"""

from __future__ import annotations

import math

from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.adjustment import Adjusted, adjusted
from halftrip.stats.median import median
from halftrip.stats.series import ConfigurationTimes

# What has a core-to-core round trip of its own: a pair, its thread, the cores that it was given,
# and whether in virtual time.
Probed = tuple[tuple[int, int], int, tuple[int | None, int | None], bool]


def typical_rtts(run: Run) -> dict[Probed, float]:
    """The median of all core-to-core round trips of each pair in the run, ns."""
    probes: dict[Probed, list[float]] = {}
    for measurement in run.measurements:
        probes.setdefault(probed(measurement.configuration), []).extend(
            measurement.core_to_core_rtts
        )
    return {pair: median(rtts) for pair, rtts in probes.items() if rtts}


def probed(configuration: Configuration) -> Probed:
    """Whose core-to-core round trip a configuration has."""
    initiator, responder = configuration.ends
    cores = initiator.core, responder.core
    return configuration.pair, configuration.thread, cores, configuration.is_simulated


def adjusted_latency(
    times: ConfigurationTimes, rtts: dict[Probed, float], configuration: Configuration
) -> Adjusted | None:
    """The latency of a configuration at the typical core-to-core round trip of its pair; None where
    that is not known, with fewer than six slices that count (of several launches, six launches),
    and where it did not vary between these."""
    typical = rtts.get(probed(configuration))
    if typical is None:
        return None
    points: dict[int, list[tuple[float, float]]] = {}
    every = zip(times.launches, times.rtts, times.slices, times.counted, strict=True)
    for launch, of_slice, each, counts in every:
        if counts:
            points.setdefault(launch, []).append((of_slice, each.median.median))
    pairs = [pair for slices in points.values() for pair in slices]
    if len(points) > 1:
        # Slices of one launch have in common what launches differ by.
        pairs = [_middle(slices) for slices in points.values()]
    return adjusted([of_slice for of_slice, _ in pairs], [median for _, median in pairs], typical)


def _middle(slices: list[tuple[float, float]]) -> tuple[float, float]:
    """The median round trip of these slices (NaN where that of any is not known), and the median of
    their medians."""
    rtts = [rtt for rtt, _ in slices]
    unknown = any(math.isnan(rtt) for rtt in rtts)
    return math.nan if unknown else median(rtts), median([middle for _, middle in slices])
