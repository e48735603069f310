"""The states of the machine in a run: levels of a quantity that each hold for a while, and which of
them held in every slice.

What is looked at is data: an entry of `QUANTITIES` is all that another quantity takes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.levels import Held, Level, goes_with, held, level_of, levels
from halftrip.stats.median import median

# A pair of cores whose round trip is probed: the ranks, their thread, the requested cores, and
# whether the path is simulated.
Probed = tuple[tuple[int, int], int, tuple[int | None, int | None], bool]


def probed(configuration: Configuration) -> Probed:
    """The pair of cores whose round trip goes with a configuration."""
    initiator, responder = configuration.ends
    cores = initiator.core, responder.core
    return configuration.pair, configuration.thread, cores, configuration.is_simulated


class Quantity(NamedTuple):
    """Something that holds for a while, with levels that times may go with: what it is called, its
    `unit`, the words for its lowest and its highest level, the `field` of programs, the readings
    before the first block of a slice and after each, and of what readings are (two of the same
    place are of the same thing)."""

    name: str
    unit: str
    lowest: str
    highest: str
    field: str
    readings: Callable[[Measurement], Sequence[float]]
    place: Callable[[Configuration], Hashable]

    def text(self, value: float) -> str:
        return f"{value:.0f} {self.unit}"


CORE_TO_CORE = Quantity(
    name="core-to-core",
    unit="ns",
    lowest="near",
    highest="far",
    field="core_to_core_ns",
    readings=lambda measurement: measurement.core_to_core_rtts,
    place=probed,
)
# The first one that has several levels is the one that rows are told apart by.
QUANTITIES = (CORE_TO_CORE,)


class State(NamedTuple):
    """A level of a quantity, of which the machine has several, and what it is called."""

    quantity: Quantity
    level: Level
    word: str

    @property
    def value(self) -> float:
        """What a reading is while it holds, in the quantity's unit."""
        return self.level.middle


class HostStates(NamedTuple):
    """The states of a quantity on a host (None: its name is not known) in all of a run, the lowest
    first, or the only level that there was; and how often it was seen to change."""

    host: str | None
    is_simulated: bool
    quantity: Quantity
    levels: Sequence[Level]
    changes: int

    @property
    def states(self) -> list[State]:
        """The states; none where nothing changes."""
        if len(self.levels) < 2:
            return []
        last = len(self.levels) - 1
        return [
            State(self.quantity, level, self._word(number, last))
            for number, level in enumerate(self.levels)
        ]

    def _word(self, number: int, last: int) -> str:
        if number in (0, last):
            return self.quantity.lowest if number == 0 else self.quantity.highest
        return f"at {self.quantity.text(self.levels[number].middle)}"

    def held(self, measurement: Measurement) -> Held:
        """The number of the state that held in a slice."""
        return held(self.levels, self.quantity.readings(measurement))


class RunStates(NamedTuple):
    """The states of the hosts of a run, and the host of each rank."""

    hosts: Sequence[HostStates]
    host_of: dict[int, str]

    def of(self, configuration: Configuration) -> HostStates | None:
        """Those that a configuration may go with: the first that has several, or else the first;
        None where nothing is known of it."""
        host = self.host_of.get(configuration.pair[0])
        own = (host, configuration.is_simulated)
        found = [each for each in self.hosts if (each.host, each.is_simulated) == own]
        return next((each for each in found if each.states), found[0] if found else None)


def run_states(run: Run) -> RunStates:
    """The states in a run: of each host by the readings around all slices of all its ranks
    together."""
    hosts = run.names.hosts
    measured: dict[tuple[str | None, bool], list[Measurement]] = {}
    for each in run.measurements:
        host = hosts.get(each.configuration.pair[0])
        measured.setdefault((host, each.configuration.is_simulated), []).append(each)
    found = []
    for quantity in QUANTITIES:
        for (host, is_simulated), measurements in measured.items():
            series: dict[Hashable, list[float]] = {}
            for each in measurements:
                place = quantity.place(each.configuration)
                series.setdefault(place, []).extend(quantity.readings(each))
            known = levels([*series.values()])
            if known:
                changes = sum(_changes(known, readings) for readings in series.values())
                found.append(HostStates(host, is_simulated, quantity, known, changes))
    return RunStates(found, dict(hosts))


def _changes(known: Sequence[Level], readings: Sequence[float]) -> int:
    numbers = [number for each in readings if (number := level_of(known, each)) is not None]
    return sum(one != other for one, other in zip(numbers, numbers[1:], strict=False))


class StateSlices(NamedTuple):
    """The slices of a row in one state."""

    state: State
    measurements: Sequence[Measurement]


def by_state(
    host: HostStates | None, measurements: Sequence[Measurement]
) -> list[StateSlices]:
    """The slices of a row in each state of `host`, the state that held most in the run first; empty
    where its figures are of all slices: its times do not go with the state, or nothing tells.

    A row whose slices are all in one state, of several that there were, is of that state.
    """
    states = [] if host is None else host.states
    if host is None or not states:
        return []
    sampled = [each for each in measurements if each.is_sampled]
    numbers = [host.held(each).level for each in sampled]
    seen = {number for number in numbers if number is not None}
    if len(seen) == 1 and None not in numbers:
        return [StateSlices(states[seen.pop()], measurements)]
    medians = [median(each.one_way_times) for each in sampled]
    if not goes_with(numbers, [each.launch for each in sampled], medians):
        return []
    found = [
        StateSlices(
            states[number],
            [each for each, own in zip(sampled, numbers, strict=True) if own == number],
        )
        for number in seen
    ]
    return sorted(found, key=lambda each: -each.state.level.share)
