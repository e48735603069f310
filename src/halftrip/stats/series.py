"""The times of a configuration: all its slices in all launches, and which of them count."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from halftrip.stats.median import FEWEST_FOR_INTERVAL, median, median_if_known
from halftrip.stats.quantile import Floats
from halftrip.stats.settle import settled_from
from halftrip.stats.slices import slice_times
from halftrip.stats.states import State, block_states, states
from halftrip.stats.summary import SliceTimes, Summary, summarize

# Of several launches, one with less than a third of the slices of another was cut short.
_SHORT = 3


class RecordedSlice(Protocol):
    """What a measurement has of one slice of a configuration, in the launch of number `launch`:
    the one-way times of each block, shape (n,), ns, in time order, all of them together, and the
    core-to-core round trips before the first block and after each, ns; empty where they are not
    known."""

    @property
    def launch(self) -> int: ...

    @property
    def one_way_blocks(self) -> Sequence[Floats]: ...

    @property
    def one_way_times(self) -> Floats: ...

    @property
    def core_to_core_rtts(self) -> Sequence[float]: ...


@dataclass(frozen=True, eq=False)
class ConfigurationTimes:
    """The times of a configuration in all slices with samples.

    `launches` and `slices` have the launch of each slice, and its times with their median.
    `counted` says which slices count: not those in which the path was still warming up.
    `launches_begun` is how many launches there were that were not cut short, with samples or
    without; `cut_short` has the numbers of the others. `recorded` are the slices with samples.
    """

    recorded: Sequence[RecordedSlice]
    launches_begun: int
    launches: Sequence[int]
    slices: Sequence[SliceTimes]
    counted: Sequence[bool]
    cut_short: frozenset[int] = frozenset()

    @cached_property
    def by_launch(self) -> dict[int, list[SliceTimes]]:
        """The slices that count, by launch."""
        found: dict[int, list[SliceTimes]] = {}
        for launch, each, counts in zip(self.launches, self.slices, self.counted, strict=True):
            if counts:
                found.setdefault(launch, []).append(each)
        return found

    @property
    def repeats(self) -> list[tuple[float, float]]:
        """The core-to-core round trip (NaN: not known) and the median time of each launch, or, of a
        single launch, of each slice: slices of one launch have in common what launches differ
        by."""
        launches = list(self.by_launch.values())
        if len(launches) < 2:
            return [(each.rtt, each.median.median) for slices in launches for each in slices]
        return [
            (
                median_if_known([each.rtt for each in slices]),
                median([each.median.median for each in slices]),
            )
            for slices in launches
        ]

    @cached_property
    def of_slice(self) -> dict[int, SliceTimes]:
        """The times of each slice with samples, by its identity."""
        return {id(each): of for each, of in zip(self.recorded, self.slices, strict=True)}

    @cached_property
    def steady(self) -> list[Floats]:
        """The times of each slice that counts."""
        return [each.times for slices in self.by_launch.values() for each in slices]


def configuration_times(
    series: Sequence[RecordedSlice],
    unit: float = 0.0,
    within: bool = True,
    of: ConfigurationTimes | None = None,
    known: Sequence[SliceTimes | None] | None = None,
) -> ConfigurationTimes:
    """The times of a configuration from all its slices, in the order of launch and slice; in each
    launch the leading slices of a path that was still warming up do not count, nor do launches that
    were cut short. Times were recorded in multiples of `unit`, ns (0: not known); `within` is that
    of `interval.of_samples`. `of` are the times of the whole row where `series` are some of its
    slices, such as those in one state: few slices do not say then that a launch was cut short, and
    what is known of a slice is not computed again. `known` is `slice_times` of the same slices,
    where that was asked before."""
    if of is None:
        every = zip(series, known or slice_times(series, within), strict=True)
        sampled = [(each, times) for each, times in every if times is not None]
        recorded = [each for each, _ in sampled]
        slices = [times._replace(median=times.median.at_least(unit)) for _, times in sampled]
    else:
        recorded = [each for each in series if id(each) in of.of_slice]
        slices = [of.of_slice[id(each)] for each in recorded]
    launches = [each.launch for each in recorded]
    counted = [True] * len(recorded)
    for launch in dict.fromkeys(launches):
        of_launch = [n for n, other in enumerate(launches) if other == launch]
        for n in of_launch[: settled_from([slices[n].median.median for n in of_launch])]:
            counted[n] = False
    if of is None:
        short = frozenset(_leave_out_short(launches, counted))
        begun = len({each.launch for each in series} - short)
    else:
        short, begun = of.cut_short, of.launches_begun
        counted = [
            counts and launch not in short for launch, counts in zip(launches, counted, strict=True)
        ]
    return ConfigurationTimes(
        recorded=recorded,
        launches_begun=begun,
        launches=launches,
        slices=slices,
        counted=counted,
        cut_short=short,
    )


def _leave_out_short(launches: Sequence[int], counted: list[bool]) -> set[int]:
    """Leaves out launches that were cut short, such as one that was interrupted, and gone on with
    in another launch. Returns their numbers.

    Of two launches, that is one with fewer slices than an interval takes, where the other has more:
    of the two together, there would be hardly any interval. Of more, one with less than a third of
    the slices of another: a slow launch has fewer slices in its time than a fast one, and counts.
    """
    slices = Counter(launches)
    most = max(slices.values(), default=0)
    fewest = most / _SHORT if len(slices) > 2 else FEWEST_FOR_INTERVAL
    if most < FEWEST_FOR_INTERVAL:
        return set()
    short = {launch for launch, count in slices.items() if count < fewest}
    for n, launch in enumerate(launches):
        counted[n] &= launch not in short
    return short


def summarize_configuration(
    times: ConfigurationTimes,
    size: float = 0,
    first: float = 0.0,
    delivered: float = 1.0,
    single: bool = True,
) -> Summary:
    """The summary of a configuration; see `summary.summarize`."""
    by_launch = times.by_launch
    summary = summarize(list(by_launch.values()), size, first, delivered, single)
    if len(by_launch) < min(2, times.launches_begun):
        # An interval of the only launch with samples would not hold for the others.
        return summary._replace(low=math.nan, high=math.nan)
    return summary


def rtt_states(series: Iterable[RecordedSlice]) -> list[State]:
    """The states of the machine during these slices, the fastest first; none where round trips are
    not known."""
    return states([rtt for each in series for rtt in each.core_to_core_rtts])


def by_state(series: Iterable[RecordedSlice], known: Sequence[State]) -> list[Floats]:
    """The times of the blocks in each of the states `known`, of all slices; blocks in which the
    state changed, and slices without round trips, belong to none."""
    of_state: list[list[Floats]] = [[np.empty(0)] for _ in known]
    for each in series:
        rtts = each.core_to_core_rtts
        if not rtts:
            continue
        for block, number in zip(each.one_way_blocks, block_states(known, rtts), strict=True):
            if number is not None:
                of_state[number].append(block)
    return [np.concatenate(blocks) for blocks in of_state]
