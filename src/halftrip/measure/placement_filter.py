"""Selects the blocks that were measured in one state of the machine (--placement-state)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.plan.plan import Placement
from halftrip.results.block import Block
from halftrip.stats.states import State, requested_state, states

# The first probes, and the time that they are spread over: they tell which states there are.
_SURVEY_PROBES = 32
_SURVEY_SECONDS = 0.1
# A state that was probed this often exists, even if it is not seen again.
_FEWEST_PROBES = 6


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
        """The nearest or the farthest state that is known. Where there is only one, its nearest or
        farthest part."""
        if len(self._states) > 1:
            return self._states[0 if self._requested == "near" else -1]
        return requested_state(self._probes, self._requested)


def _overlap(one: State, other: State) -> bool:
    return one.has(other.low) or one.has(other.high) or other.has(one.low)


class PlacementFilter:
    """Tells which blocks between two ranks were measured in the `requested` state. The initiator
    has one for each pair, and one more for virtual time."""

    def __init__(self, requested: Placement) -> None:
        self._requested = requested
        self._state: PlacementState | None = None

    def survey(self, probe: Callable[[], float | None], rest: Callable[[float], None]) -> None:
        """Probes the pair for a while, if that has not been done."""
        if self._state is not None:
            return
        self._state = PlacementState(self._requested)
        for _ in range(_SURVEY_PROBES):
            rtt = probe()
            if rtt is not None:
                self._state.add([rtt])
            rest(_SURVEY_SECONDS / _SURVEY_PROBES)

    def accepted(self, blocks: Sequence[Block]) -> list[bool]:
        """Which blocks of a slice count: those between two probes in the requested state. The last
        block is new."""
        if self._state is None:
            raise RuntimeError("the pair has not been surveyed")
        rtts = [block.core_to_core_rtt for block in blocks]
        self._state.add([rtt.after for rtt in rtts[-1:] if rtt is not None])
        state = self._state.known
        return [rtt is not None and all(state.has(probe) for probe in rtt) for rtt in rtts]

    @property
    def why_nothing(self) -> str:
        """Why no block of a configuration counts."""
        if self._state is None:
            raise RuntimeError("the pair has not been surveyed")
        state = self._state.known
        return (
            f"--placement-state {self._requested}: never long enough in that state, "
            f"in which the core-to-core round trip takes {state.low:.0f} to {state.high:.0f} ns"
        )
