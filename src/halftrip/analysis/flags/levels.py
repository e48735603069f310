"""What makes an interval wide: launches and slices at different levels, or too little measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from halftrip.analysis.flags.cause import OTHERS, SETTINGS
from halftrip.analysis.flags.companions import unlike_others, with_round_trip
from halftrip.analysis.flags.flag import FEWEST, Evidence, Finding, counted, percent, us
from halftrip.stats.autocorrelation import ranks
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.quantile import Floats, quantile_of_ordered
from halftrip.units import significant

# A launch in another mode is farther away than this share of the latency.
_FAR = 0.1
# The largest gap at either end, as a share of the whole range, that chance gives in 1 % of cases,
# of 4 launches or more (Dixon, Annals of Mathematical Statistics 21, 1950; two-sided values of
# Rorabacher, Analytical Chemistry 63, 1991).
_LARGEST_GAP = (
    *(0.926, 0.821, 0.740, 0.680, 0.634, 0.598, 0.568, 0.542, 0.522, 0.503, 0.488, 0.475, 0.463),
    *(0.452, 0.442, 0.433, 0.425, 0.418, 0.411, 0.404, 0.399, 0.393, 0.388, 0.384, 0.380, 0.376),
    0.372,
)
_FEWEST_LAUNCHES = 4
# Slices of few samples are apart where chance gives such ranks in less than 1 % of cases.
_ONE_SIDED_99 = 2.326
# A level occurs in a slice where it has this share of the samples.
_LEAST_OF_LEVEL = 0.1
_MORE_TIME = "allow more time with --max-duration"


def odd_launch(row: Evidence) -> Finding | None:
    """One launch is farther from all the others than these are from each other, and than chance
    explains."""
    launches = {
        number: median([each.median.median for each in slices])
        for number, slices in row.times.by_launch.items()
    }
    if len(launches) < _FEWEST_LAUNCHES:
        return None
    in_order = sorted(launches, key=lambda number: launches[number])
    largest = _LARGEST_GAP[min(len(launches), len(_LARGEST_GAP) + 3) - _FEWEST_LAUNCHES]
    for odd, near, far in ((0, 1, -1), (-1, -2, 0)):
        gap = abs(launches[in_order[odd]] - launches[in_order[near]])
        others = abs(launches[in_order[near]] - launches[in_order[far]])
        chance = largest * (gap + others)
        if gap > max(others, chance, _FAR * launches[in_order[near]]):
            number = in_order[odd]
            rest = sorted((launches[in_order[near]], launches[in_order[far]]))
            beside = unlike_others(
                row,
                [each for each in row.measurements if each.launch == number],
                [each for each in row.measurements if each.launch in launches.keys() - {number}],
            )
            seen = (
                f"launch {number} took {us(launches[number])}, the other {len(launches) - 1} from "
                f"{us(rest[0])} to {us(rest[1])}"
            )
            return Finding("; ".join(filter(None, (seen, beside))))
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
    if 2 * known.size > halves.size:
        if high - low <= 2 * median(known):
            return None
    elif not _are_apart(row.steady):
        return None
    several = len(row.times.by_launch) > 1
    more = "--launches" if several else "--slices"
    advice = f"{OTHERS} {SETTINGS}, or allow more {more}"
    seen = f"from {us(low)} to {us(high)}"
    parts = row.components if several else None
    if parts is not None and not math.isnan(parts.within):
        seen += " between launches" if parts.between > parts.within else " within launches"
    trip = row.found_by(with_round_trip)
    if trip is not None:
        seen += f": {trip.seen.partition(': ')[2]}"
    return Finding(seen, advice=advice)


def _are_apart(slices: Sequence[Floats]) -> bool:
    """Whether slices of few samples each are at different levels (Kruskal and Wallis, Journal of
    the American Statistical Association 47, 1952; the chi-square by Wilson and Hilferty, 1931)."""
    counts = np.array([each.size for each in slices])
    total = int(counts.sum())
    if counts.size < 2 or total <= 2 * counts.size:
        return False
    every = ranks(np.concatenate(slices))
    means = np.array([part.mean() for part in np.split(every, np.cumsum(counts)[:-1])])
    square = float(every.var(ddof=1))
    if square <= 0:
        return False
    dof = counts.size - 1
    statistic = float(counts @ (means - every.mean()) ** 2) / square
    normal = (statistic / dof) ** (1 / 3) - (1 - 2 / (9 * dof))
    return bool(normal > _ONE_SIDED_99 * math.sqrt(2 / (9 * dof)))


def two_levels(row: Evidence) -> Finding | None:
    """Two levels that both occur in most slices."""
    steady, found = row.steady, row.modes
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


def stated_interval(row: Evidence) -> Finding | None:
    if row.stated is None:
        return None
    ends = " to ".join(significant(each / 1e3, 5) for each in (row.stated.low, row.stated.high))
    level = f"{100 * row.stated.level:g} %"
    return Finding(f"its source states {ends} us for its {row.stated.of} at {level}: of this alone")


def no_interval(row: Evidence) -> Finding | None:
    if sum(row.times.counted) != 1 or row.measurements[0].reported is None:
        return None
    return Finding(
        "its source gives a single figure, and nothing by which to tell how far it holds"
    )


def few_launches(row: Evidence) -> Finding | None:
    launches, plan = len(row.times.by_launch), row.run.header.plan
    if launches < 2:
        return None
    limited = plan.get("max_duration") is not None and launches < plan.get("launches", 0)
    return Finding(f"{launches} launches differ", advice=_MORE_TIME if limited else "")


def few_slices(row: Evidence) -> Finding | None:
    slices = sum(row.times.counted)
    if slices >= FEWEST_FOR_INTERVAL:
        return None
    return Finding(f"it has {counted(slices, 'slice')} only", advice=_limited(row))


def few_samples(row: Evidence) -> Finding | None:
    if row.summary.samples >= FEWEST * sum(row.times.counted):
        return None
    return _stopped(row, f"{row.summary.samples:,} samples tell no more")


def noise(row: Evidence) -> Finding:
    return _stopped(row, "single iterations differ too much for what was measured")


def _stopped(row: Evidence, seen: str) -> Finding:
    """This, and why no more was measured, where that was not the time."""
    reasons = {each.stopped for each in row.measurements}
    if reasons <= {"count"}:
        return Finding(f"{seen}; it stopped at a count", advice="allow more --iterations")
    if reasons <= {"full"}:
        return Finding(f"{seen}; slices were full", advice="allow more --slices or --launches")
    return Finding(seen, advice=_limited(row))


def _limited(row: Evidence) -> str:
    """The advice where it is the time of the whole run that is limited; empty elsewhere."""
    plan = row.run.header.plan
    slices = sum(row.times.counted)
    limited = plan.get("max_duration") is not None and slices < plan.get("slices", 0)
    if limited:
        return _MORE_TIME
    is_counted = any(each.stopped == "count" for each in row.measurements)
    return "deal the iterations to several slices: -r 10" if is_counted else ""
