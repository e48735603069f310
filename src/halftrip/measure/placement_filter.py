"""Selects the blocks that were measured in one state of the machine (--placement-state)."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.measure.setup import Setup
from halftrip.plan.plan import Placement
from halftrip.results.block import Block
from halftrip.results.case import Case
from halftrip.stats.states import State, states

# The first probes, and the time that they are spread over: they tell which states there are.
_SURVEY_PROBES = 32
_SURVEY_SECONDS = 0.1
# A state that was probed this often exists, even if it is not seen again.
_FEWEST_PROBES = 6

# What has a core-to-core round trip: a pair, its thread, and whether in virtual time.
_Probed = tuple[tuple[int, int], int, bool]


class PlacementState:
    """The requested state of one pair's cores, as far as it is known from the probes so far. New
    states may appear at any time, and change which state is the nearest or the farthest."""

    def __init__(self, requested: Placement) -> None:
        self._requested = requested
        self._probes: list[float] = []
        self._states: list[State] = []

    def add(self, probes: Sequence[float]) -> None:
        """Takes new core-to-core round trips, ns."""
        self._probes += probes
        seen = states(self._probes)
        unseen = [
            old
            for old in self._states
            if not any(_overlap(old, new) for new in seen)
            and sum(old.has(probe) for probe in self._probes) >= _FEWEST_PROBES
        ]
        self._states = sorted([*seen, *unseen])

    @property
    def known(self) -> State:
        """The nearest or the farthest state that is known; the same, if there is only one."""
        return self._states[0 if self._requested == "near" else -1]


def _overlap(one: State, other: State) -> bool:
    return one.has(other.low) or one.has(other.high) or other.has(one.low)


class PlacementFilter:
    """The requested states of all pairs; with `requested` None every block counts. All ranks have a
    filter, but only rank 0's gets probes."""

    def __init__(self, requested: Placement | None, setup: Setup) -> None:
        self._requested = requested
        self._setup = setup
        self._pairs: dict[_Probed, PlacementState] = {}

    def survey(self, case: Case) -> None:
        """Probes the case's pair for a while, if that has not been done. All ranks call it."""
        probed = _probed(case)
        if self._requested is not None and probed not in self._pairs:
            probes = self._setup.survey(case, _SURVEY_PROBES, _SURVEY_SECONDS)
            self._pairs[probed] = PlacementState(self._requested)
            self._pairs[probed].add(probes)

    def accepted(self, cases: Sequence[Case], blocks: Sequence[Sequence[Block]]) -> list[bool]:
        """Which batches of a round count: those between two probes in the requested state, for all
        of its `cases`. `blocks` has for each batch a block of each case; the last batch is new."""
        counts = [True] * len(blocks)
        for number, case in enumerate(cases):
            pair = self._pairs.get(_probed(case))
            if pair is None:
                continue
            rtts = [block[number].cache_line_rtt for block in blocks]
            pair.add([rtt.after for rtt in rtts[-1:] if rtt is not None])
            state = pair.known
            for index, rtt in enumerate(rtts):
                counts[index] &= rtt is not None and all(state.has(probe) for probe in rtt)
        return counts

    def why_nothing(self, case: Case) -> str:
        """Why no block of a case counts."""
        state = self._pairs[_probed(case)].known
        return (
            f"--placement-state {self._requested}: never long enough in that state, "
            f"in which the core-to-core round trip takes {state.low:.0f} to {state.high:.0f} ns"
        )


def _probed(case: Case) -> _Probed:
    return case.pair, case.thread, case.is_simulated
