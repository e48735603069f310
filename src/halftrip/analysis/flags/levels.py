"""What makes an interval wide: launches and slices at different levels, or too little measured."""

from __future__ import annotations

import math

import numpy as np

from halftrip.analysis.flags.flag import FEWEST, Evidence, Finding, counted, percent, us
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.modes import two_modes
from halftrip.stats.quantile import quantile_of_ordered

# One of fewer launches is not told from the others.
_FEWEST_LAUNCHES = 4
# A launch in another mode is farther away than this share of the latency.
_FAR = 0.1
# A level occurs in a slice where it has this share of the samples.
_LEAST_OF_LEVEL = 0.1


def odd_launch(row: Evidence) -> Finding | None:
    """One launch is farther from all the others than these are from each other."""
    launches = {
        number: median([each.median.median for each in slices])
        for number, slices in row.times.by_launch.items()
    }
    if len(launches) < _FEWEST_LAUNCHES:
        return None
    in_order = sorted(launches, key=lambda number: launches[number])
    for odd, near, far in ((0, 1, -1), (-1, -2, 0)):
        gap = abs(launches[in_order[odd]] - launches[in_order[near]])
        others = abs(launches[in_order[near]] - launches[in_order[far]])
        if gap > max(others, _FAR * launches[in_order[near]]):
            rest = sorted((launches[in_order[near]], launches[in_order[far]]))
            return Finding(
                f"launch {in_order[odd]} took {us(launches[in_order[odd]])}, the other "
                f"{len(launches) - 1} from {us(rest[0])} to {us(rest[1])}"
            )
    return None


def wandered(row: Evidence) -> Finding | None:
    """The slices differ by more than they know of themselves."""
    slices = [each.median for each in row.times.slices]
    if len(slices) < FEWEST_FOR_INTERVAL:
        return None
    medians = np.sort([each.median for each in slices])
    halves = np.array([each.half_width for each in slices])
    known = halves[~np.isnan(halves)]
    low, high = (quantile_of_ordered(medians, share) for share in (0.25, 0.75))
    # With few samples, a slice has no interval of its median.
    if 2 * known.size <= halves.size or high - low <= 2 * median(known):
        return None
    more = "--launches" if len(row.times.by_launch) > 1 else "--slices"
    advice = f"find out what changes (frequency, heat, other work), or allow more {more}"
    return Finding(f"from {us(low)} to {us(high)}", advice=advice)


def moved_with_cores(row: Evidence) -> Finding | None:
    """The level wandered, and goes with the core-to-core round trip."""
    level, found = row.found_by(wandered), row.with_rtt
    # Within a state the round trip wanders a little, and it is the only one that was kept to.
    if level is None or row.state is not None:
        return None
    if found is None or not found.significant or found.value < 0:
        return None
    first, last = min(row.rtts), max(row.rtts)
    return Finding(f"{level.seen} with the core-to-core round trip, {first:.0f} to {last:.0f} ns")


def two_levels(row: Evidence) -> Finding | None:
    """Two levels that both occur in most slices, and differ by more than the interval."""
    steady = row.steady
    if not steady:
        return None
    # Without an interval nothing is known to be wider.
    interval = row.summary.high - row.summary.low
    found = None if math.isnan(interval) else two_modes(np.concatenate(steady), apart=interval)
    if found is None:
        return None
    middle = (found.low + found.high) / 2
    above = [times > middle for times in steady]
    both = [_LEAST_OF_LEVEL <= float(each.mean()) <= 1 - _LEAST_OF_LEVEL for each in above]
    if 2 * sum(both) <= len(both):
        return None
    switches = sum(int(np.count_nonzero(np.diff(each))) for each in above)
    return Finding(
        f"{percent(found.low_share)} of the samples took {us(found.low)}, "
        f"{percent(found.high_share)} {us(found.high)}; it switched {switches:,} times"
    )


# Nothing else was found: too little was measured.


def no_interval(row: Evidence) -> Finding | None:
    if sum(row.times.counted) != 1 or row.measurements[0].reported is None:
        return None
    return Finding(
        "its source gives a single figure, and nothing by which to tell how far it holds"
    )


def few_launches(row: Evidence) -> Finding | None:
    launches = len(row.times.by_launch)
    return Finding(f"{launches} launches differ") if launches > 1 else None


def few_slices(row: Evidence) -> Finding | None:
    slices = sum(row.times.counted)
    if slices >= FEWEST_FOR_INTERVAL:
        return None
    return Finding(f"it has {counted(slices, 'slice')} only", advice=_limited(row))


def few_samples(row: Evidence) -> Finding | None:
    if row.summary.samples >= FEWEST * sum(row.times.counted):
        return None
    return Finding(f"{row.summary.samples:,} samples tell no more", advice=_limited(row))


def noise(row: Evidence) -> Finding:
    seen = "single iterations differ too much for the time allowed"
    return Finding(seen, advice=_limited(row))


def _limited(row: Evidence) -> str:
    """The advice where it is the time of the whole run that is limited; empty elsewhere."""
    plan = row.run.header.plan
    slices = sum(row.times.counted)
    limited = plan.get("max_duration") is not None and slices < plan.get("slices", 0)
    return "allow more time with --max-duration" if limited else ""
