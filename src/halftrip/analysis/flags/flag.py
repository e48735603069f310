"""A flag: a reason to doubt a row; and the evidence from which the rules find one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from halftrip.analysis.like_states import MeasuredRow, Part
from halftrip.analysis.states import (
    CORE_TO_CORE,
    Probed,
    RunStates,
    State,
    probed,
)
from halftrip.analysis.summaries import (
    first_message,
    is_over_all_time,
    summarize_configuration,
)
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.usage import Usage, add_both_ends
from halftrip.stats.adjustment import Adjusted, Correlation, adjusted, rank_correlation
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.summary import Summary
from halftrip.units import significant

# The rules need this many samples of a slice, as warm-up does.
FEWEST = 24


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known of one row of a run, `measured` in all states: its measurements, one for each
    slice, their times, its summary, its latency at the run's typical core-to-core round trip (None:
    not known), how many of its messages arrived, the resource usage of both ends, and the
    core-to-core round trips, ns, with their median (None: none is known).

    Where its times go with a state of the machine, all this is of the slices in that `state` (None:
    of all slices); `others` has the same of the row's other states."""

    run: Run
    measured: MeasuredRow
    configuration: Configuration
    measurements: Sequence[Measurement]
    times: ConfigurationTimes
    summary: Summary
    adjusted: Adjusted | None
    delivery: Delivery | None
    usage: tuple[Usage, Usage] | None
    rtts: Sequence[float]
    median_rtt: float | None
    state: State | None = None
    others: Sequence[Evidence] = ()
    _found: dict[Rule, Flag | None] = field(default_factory=dict)

    def found_by(self, rule: Rule) -> Flag | None:
        """What a rule finds. Rules are asked twice: for the flags and for the verdict."""
        if rule not in self._found:
            self._found[rule] = rule(self)
        return self._found[rule]

    @property
    def is_over_all_time(self) -> bool:
        """Whether the bandwidth is not that of the median window; see `summaries`."""
        return is_over_all_time(self.configuration, self.delivery)

    @property
    def usage_by_rank(self) -> list[tuple[int, Usage]]:
        """The ranks of both ends and their usage; empty where it is not known."""
        return (
            []
            if self.usage is None
            else list(zip(self.configuration.pair, self.usage, strict=True))
        )

    @cached_property
    def with_rtt(self) -> Correlation | None:
        """Whether the medians of slices go with the core-to-core round trip."""
        slices = self.times.slices
        return rank_correlation(
            [each.rtt for each in slices], [each.median.median for each in slices]
        )

    @property
    def steady(self) -> list[Floats]:
        """The times of each slice that counts."""
        return self.times.steady


# A rule finds a flag of a row in what is known of it, or none.
Rule = Callable[[Evidence], Flag | None]


def evidence(
    run: Run,
    configuration: Configuration,
    measurements: Sequence[Measurement],
    typical: dict[Probed, float],
    states: RunStates,
) -> Evidence:
    """The evidence of one row; `measurements` are all those of its configuration, at least one.
    `typical` has the typical round trip of each pair.

    Where its times go with a state, it is that of the state that held most in the run, of those in
    which the row has an interval."""
    row = MeasuredRow(configuration, measurements, states.of(configuration), within=True)
    if len(row.by_state) < 2:
        state = row.by_state[0].state if row.by_state else None
        return _evidence(run, row, row.whole, typical, state)
    found = [
        _evidence(run, row, part, typical, each.state)
        for each, part in zip(row.by_state, row.parts, strict=True)
    ]
    found.sort(key=lambda each: math.isnan(each.summary.low))
    # The very first iteration is that of the row, whatever state it was in.
    first = first_message(measurements)
    main, *others = (replace(each, summary=each.summary._replace(first=first)) for each in found)
    return replace(main, others=others)


def _evidence(
    run: Run, row: MeasuredRow, part: Part, typical: dict[Probed, float], state: State | None
) -> Evidence:
    """That of a part of a row, which has its slices in `state`."""
    configuration, measurements = row.configuration, part.measurements
    times, delivery = row.times_of(part), part.delivery
    rtts = [rtt for measurement in measurements for rtt in measurement.core_to_core_rtts]
    return Evidence(
        run=run,
        measured=row,
        configuration=configuration,
        measurements=measurements,
        times=times,
        summary=summarize_configuration(measurements, times, delivery),
        adjusted=adjusted_latency(times, typical, configuration, state),
        delivery=delivery,
        usage=add_both_ends(measurement.usage for measurement in measurements),
        rtts=rtts,
        median_rtt=median(rtts) if rtts else None,
        state=state,
    )


def us(ns: float) -> str:
    """A time in the text of a flag."""
    return f"{significant(ns / 1e3, 3)} us"


def counted(count: int, noun: str) -> str:
    """A number of things: ``1 sample``, ``1,234 samples``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def percent(share: float) -> str:
    """A share in the text of a flag; ``anything`` for an infinite one."""
    return f"{significant(100 * share, 2)} %" if math.isfinite(share) else "anything"


def typical_rtts(run: Run) -> dict[Probed, float]:
    """The median of all core-to-core round trips of each pair in the run, ns."""
    probes: dict[Probed, list[float]] = {}
    for measurement in run.measurements:
        probes.setdefault(probed(measurement.configuration), []).extend(
            measurement.core_to_core_rtts
        )
    return {pair: median(rtts) for pair, rtts in probes.items() if rtts}


def adjusted_latency(
    times: ConfigurationTimes,
    rtts: dict[Probed, float],
    configuration: Configuration,
    state: State | None = None,
) -> Adjusted | None:
    """The latency of a configuration at the typical core-to-core round trip of its pair, or of the
    state that all its slices are in. None if
    that is not known, if fewer than six slices count (or, of several launches, six launches), or if
    the round trip did not vary between these."""
    typical = rtts.get(probed(configuration))
    if state is not None and state.quantity is CORE_TO_CORE:
        typical = state.value
    if typical is None:
        return None
    repeats = times.repeats
    return adjusted([rtt for rtt, _ in repeats], [time for _, time in repeats], typical)
