"""A flag: a reason to doubt a row; and the evidence from which the rules find one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

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
    launch_components,
    stated_interval,
    summarize_configuration,
)
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery
from halftrip.results.records import Environment, Measurement
from halftrip.results.reported import StatedInterval
from halftrip.results.run import Run
from halftrip.results.usage import CoreUse, Usage, add_both_ends, add_cores
from halftrip.stats.adjustment import Adjusted, Correlation, adjusted, rank_correlation
from halftrip.stats.median import median
from halftrip.stats.modes import TwoModes, two_modes, two_modes_of_each
from halftrip.stats.quantile import Floats
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.summary import Components, SliceTimes, Summary, relative_width
from halftrip.units import significant

_Found = TypeVar("_Found")

# The rules need this many samples of a slice, as warm-up does.
FEWEST = 24
# The interval's wider side, as a share of the latency, up to which a row is ok.
OK_WIDTH = 0.02
# The modes of so many rows are found together, of up to so many samples each: of more, numpy takes
# longer to compute than to be called.
_FEWEST_TOGETHER, _MOST_TOGETHER = 8, 4096


class Flag(NamedTuple):
    """A reason to doubt a row: its name, what was seen, and what to do."""

    name: str
    seen: str
    advice: str


def together(flags: Sequence[Flag]) -> Flag:
    """Several flags, at least one, as one with the name of the first, which says all."""
    seen = "; ".join(flag.seen for flag in flags)
    # Whichever is larger in a row: rows with the same advice stand together.
    return flags[0]._replace(seen=seen, advice="; ".join(sorted({f.advice for f in flags})))


class Finding(NamedTuple):
    """What was seen of a cause in a row, and the share that it has: of an end's time, or, of what
    widens the interval, of the latency (NaN: none is known). `advice` is in place of that of the
    table of causes, where it depends on what was seen."""

    seen: str
    share: float = math.nan
    advice: str = ""


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
    _found: dict[Callable[[Evidence], Any], Any] = field(default_factory=dict)

    def found_by(self, rule: Callable[[Evidence], _Found]) -> _Found:
        """What a rule finds. Rules are asked twice: for the flags and for the verdict."""
        if rule not in self._found:
            self.know(rule, rule(self))
        found: _Found = self._found[rule]
        return found

    def know(self, rule: Callable[[Evidence], _Found], found: _Found) -> None:
        """Keeps what a rule has found, or would find."""
        self._found[rule] = found

    @property
    def is_over_all_time(self) -> bool:
        """Whether the bandwidth is not that of the median window; see `summaries`."""
        return is_over_all_time(self.configuration, self.delivery)

    @property
    def stated(self) -> StatedInterval | None:
        """The interval that the source of what was imported states."""
        return stated_interval([m.reported for m in self.measurements if m.reported is not None])

    @cached_property
    def ranks(self) -> list[Environment]:
        """The environments of its two ranks, in all launches of its variant."""
        return self.run.ranks_of(self.configuration)

    @cached_property
    def components(self) -> Components | None:
        """By how much its launches differ; see `summaries.launch_components`."""
        return launch_components(self.times)

    @cached_property
    def usage_by_rank(self) -> list[tuple[int, Usage]]:
        """The ranks of both ends and their usage; empty where it is not known. Where the slices of
        an end ran on several cores, as those of several launches may, the use of these is added."""
        if self.usage is None:
            return []
        ends = enumerate(zip(self.configuration.pair, self.usage, strict=True))
        return [(rank, self._of_all_cores(end, usage)) for end, (rank, usage) in ends]

    def cores_of(self, end: int) -> list[CoreUse]:
        """The use of the core of one end in each slice; empty where it is not known of all."""
        usages = [each.usage[end] for each in self.measurements if each.usage is not None]
        cores = [usage.core for usage in usages if usage.core is not None]
        return cores if len(cores) == len(usages) else []

    def _of_all_cores(self, end: int, usage: Usage) -> Usage:
        cores = self.cores_of(end)
        if usage.core is not None or not cores:
            return usage
        alike = [msgspec.structs.replace(core, number=cores[0].number) for core in cores]
        return msgspec.structs.replace(usage, core=add_cores(alike))

    @cached_property
    def counted(self) -> list[tuple[Measurement, SliceTimes]]:
        """The slices that count, with their times."""
        sampled = [each for each in self.measurements if each.is_sampled]
        every = zip(sampled, self.times.slices, self.times.counted, strict=True)
        return [(each, times) for each, times, counts in every if counts]

    @cached_property
    def with_rtt(self) -> Correlation | None:
        """Whether the medians of slices go with the core-to-core round trip."""
        slices = self.times.slices
        return rank_correlation(
            [each.rtt for each in slices], [each.median.median for each in slices]
        )

    @property
    def modes(self) -> TwoModes | None:
        """The two modes of all slices that count, together."""
        return self.found_by(_modes)

    @property
    def steady(self) -> list[Floats]:
        """The times of each slice that counts."""
        return self.times.steady


def _modes(row: Evidence) -> TwoModes | None:
    return two_modes(np.concatenate(row.steady)) if row.steady else None


def find_modes(rows: Iterable[Evidence]) -> None:
    """Finds the modes of rows whose verdict asks for them, of those with equally many samples
    together, where there are many: as each would find its own."""
    by_size: dict[int, list[Evidence]] = {}
    for row in rows:
        if not relative_width(row.summary) <= OK_WIDTH:
            by_size.setdefault(sum(each.size for each in row.steady), []).append(row)
    for size, alike in by_size.items():
        if 0 < size <= _MOST_TOGETHER and len(alike) >= _FEWEST_TOGETHER:
            every = np.array([np.concatenate(row.steady) for row in alike])
            for row, found in zip(alike, two_modes_of_each(every), strict=True):
                row.know(_modes, found)


# A rule finds a cause in what is known of a row, or none.
Rule = Callable[[Evidence], Finding | None]


def evidence(
    run: Run,
    configuration: Configuration,
    measurements: Sequence[Measurement],
    typical: dict[Probed, float],
    states: RunStates,
    known: Sequence[SliceTimes | None],
) -> Evidence:
    """The evidence of one row; `measurements` are all those of its configuration, at least one,
    and `known` is `slice_times` of them. `typical` has the typical round trip of each pair.

    Where its times go with a state, it is that of the state that held most in the run, of those in
    which the row has an interval."""
    row = MeasuredRow(configuration, measurements, states.of(configuration), True, known)
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
