"""Flags that a row's own samples raise."""

from __future__ import annotations

import math

import numpy as np

from halftrip.analysis.flags.flag import FEWEST, Evidence, Flag, Floats, percent, us
from halftrip.analysis.summaries import is_over_all_time
from halftrip.results.delivery import add_deliveries
from halftrip.stats.autocorrelation import autocorrelation
from halftrip.stats.drift import change_points, trend
from halftrip.stats.granularity import granularity
from halftrip.stats.modes import two_modes
from halftrip.stats.summary import relative_width
from halftrip.units import significant

# A step of the clock may be this share of a sample; see sampler.CLOCK_SHARE.
_MOST_STEP = 0.01
# The first exchange is always the slowest of its kind. It is worth a word where whoever starts cold
# pays for so many exchanges; or for fewer, but so long that a person would notice.
_COLD_TIMES = 100.0
_COLD_TIMES_IF_LONG = 10.0
_LONG_NS = 1e6
# From its first to its last sample a row may change by this share of its median.
_MOST_DRIFT = 0.02
_MOST_STEP_UP = 0.05
# Two states of the machine are two kinds of times where their medians are so far apart.
_MODES_APART = 0.05
# So many samples may count as a single independent one: the interval allows for it, but what is
# seen so slowly is seldom seen whole.
_MOST_CORRELATION = 10.0
# A width that differs from the target by no more than this share of it is rounding.
_ROUNDING = 1e-9


def coarse_clock(e: Evidence) -> Flag | None:
    for m in e.measurements:
        samples = np.asarray(m.samples)
        if samples.size < FEWEST:
            continue
        middle = float(np.median(samples))
        # Of times that are all equal, but not 0, no step can be told.
        step = granularity(samples) if samples.min() < samples.max() else 0.0
        if middle <= 0 or step > _MOST_STEP * middle:
            return Flag(
                "coarse-clock",
                f"times come in steps of {step:.0f} ns, {percent(step / middle)} of a sample"
                if middle > 0
                else "most samples took no time by this clock",
                "let samples hold more exchanges (leave out --iterations); see halftrip doctor for "
                "the clock",
            )
    return None


def cold_start(e: Evidence) -> Flag | None:
    firsts = [m.first for m in e.measurements if m.repetition == 0]
    usual = e.summary.latency * e.case.messages_per_exchange
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


def drift(e: Evidence) -> Flag | None:
    restless = [
        m.warm_up for m in e.measurements if not m.warm_up.settled and len(m.samples) >= FEWEST
    ]
    if 2 * len(restless) > len(e.measurements):
        return Flag(
            "drift",
            f"after {us(restless[0].ns)} of warm-up the times still changed",
            "allow more time with --time; look for what else this machine is doing",
        )
    drifting = [found for times in e.steady if (found := _change(times)) is not None]
    if 2 * len(drifting) <= len(e.steady):
        return None
    return Flag(
        "drift",
        drifting[0],
        "find out what changes (heat, frequency, other work), or allow more time and launches",
    )


def _change(times: Floats) -> str | None:
    """How the times of one measurement change in its course, None where they do not."""
    if times.size < FEWEST:
        return None
    steps = change_points(times, least=_MOST_STEP_UP)
    if len(steps) == 1:
        (step,) = steps
        part = percent(step.index / times.size)
        return f"from {us(step.before)} to {us(step.after)} after {part} of the samples"
    slope = trend(times)
    if slope.significant and abs(slope.slope_share) > _MOST_DRIFT:
        way = "slower" if slope.slope_share > 0 else "faster"
        return f"{percent(abs(slope.slope_share))} {way} at the end than at the beginning"
    return None


def bimodal(e: Evidence) -> Flag | None:
    moved = _moved(e)
    if moved is not None:
        return moved
    for times in e.steady:
        found = two_modes(times)
        if found is not None:
            line = "; the line did not move with it" if e.measurements[0].cache_line_rtts else ""
            return Flag(
                "bimodal",
                f"{percent(found.low_share)} of the samples around {us(found.low)}, "
                f"{percent(found.high_share)} around {us(found.high)}{line}",
                "two things are mixed: look for a second path, a timer, or another process",
            )
    return None


def _moved(e: Evidence) -> Flag | None:
    """Two kinds of times because the cores moved: the line tells them apart."""
    if e.times.main is None:
        return None
    of_state = [
        np.concatenate([times[n] for times in e.times.split]) for n in range(len(e.times.states))
    ]
    known = [(n, float(np.median(times))) for n, times in enumerate(of_state) if times.size]
    low, high = min(known, key=lambda k: k[1]), max(known, key=lambda k: k[1])
    if high[1] - low[1] <= _MODES_APART * e.summary.latency:
        return None
    total = sum(times.size for times in of_state)
    kinds = " and ".join(
        f"{us(middle)} while the line took {_line(e, n)} ns ({percent(of_state[n].size / total)})"
        for n, middle in (low, high)
    )
    return Flag(
        "bimodal",
        f"{kinds}: the cores moved; the row is of {us(e.summary.latency)} only",
        "keep to one state with --placement-state near, or far",
    )


def _line(e: Evidence, state: int) -> str:
    low, high = e.times.states[state]
    return f"{low:.0f}" if high < 1.1 * low else f"{low:.0f} to {high:.0f}"


def autocorrelated(e: Evidence) -> Flag | None:
    known = [autocorrelation(times) for times in e.steady if times.size >= FEWEST]
    if not known:
        return None
    one = sorted(known, key=lambda found: found.time)[len(known) // 2]
    if one.time < _MOST_CORRELATION:
        return None
    return Flag(
        "autocorrelated",
        f"{one.time * one.effective:,.0f} samples count as {one.effective:.0f}: each says much of "
        "the next",
        "allow more time with --time, or several --launches; the interval allows for it",
    )


def not_converged(e: Evidence) -> Flag | None:
    target = e.run.header.plan.get("ci")
    delivery = add_deliveries(m.delivery for m in e.measurements)
    # What is over all the time has no interval.
    if not isinstance(target, float) or is_over_all_time(e.case, delivery):
        return None
    width = relative_width(e.summary)
    launches = len({m.launch for m in e.measurements})
    stopped = {m.stopped for m in e.measurements}
    # Of few samples that were all that was asked for there is no interval, and nothing to blame.
    is_wide = width > target * (1 + _ROUNDING)
    if math.isinf(width) and (launches > 1 or "time" not in stopped):
        return None
    wanted, reached = percent(target), percent(width)
    if wanted == reached:
        reached = f"{significant(100 * width, 4)} %"
    if launches > 1:
        seen = f"{launches} launches agree within {reached} only, not {wanted}"
        advice = "take more --launches, or --until-ci"
        if e.run.header.plan.get("until_ci"):
            advice = "raise --max-launches, or ask for less with --ci"
    elif "time" in stopped:
        is_wide = True
        seen = f"the time was up before the interval was within {wanted}"
        advice = "allow more time with --time, or ask for less with --ci"
    elif "full" in stopped:
        seen = f"all samples that are kept came before the interval was within {wanted}"
        advice = "take more repetitions, or ask for less with --ci"
    elif len(e.measurements) == 1:
        seen = f"it came within {wanted}, but what is left of one state only within {reached}"
        advice = "allow more time with --time; see --placement-state"
    else:
        seen = f"each repetition came within {wanted}, all of them only within {reached}"
        advice = "compare the repetitions (their lines, if virtual cores move), and take more"
    return Flag("not-converged", seen, advice) if is_wide else None
