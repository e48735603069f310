"""Flags about a row's own samples."""

from __future__ import annotations

import math

import numpy as np

from halftrip.analysis.flags.flag import FEWEST, Evidence, Flag, percent, us
from halftrip.stats.autocorrelation import autocorrelation
from halftrip.stats.drift import change_points, trend
from halftrip.stats.granularity import granularity
from halftrip.stats.modes import LEAST_DISTANCE, two_modes
from halftrip.stats.quantile import Floats
from halftrip.stats.summary import relative_width
from halftrip.units import significant

# A step of the clock may be this share of a sample; see sampler.CLOCK_SHARE.
_MOST_CLOCK_STEP = 0.01
# The first exchange is always the slowest. It is worth a flag where it takes as long as this many
# later ones; or as fewer, but so long that a person notices.
_COLD_TIMES = 100.0
_COLD_TIMES_IF_LONG = 10.0
_LONG_NS = 1e6
# From its first to its last sample a row may drift by this share of its median: twice the target of
# its interval.
_MOST_DRIFT = 0.02
# A single change of level may be this share of the level before.
_MOST_CHANGE = 0.05
# This many samples may count as a single independent one. The interval allows for more, but changes
# so slow are seldom seen as a whole.
_MOST_CORRELATION = 10.0
# A width that differs from the target by no more than this share of it is rounding.
_ROUNDING = 1e-9


def coarse_clock(row: Evidence) -> Flag | None:
    for m in row.measurements:
        samples = np.asarray(m.samples)
        if samples.size < FEWEST:
            continue
        middle = float(np.median(samples))
        # Times that are all equal, but not 0, do not tell the step.
        step = granularity(samples) if samples.min() < samples.max() else 0.0
        if middle <= 0 or step > _MOST_CLOCK_STEP * middle:
            return Flag(
                "coarse-clock",
                f"times come in steps of {step:.0f} ns, {percent(step / middle)} of a sample"
                if middle > 0
                else "most samples took no time by this clock",
                "let samples hold more exchanges (leave out --iterations); see halftrip doctor for "
                "the clock",
            )
    return None


def cold_start(row: Evidence) -> Flag | None:
    firsts = [m.first for m in row.measurements if m.slice == 0]
    usual = row.summary.latency * row.case.messages_per_exchange
    if not firsts or not usual > 0:
        return None
    first = float(np.median(firsts))
    times = first / usual
    if times < _COLD_TIMES and not (times >= _COLD_TIMES_IF_LONG and first >= _LONG_NS):
        return None
    return Flag(
        "cold-start",
        f"the first exchange took {us(first)}, as long as {times:.0f} later ones",
        "count it in where a program talks seldom; it is in no other column",
    )


def drift(row: Evidence) -> Flag | None:
    unsettled = [
        m.warm_up for m in row.measurements if not m.warm_up.settled and len(m.samples) >= FEWEST
    ]
    if 2 * len(unsettled) > len(row.measurements):
        return Flag(
            "drift",
            f"after {us(unsettled[0].ns)} of warm-up the times still changed",
            "allow more time with --time; look for what else this machine is doing",
        )
    drifting = [found for times in row.steady if (found := _change(times)) is not None]
    if 2 * len(drifting) <= len(row.steady):
        return None
    return Flag(
        "drift",
        drifting[0],
        "find out what changes (heat, frequency, other work), or allow more time and launches",
    )


def _change(times: Floats) -> str | None:
    """How the times of one measurement drift, in words; None where they do not."""
    if times.size < FEWEST:
        return None
    changes = change_points(times, least=_MOST_CHANGE)
    if len(changes) == 1:
        (change,) = changes
        part = percent(change.index / times.size)
        return f"from {us(change.before)} to {us(change.after)} after {part} of the samples"
    slope = trend(times)
    if slope.significant and abs(slope.slope_share) > _MOST_DRIFT:
        way = "slower" if slope.slope_share > 0 else "faster"
        return f"{percent(abs(slope.slope_share))} {way} at the end than at the beginning"
    return None


