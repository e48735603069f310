"""Flags about a row's own samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.flags.cause import KEEP_FREQUENCY, KEEP_STATE
from halftrip.analysis.flags.flag import FEWEST, Evidence, Finding, percent, us
from halftrip.analysis.flags.machine import can_move, core_at
from halftrip.results.block import Times
from halftrip.stats.autocorrelation import autocorrelation
from halftrip.stats.drift import change_points, level_change, slice_trend, trend
from halftrip.stats.granularity import granularity_of_ordered, most_granularities
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median, median_of_ordered
from halftrip.stats.modes import LEAST_DISTANCE, two_modes
from halftrip.stats.quantile import Floats
from halftrip.stats.series import by_state, rtt_states
from halftrip.stats.states import State
from halftrip.stats.summary import relative_width
from halftrip.units import significant

# A step of the clock may be this share of a sample (see batch.CLOCK_SHARE), and so may the error of
# a printed figure because of the digits that it lacks.
_MOST_CLOCK_STEP = 0.01
# The first iteration is always the slowest. It is worth a flag where it takes as long as this many
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
# Clock rates that differ by no more are the same; the kernel's figure is that of a moment, so that
# round trips go with it no better.
_SAME_RATE = 1.05
_SAME_PRODUCT = 1.2
# A width that differs from the target by no more than this share of it is rounding.
_ROUNDING = 1e-9


def coarse_clock(row: Evidence) -> Finding | None:
    # Leading slices, too: the clock is the same.
    taken = [m.samples for m in row.measurements if m.samples.size >= FEWEST]
    if _have_small_steps(taken):
        return None
    slices = [np.sort(samples) for samples in taken]
    # Times that are all equal, but not 0, do not tell the step.
    steps = [
        granularity_of_ordered(times) / middle
        if (middle := median_of_ordered(times)) > 0
        else math.inf
        for times in slices
        if times[0] < times[-1] or times[-1] <= 0
    ]
    share = median(steps) if 2 * len(steps) > len(slices) else 0.0
    if share <= _MOST_CLOCK_STEP:
        return None
    middle = median(np.concatenate(slices))
    return Finding(
        f"times come in steps of {share * middle:.0f} ns, {percent(share)} of a sample"
        if math.isfinite(share)
        else "most samples took no time by this clock",
        share,
    )


def _have_small_steps(slices: Sequence[Times]) -> bool:
    """Whether no step in any of these slices can matter, as is told without looking for steps: of
    nearly all rows of a fine clock. Not known of slices that differ in their number of samples."""
    if len({samples.size for samples in slices}) != 1:
        return False
    ordered = np.sort(np.array(slices), axis=1)
    # Two samples are at most as far apart, and the median is no less than the lowest one.
    is_small = most_granularities(ordered) < _MOST_CLOCK_STEP * ordered[:, 0]
    return bool((ordered[:, 0] < ordered[:, -1]).all() and is_small.all())


def few_digits(row: Evidence) -> Finding | None:
    """The printed time has too few digits for what the row claims."""
    steps = [m.reported.step for m in row.measurements if m.reported is not None]
    latency = row.summary.latency
    # Several figures average their rounding out.
    rounding = max(steps, default=0.0) / 2 / max(len(steps), 1) ** 0.5
    if not latency > 0 or rounding <= _MOST_CLOCK_STEP * latency:
        return None
    return Finding(
        f"times are printed in steps of {us(max(steps))}, so that this one may be off by "
        f"{percent(rounding / latency)}",
        rounding / latency,
    )


def cold_start(row: Evidence) -> Finding | None:
    firsts = [m.first for m in row.measurements if m.slice == 0 and m.first is not None]
    usual = row.summary.latency * row.configuration.messages_per_iteration
    if not firsts or not usual > 0:
        return None
    first = median(firsts)
    times = first / usual
    if times < _COLD_TIMES and not (times >= _COLD_TIMES_IF_LONG and first >= _LONG_NS):
        return None
    return Finding(f"the first iteration took {us(first)}, as long as {times:,.0f} later ones")


def unsettled(row: Evidence) -> Finding | None:
    """In most slices warm-up had not settled when its time was up. Not known of a fixed count."""
    found = [
        m.warm_up
        for m in row.measurements
        if m.warm_up is not None and m.warm_up.settled is False and len(m.samples) >= FEWEST
    ]
    if 2 * len(found) <= len(row.measurements):
        return None
    return Finding(f"after {us(found[0].ns)} of warm-up the times still changed")


def drift(row: Evidence) -> Finding | None:
    seen = _within_slices(row) or _over_slices(row)
    return None if seen is None else Finding(seen)


class _Change(NamedTuple):
    """How times change, in words, and by which share."""

    seen: str
    share: float


def _within_slices(row: Evidence) -> str | None:
    """How the times of most slices drift, all in the same direction."""
    slices = [times for times in row.steady if times.size >= FEWEST]
    found: list[_Change] = []
    for place, times in enumerate(slices):
        change = _change(times)
        if change is not None:
            found.append(change)
        elif 2 * (place + 1 - len(found)) >= len(slices):
            # Half of them do not drift.
            return None
    for way in (1.0, -1.0):
        alike = [change for change in found if way * change.share > 0]
        if 2 * len(alike) > len(slices):
            where = f", in {len(alike)} of {len(slices)} slices" if len(slices) > 1 else ""
            return alike[0].seen + where
    return None


def _change(times: Floats) -> _Change | None:
    """How the times of one slice drift; None where they do not."""
    changes = change_points(times, least=_MOST_CHANGE)
    if len(changes) == 1:
        (change,) = changes
        part = percent(change.index / times.size)
        return _Change(
            f"from {us(change.before)} to {us(change.after)} after {part} of the samples",
            change.after - change.before,
        )
    slope = trend(times)
    if slope.significant and abs(slope.slope_share) > _MOST_DRIFT:
        return _Change(_slower(slope.slope_share), slope.slope_share)
    return None


def _slower(share: float) -> str:
    way = "slower" if share > 0 else "faster"
    return f"{percent(abs(share))} {way} at the end than at the beginning"


def _over_slices(row: Evidence) -> str | None:
    """How the medians of the slices drift, in most launches."""
    launches = list(dict.fromkeys(row.times.launches))
    found = [change for launch in launches if (change := _of_launch(row, launch)) is not None]
    return found[0] if 2 * len(found) > len(launches) else None


def _of_launch(row: Evidence, launch: int) -> str | None:
    every = zip(row.times.launches, row.times.slices, row.times.counted, strict=True)
    slices = [(each.median.median, counts) for other, each, counts in every if other == launch]
    medians = [median for median, counts in slices if counts]
    # A slow beginning was left out; if that was half of the slices, it was no beginning.
    if 2 * len(medians) <= len(slices):
        medians = [median for median, _ in slices]
    if len(medians) < FEWEST_FOR_INTERVAL:
        return None
    slope = slice_trend(medians)
    if slope.significant and abs(slope.slope_share) > _MOST_DRIFT:
        return f"{_slower(slope.slope_share)} of {len(medians)} slices"
    step = level_change(medians, _MOST_CHANGE)
    if step is None:
        return None
    return f"from {us(step.before)} to {us(step.after)} after {step.index} of {len(medians)} slices"


def bimodal(row: Evidence) -> Finding | None:
    # All slices of a launch together: one may be too short to see both modes.
    for slices in row.times.by_launch.values():
        is_all = len(row.times.by_launch) == 1
        found = row.modes if is_all else two_modes(np.concatenate([s.times for s in slices]))
        if found is not None:
            return Finding(
                f"{percent(found.low_share)} of the samples around {us(found.low)}, "
                f"{percent(found.high_share)} around {us(found.high)}{_with_rtt(row)}"
            )
    return None


def _with_rtt(row: Evidence) -> str:
    """Whether the times of slices go with the core-to-core round trip; empty where chance explains
    it."""
    found = row.with_rtt
    if found is None or not found.significant:
        return ""
    return (
        "; the core-to-core round trip moved with it "
        f"(rank correlation {found.value:.2f} over {found.points} slices)"
    )


def cores_moved(row: Evidence) -> Finding | None:
    """Two kinds of times because the cores moved, as the core-to-core round trips show."""
    states = rtt_states(row.measurements)
    if len(states) < 2:
        return None
    of_state = by_state(row.measurements, states)
    known = [(n, median(times)) for n, times in enumerate(of_state) if times.size]
    if len(known) < 2:
        return None
    low, high = min(known, key=lambda k: k[1]), max(known, key=lambda k: k[1])
    if high[1] - low[1] <= LEAST_DISTANCE * row.summary.latency:
        return None
    total = sum(times.size for times in of_state)
    kinds = " and ".join(
        f"{us(middle)} while the core-to-core round trip took {_range(states[n])} ns "
        f"({percent(of_state[n].size / total)})"
        for n, middle in (low, high)
    )
    clock = _clock_rates(row, [states[n] for n in (low[0], high[0])])
    if clock:
        return Finding(f"{kinds}: {clock}", advice=KEEP_FREQUENCY)
    if any(map(can_move, row.ranks)):
        return Finding(f"{kinds}: the cores moved", advice=KEEP_STATE)
    return Finding(kinds)


def _clock_rates(row: Evidence, states: Sequence[State]) -> str:
    """The clock rates of a core in two states, where the round trip times these is the same;
    empty elsewhere, and where they are not known."""
    for end in (0, 1):
        rates = []
        for state in states:
            found = [
                each.usage[end].core
                for each in row.measurements
                if each.usage
                and each.core_to_core_rtts
                and state.has(median(each.core_to_core_rtts))
            ]
            known = [core.hertz for core in found if core is not None and core.hertz]
            rates.append(median(known) if known else math.nan)
        faster, slower = rates
        products = [
            rate * (state.low + state.high) for rate, state in zip(rates, states, strict=True)
        ]
        if faster > _SAME_RATE * slower and max(products) <= _SAME_PRODUCT * min(products):
            gigahertz = [significant(rate / 1e9, 2) for rate in rates]
            return f"{core_at(row, end)} ran at {gigahertz[0]}, then {gigahertz[1]} GHz"
    return ""


def _range(state: State) -> str:
    """The core-to-core round trips of a state, ns."""
    low, high = state
    return f"{low:.0f}" if high < 1.1 * low else f"{low:.0f} to {high:.0f}"


def autocorrelated(row: Evidence) -> Finding | None:
    known = [autocorrelation(times) for times in row.steady if times.size >= FEWEST]
    if not known:
        return None
    typical = sorted(known, key=lambda found: found.time)[len(known) // 2]
    if typical.time < _MOST_CORRELATION:
        return None
    return Finding(
        f"{typical.time * typical.effective:,.0f} samples count as {typical.effective:.0f}: each "
        "says much of the next"
    )


def _agree(width: float, target: float) -> str:
    """How far slices or launches agree, whose interval is so wide, as a share of the figure."""
    if not math.isfinite(width):
        # One launch of several, or times of 0.
        return "have no interval"
    requested, reached = percent(target), percent(width)
    if width >= 1:
        return f"do not agree within 100 %; {requested} was asked for"
    if requested == reached:
        reached = f"{significant(100 * width, 4)} %"
    return f"agree within {reached} only, not {requested}"


def not_converged(row: Evidence) -> Finding | None:
    target = row.run.header.plan.get("ci")
    # A bandwidth over all the time has no interval.
    if not isinstance(target, float) or row.is_over_all_time:
        return None
    # A fixed count, as a part of a plan may have it, has no target.
    if any(measurement.stopped == "count" for measurement in row.measurements):
        return None
    width = relative_width(row.summary)
    if width <= target * (1 + _ROUNDING):
        return None
    agree = _agree(width, target)
    launches = len(row.times.by_launch)
    if row.times.launches_begun > 1:
        seen = f"{launches} launches {agree}" if launches != 1 else "one launch has no interval"
        advice = "take more --launches, or --until-ci"
        if row.run.header.plan.get("until_ci"):
            advice = "raise --max-launches, or ask for less with --ci"
        return Finding(seen, advice=advice)
    slices = sum(row.times.counted)
    if slices <= 1:
        seen = "one slice of time: no interval, as nothing tells how another one would come out"
    else:
        seen = f"{slices} slices {agree}"
        if slices < FEWEST_FOR_INTERVAL:
            seen += f"; fewer than {FEWEST_FOR_INTERVAL} have a wide interval, by Student's t"
    return Finding(seen)
