"""The verdict on a row: whether its figures can be trusted, and the one cause that explains best
why not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.flags import contradictions, evidences, machine, samples
from halftrip.analysis.flags.flag import FEWEST, Evidence, Flag, Rule, counted, percent, us
from halftrip.analysis.flags.machine import core_of, steal_ends, taken_ends
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.modes import two_modes
from halftrip.stats.quantile import quantile_of_ordered
from halftrip.stats.summary import relative_width

Word = Literal["ok", "caution", "no"]
# The words of rows that may be measured again.
NOT_OK: tuple[Word, ...] = ("caution", "no")

# The cause of rows of which a source gives single figures.
NO_INTERVAL = "no interval"
# The cause of figures that no machine can have.
IMPOSSIBLE = "impossible"
# The advice if another tool has measured, which does not have halftrip's options.
_TO_OTHERS = "measure it again, several times"
# The interval's wider side, as a share of the latency, up to which a row is ok, and up to which it
# may be used with caution.
OK_WIDTH = 0.02
CAUTION_WIDTH = 0.1
KEEP_STATE = "keep to one state with --placement-state near, or far"
# One of fewer launches is not told from the others.
_FEWEST_LAUNCHES = 4
# A level occurs in a slice where it has this share of the samples.
_LEAST_OF_LEVEL = 0.1


# Why a row is not ok. Its name is that of a group of rows, and may differ from that of a flag.
Cause = Flag


class Verdict(NamedTuple):
    """`width` is the interval's wider side as a share of the latency; infinite where there is
    none. `cause` is None where the row is ok."""

    word: Word
    width: float
    cause: Cause | None


def verdict(row: Evidence, contradiction: Flag | None = None) -> Verdict:
    """The verdict on a row; `contradiction` is what its neighbours say against it, if they do.

    It is ``ok`` where the interval is within 2 % of the latency, ``caution`` within 10 %, or where
    a cause matters however narrow the interval is, and ``no`` beyond that, without an interval, and
    where the figure is physically impossible. Of all causes it has the first that applies, in the
    order in which they explain the others.
    """
    impossible = _named(IMPOSSIBLE, machine.above_bound)(row)
    if impossible is not None:
        return Verdict("no", relative_width(row.summary), impossible)
    # A bandwidth over all the time has no interval, and needs none.
    width = 0.0 if row.is_over_all_time else relative_width(row.summary)
    word: Word = "ok" if width <= OK_WIDTH else "caution" if width <= CAUTION_WIDTH else "no"
    cause = _first(_ALWAYS, row)
    if cause is None and word != "ok":
        cause = _first(_OF_WIDTH, row)
    if cause is None and contradiction is not None:
        is_cold = contradiction.name == "cold-start"
        cause = contradiction._replace(name="cold start" if is_cold else "contradicted")
    if cause is None and word != "ok":
        cause = _few_samples(row)
    if cause is not None and row.run.sources and "--" in cause.advice:
        cause = cause._replace(advice=_TO_OTHERS)
    return Verdict("caution" if word == "ok" and cause is not None else word, width, cause)


def verdicts(run: Run) -> dict[Configuration, Verdict]:
    """The verdict on every row of a run."""
    rows = evidences(run)
    beside = contradictions(rows)
    return {
        row.configuration: verdict(row, next(iter(beside.get(row.configuration, [])), None))
        for row in rows
    }


def _first(rules: Sequence[Rule], row: Evidence) -> Cause | None:
    return next((cause for rule in rules if (cause := rule(row)) is not None), None)


def _named(name: str, rule: Rule) -> Rule:
    """A rule that finds the same as that of a flag, under this name."""

    def find(row: Evidence) -> Cause | None:
        flag = row.found_by(rule)
        return None if flag is None else flag._replace(name=name)

    return find


def _contention(row: Evidence) -> Cause | None:
    """Others had the core of an end."""
    taken = []
    for rank, usage in taken_ends(row):
        task = None if usage.core is None else usage.core.busiest_task
        who = "" if task is None else f", mostly {task.name}"
        share = percent(usage.taken_share)
        taken.append(f"{share} of {core_of(row, rank, usage.core)}{who}")
    if not taken:
        return None
    advice = "stop them, or choose other cores with --cores"
    return Cause("CPU contention", f"other programs had {' and '.join(taken)}", advice)


def _steal(row: Evidence) -> Cause | None:
    """The hypervisor had the core of an end."""
    steal = [
        f"{percent(share)} of {core_of(row, rank, core)}" for rank, core, share in steal_ends(row)
    ]
    if not steal:
        return None
    advice = "measure when its other machines are quiet, or on a machine of your own"
    return Cause("steal", f"the hypervisor had {' and '.join(steal)}", advice)


def _wandered(row: Evidence) -> Cause | None:
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
    seen = f"from {us(low)} to {us(high)}"
    found = row.with_rtt
    # Within a state the round trip wanders a little, and it is the only one that was kept to.
    if row.state is not None or found is None or not found.significant or found.value < 0:
        more = "--launches" if len(row.times.by_launch) > 1 else "--slices"
        advice = f"find out what changes (frequency, heat, other work), or allow more {more}"
        return Cause("level wandered", seen, advice)
    first, last = min(row.rtts), max(row.rtts)
    seen += f" with the core-to-core round trip, {first:.0f} to {last:.0f} ns"
    return Cause("cores moved", seen, KEEP_STATE)


def _two_levels(row: Evidence) -> Cause | None:
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
    return Cause(
        "two levels",
        f"{percent(found.low_share)} of the samples took {us(found.low)}, "
        f"{percent(found.high_share)} {us(found.high)}; it switched {switches:,} times",
        "two things are mixed: look for a second path, a timer, or another process",
    )


def _odd_launch(row: Evidence) -> Cause | None:
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
        if gap > max(others, CAUTION_WIDTH * launches[in_order[near]]):
            rest = sorted((launches[in_order[near]], launches[in_order[far]]))
            seen = (
                f"launch {in_order[odd]} took {us(launches[in_order[odd]])}, the other "
                f"{len(launches) - 1} from {us(rest[0])} to {us(rest[1])}"
            )
            advice = "look for what was different in it: placement, frequency, another path"
            return Cause("another mode", seen, advice)
    return None


def _few_samples(row: Evidence) -> Cause:
    """No other cause was found: too little was measured."""
    slices = sum(row.times.counted)
    if slices == 1 and row.measurements[0].reported is not None:
        seen = "its source gives a single figure, and nothing by which to tell how far it holds"
        return Cause(NO_INTERVAL, seen, "measure it several times")
    plan = row.run.header.plan
    limited = plan.get("max_duration") is not None and slices < plan.get("slices", 0)
    advice = f"allow more time with {'--max-duration' if limited else '--time'}"
    if len(row.times.by_launch) > 1:
        seen = f"{len(row.times.by_launch)} launches differ"
        return Cause("few launches", seen, "take more --launches")
    if slices < FEWEST_FOR_INTERVAL:
        either = advice if limited else f"{advice} or --slices"
        return Cause("few slices", f"it has {counted(slices, 'slice')} only", either)
    if row.summary.samples < FEWEST * slices:
        seen = f"{row.summary.samples:,} samples tell no more"
        return Cause("few samples", seen, advice)
    return Cause("noise", "single iterations differ too much for the time allowed", advice)


# Causes that matter however narrow the interval is.
_ALWAYS: tuple[Rule, ...] = (
    _contention,
    _steal,
    _named("oversubscribed", machine.oversubscribed),
    _named("unpinned", machine.unpinned),
    _named("other state", machine.other_state),
)
# Causes that explain a wide interval.
_OF_WIDTH: tuple[Rule, ...] = (
    _named("coarse clock", samples.coarse_clock),
    _named("coarse clock", samples.few_digits),
    _named("warming up", samples.unsettled),
    _odd_launch,
    _wandered,
    _two_levels,
)
