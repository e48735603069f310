"""The samples of a case, by the state of the machine in which they were taken."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.quantile import Floats
from halftrip.stats.states import State, block_states, states
from halftrip.stats.summary import Summary, summarize


class Series(NamedTuple):
    """The times of one measurement of a case, in the launch of number `launch`.

    `blocks` are the one-way times of each block, shape (n,), ns, in time order, and `rtts` the
    core-to-core round trips before the first block and after each, ns; empty where they are not
    known.
    """

    launch: int
    blocks: Sequence[Floats]
    rtts: Sequence[float]

    @property
    def times(self) -> Floats:
        """The times of all blocks, shape (n,)."""
        return np.concatenate(self.blocks) if self.blocks else np.empty(0)


class CaseTimes(NamedTuple):
    """The times of a case in all its measurements.

    `times` has the times of each measurement, ns. `states` are the states of the machine in these,
    the fastest first; where there are several, `split` has the times of each measurement by state,
    and `main` is the number of the state that the summary of the case is of (None: all times
    count).
    """

    launches: Sequence[int]
    times: Sequence[Floats]
    states: Sequence[State]
    split: Sequence[Sequence[Floats]]
    main: int | None

    @property
    def steady(self) -> list[Floats]:
        """The times of each measurement in the main state; some may be empty."""
        if self.main is None:
            return list(self.times)
        return [times[self.main] for times in self.split]

    @property
    def by_launch(self) -> dict[int, list[Floats]]:
        """The times of each measurement in the main state by launch, without empty ones."""
        found: dict[int, list[Floats]] = {}
        for launch, times in zip(self.launches, self.steady, strict=True):
            if times.size:
                found.setdefault(launch, []).append(times)
        return found


def rtt_states(series: Iterable[Series]) -> list[State]:
    """The states of the machine during these measurements, the fastest first; none where round
    trips are not known."""
    return states([rtt for each in series for rtt in each.rtts])


def case_times(series: Sequence[Series]) -> CaseTimes:
    """The times of a case from all its measurements, at least one.

    The main state is the one in which most was measured. Each launch has one vote, divided among
    the states by its samples there; its number of samples does not count, as a noisier launch takes
    more.
    """
    launches = [each.launch for each in series]
    times = [each.times for each in series]
    known = rtt_states(series)
    if len(known) < 2:
        return CaseTimes(launches, times, known, [], None)
    split = [_by_state(each, known) for each in series]
    votes: dict[int, Floats] = {}
    for launch, parts in zip(launches, split, strict=True):
        counts = np.array([part.size for part in parts], dtype=np.float64)
        votes[launch] = votes.get(launch, 0.0) + counts
    shares = [counts / counts.sum() for counts in votes.values() if counts.any()]
    main = int(np.argmax(np.sum(shares, axis=0))) if shares else None
    return CaseTimes(launches, times, known, split, main)


def _by_state(series: Series, known: Sequence[State]) -> list[Floats]:
    """The times of the blocks in each of the states `known`; blocks in which the state changed
    belong to none. Without round trips, all count as the first state."""
    nothing = np.empty(0)
    if not series.rtts:
        return [series.times, *[nothing] * (len(known) - 1)]
    numbers = block_states(known, series.rtts)
    return [
        np.concatenate(
            [nothing, *(b for b, n in zip(series.blocks, numbers, strict=True) if n == state)]
        )
        for state in range(len(known))
    ]


def summarize_case(
    times: CaseTimes, size: int = 0, first: float = 0.0, delivered: float = 1.0
) -> Summary:
    """The summary of a case in its main state; see `summary.summarize`."""
    by_launch = times.by_launch
    summary = summarize(list(by_launch.values()), size, first, delivered)
    if len(by_launch) == 1 and len(set(times.launches)) > 1:
        # An interval of the only launch in the main state would not hold for the others.
        return summary._replace(low=math.nan, high=math.nan)
    return summary