def bimodal(row: Evidence) -> Flag | None:
    moved = _moved(row)
    if moved is not None:
        return moved
    for times in row.steady:
        found = two_modes(times)
        if found is not None:
            line = "; the line did not move with it" if row.measurements[0].cache_line_rtts else ""
            return Flag(
                "bimodal",
                f"{percent(found.low_share)} of the samples around {us(found.low)}, "
                f"{percent(found.high_share)} around {us(found.high)}{line}",
                "two things are mixed: look for a second path, a timer, or another process",
            )
    return None


def _moved(row: Evidence) -> Flag | None:
    """Two kinds of times because the cores moved, as the core-to-core round trips show."""
    if row.times.main is None:
        return None
    of_state = [
        np.concatenate([times[n] for times in row.times.split])
        for n in range(len(row.times.states))
    ]
    known = [(n, float(np.median(times))) for n, times in enumerate(of_state) if times.size]
    low, high = min(known, key=lambda k: k[1]), max(known, key=lambda k: k[1])
    if high[1] - low[1] <= LEAST_DISTANCE * row.summary.latency:
        return None
    total = sum(times.size for times in of_state)
    kinds = " and ".join(
        f"{us(middle)} while the line took {_range(row, n)} ns "
        f"({percent(of_state[n].size / total)})"
        for n, middle in (low, high)
    )
    return Flag(
        "bimodal",
        f"{kinds}: the cores moved; the row is of {us(row.summary.latency)} only",
        "keep to one state with --placement-state near, or far",
    )


def _range(row: Evidence, state: int) -> str:
    """The core-to-core round trips of a state, by its number, ns."""
    low, high = row.times.states[state]
    return f"{low:.0f}" if high < 1.1 * low else f"{low:.0f} to {high:.0f}"


def autocorrelated(row: Evidence) -> Flag | None:
    known = [autocorrelation(times) for times in row.steady if times.size >= FEWEST]
    if not known:
        return None
    median = sorted(known, key=lambda found: found.time)[len(known) // 2]
    if median.time < _MOST_CORRELATION:
        return None
    return Flag(
        "autocorrelated",
        f"{median.time * median.effective:,.0f} samples count as {median.effective:.0f}: each says "
        "much of the next",
        "allow more time with --time, or several --launches; the interval allows for it",
    )


def not_converged(row: Evidence) -> Flag | None:
    target = row.run.header.plan.get("ci")
    # A bandwidth over all the time has no interval.
    if not isinstance(target, float) or row.is_over_all_time:
        return None
    width = relative_width(row.summary)
    launches = len({m.launch for m in row.measurements})
    stopped = {m.stopped for m in row.measurements}
    time_was_up = launches == 1 and "time" in stopped
    is_wide = width > target * (1 + _ROUNDING)
    # Where as few samples were taken as requested, there may be no interval, and that is no fault.
    if not time_was_up and (not is_wide or math.isinf(width)):
        return None
    requested, reached = percent(target), percent(width)
    if requested == reached:
        reached = f"{significant(100 * width, 4)} %"
    if launches > 1:
        seen = f"{launches} launches agree within {reached} only, not {requested}"
        advice = "take more --launches, or --until-ci"
        if row.run.header.plan.get("until_ci"):
            advice = "raise --max-launches, or ask for less with --ci"
    elif time_was_up:
        seen = f"the time was up before the interval was within {requested}"
        advice = "allow more time with --time, or ask for less with --ci"
    elif "full" in stopped:
        seen = f"all samples that are kept came before the interval was within {requested}"
        advice = "take more slices, or ask for less with --ci"
    elif len(row.measurements) == 1:
        seen = f"it came within {requested}, but what is left of one state only within {reached}"
        advice = "allow more time with --time; see --placement-state"
    else:
        seen = f"each slice came within {requested}, all of them only within {reached}"
        advice = "compare the slices (their lines, if virtual cores move), and take more"
    return Flag("not-converged", seen, advice)
