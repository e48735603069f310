"""Which blocks of samples count where only one state of the machine is wanted."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.measure.round import Outcome
from halftrip.measure.sampler import Sampler
from halftrip.measure.setup import Stage
from halftrip.plan.plan import Placement
from halftrip.results.case import Case
from halftrip.stats.states import State, states

# What is near and what is far is told from so many probes at least, spread over so many seconds.
_SURVEY_PROBES = 32
_SURVEY_SECONDS = 0.1
_FEWEST_PROBES = 6

# Whose line: a pair, a thread of it, and whether the line is only thought of.
_Line = tuple[tuple[int, int], int, bool]


class WantedState:
    """The state `wanted` of one line, as far as it is known by now: from all probes so far, of
    which there have to be some. New states may be met at any time, and what is near or far is then
    another one."""

    def __init__(self, wanted: Placement) -> None:
        self._wanted = wanted
        self._probes: list[float] = []
        self._known: list[State] = []

    def note(self, probes: Sequence[float]) -> None:
        """Takes notice of probes of the line, ns."""
        self._probes += probes
        seen = states(self._probes)
        # One that has not come again for long is still one, but what was seen once or twice.
        gone = [
            old
            for old in self._known
            if not any(_overlap(old, new) for new in seen)
            and sum(old.has(probe) for probe in self._probes) >= _FEWEST_PROBES
        ]
        self._known = sorted([*seen, *gone])

    @property
    def known(self) -> State:
        """The wanted state, or the only one."""
        return self._known[0 if self._wanted == "near" else -1]


def _overlap(one: State, other: State) -> bool:
    return one.has(other.low) or one.has(other.high) or other.has(one.low)


class WantedStates:
    """Those of all lines of a session, as --placement-state has it; None: everything counts. All
    ranks have one; only rank 0's knows anything."""

    def __init__(self, wanted: Placement | None, stage: Stage) -> None:
        self._wanted = wanted
        self._stage = stage
        self._lines: dict[_Line, WantedState] = {}

    def survey(self, case: Case) -> None:
        """Looks for the states of a case's line, unless that has been done. All ranks call it."""
        line = self._line(case)
        if self._wanted is not None and line not in self._lines:
            probes = self._stage.survey_line(case, _SURVEY_PROBES, _SURVEY_SECONDS)
            self._lines[line] = WantedState(self._wanted)
            self._lines[line].note(probes)

    def counting(self, outcome: Outcome) -> list[bool]:
        """Which of the blocks of a case count, after one more: those that lie between two probes in
        the wanted state, as it is known now."""
        line = self._lines.get(self._line(outcome.case))
        if line is None:
            return [True] * len(outcome.kept)
        line.note(outcome.lines[-1:])
        state = line.known
        ends = zip(outcome.befores, outcome.lines, strict=True)
        return [state.has(before) and state.has(after) for before, after in ends]

    def why_nothing(self, case: Case, sampler: Sampler) -> str:
        """Why there is nothing of a case that had no problem itself."""
        line = self._lines.get(self._line(case))
        if line is None or not sampler.rejected:
            return "given up: another that was measured with it failed"
        state = line.known
        return (
            f"--placement-state {self._wanted}: never long enough in that state, "
            f"in which the line takes {state.low:.0f} to {state.high:.0f} ns"
        )

    def _line(self, case: Case) -> _Line:
        return case.pair, case.thread, self._stage.virtual(case)
