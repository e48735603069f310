"""The states of the machine in a run: levels of a quantity that each hold for a while, and which of
them held in every slice.

What is looked at is data: an entry of `QUANTITIES` is all that another quantity takes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery, add_deliveries
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.levels import Held, Level, goes_with, held, level_of, levels
from halftrip.stats.series import ConfigurationTimes

# A pair of cores whose round trip is probed: the ranks, their thread, the requested cores, and
# whether the path is simulated.
Probed = tuple[tuple[int, int], int, tuple[int | None, int | None], bool]


def probed(configuration: Configuration) -> Probed:
    """The pair of cores whose round trip goes with a configuration."""
    initiator, responder = configuration.ends
    cores = initiator.core, responder.core
    return configuration.pair, configuration.thread, cores, configuration.is_simulated


class Quantity(NamedTuple):
    """Something that holds for a while, with levels that times may go with: what it is called, of
    `what` it is in a sentence (``cores were`` at 92 ns), its `unit`, the words for its lowest and
    its highest level, the `field` of programs, the readings before the first block of a slice and
    after each, and of what readings are (two of the same place are of the same thing)."""

    name: str
    what: str
    unit: str
    lowest: str
    highest: str
    field: str
    readings: Callable[[Measurement], Sequence[float]]
    place: Callable[[Configuration], Hashable]

    def text(self, value: float) -> str:
        return f"{value:.0f} {self.unit}"

    def __reduce__(self) -> tuple[Callable[[str], Quantity], tuple[str]]:
        # By its name, as functions without one cannot be pickled.
        return _quantity, (self.field,)


def _quantity(field: str) -> Quantity:
    return next(each for each in QUANTITIES if each.field == field)


CORE_TO_CORE = Quantity(
    name="core-to-core",
    what="cores were",
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


@dataclass(frozen=True)
class RunStates:
    """The states of the hosts of a run, and the host of each rank."""

    hosts: Sequence[HostStates]
    host_of: dict[int, str]

    def of(self, configuration: Configuration) -> HostStates | None:
        """Those that a configuration may go with: the first that has several, or else the first;
        None where nothing is known of it."""
        host = self.host_of.get(configuration.pair[0])
        return self._told_by.get((host, configuration.is_simulated))

    @cached_property
    def _told_by(self) -> dict[tuple[str | None, bool], HostStates]:
        """The states that tell slices of each host apart: there may be a thousand hosts."""
        found: dict[tuple[str | None, bool], HostStates] = {}
        for each in self.hosts:
            own = (each.host, each.is_simulated)
            if own not in found or (each.states and not found[own].states):
                found[own] = each
        return found

    def held(
        self, configuration: Configuration, measurements: Sequence[Measurement]
    ) -> tuple[int | None, ...]:
        """How many states a configuration may go with, and the number of that which held in each of
        these slices."""
        host = self.of(configuration)
        if host is None or len(host.levels) < 2:
            return ()
        return (len(host.levels), *(host.held(each).level for each in measurements))


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
                # With one level, nothing changes.
                several = [*series.values()] if len(known) > 1 else []
                changes = sum(_changes(known, readings) for readings in several)
                found.append(HostStates(host, is_simulated, quantity, known, changes))
    return RunStates(found, dict(hosts))


def _changes(known: Sequence[Level], readings: Sequence[float]) -> int:
    numbers = [number for each in readings if (number := level_of(known, each)) is not None]
    return sum(one != other for one, other in itertools.pairwise(numbers))


class StateSlices(NamedTuple):
    """The slices of a row in one state; `left` are those of the row that are in none."""

    state: State
    measurements: Sequence[Measurement]
    left: Sequence[Measurement] = ()


def by_state(
    host: HostStates | None,
    measurements: Sequence[Measurement],
    times: ConfigurationTimes,
    always: bool = False,
) -> list[StateSlices]:
    """The slices of a row in each state of `host`, the state that held most in the run first; empty
    where its figures are of all slices: its times do not go with the state, or nothing tells.
    `times` are those of all these slices. `always`: also where they do not.

    A row most of whose slices are in one state, and no other in another, is of that state.
    """
    states = [] if host is None else host.states
    if host is None or not states:
        return []
    by_number: dict[int | None, list[Measurement]] = {}
    for each in measurements:
        by_number.setdefault(host.held(each).level, []).append(each)
    left = by_number.pop(None, [])
    found = [
        StateSlices(states[number], slices, left)
        for number, slices in by_number.items()
        if number is not None
    ]
    if len(found) == 1:
        known = sum(each.is_sampled for each in found[0].measurements)
        is_most = 2 * known > sum(each.is_sampled for each in measurements)
        return found if is_most or always else []
    if not always and not _goes_with(found, times):
        return []
    return sorted(found, key=lambda each: -each.state.level.share)


def _goes_with(found: Sequence[StateSlices], times: ConfigurationTimes) -> bool:
    sampled = [
        (each.state.value, slice_) for each in found for slice_ in each.measurements
        if slice_.is_sampled
    ]  # fmt: skip
    values, slices = [value for value, _ in sampled], [slice_ for _, slice_ in sampled]
    medians = [times.of_slice[id(each)].median.median for each in slices]
    return goes_with(values, [each.launch for each in slices], medians)


def delivery_of(
    measurements: Sequence[Measurement], left: Sequence[Measurement]
) -> Delivery | None:
    """How many messages arrived in these slices of a row, and in those `left` that are in no state:
    a slice in which the state changed, or all was lost, has lost them in any."""
    return add_deliveries(each.delivery for each in (*left, *measurements))
