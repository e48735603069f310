"""Rows of two runs, like with like: what of a row can be compared, where its times may go with a
state of the machine."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from halftrip.analysis.states import (
    HostStates,
    Quantity,
    State,
    StateSlices,
    by_state,
    delivery_of,
)
from halftrip.analysis.summaries import configuration_times
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery
from halftrip.results.records import Measurement
from halftrip.stats.levels import Level
from halftrip.stats.median import median
from halftrip.stats.series import ConfigurationTimes
from halftrip.stats.summary import SliceTimes


class Part(NamedTuple):
    """Slices of a row that were measured at one `level` (None: at several that do not matter to it,
    or at one that is not known), whose state is called `word`; empty if there is one only. `left`
    are slices of the row that are at no level."""

    quantity: Quantity | None
    level: Level | None
    word: str
    measurements: Sequence[Measurement]
    left: Sequence[Measurement] = ()

    @property
    def delivery(self) -> Delivery | None:
        """How many of its messages arrived; see `delivery_of`."""
        return delivery_of(self.measurements, self.left)


@dataclass(frozen=True, eq=False)
class MeasuredRow:
    """A row of a run: its configuration, its measurements, and the states of its host. `within` is
    that of its times; see `configuration_times`: how far slices, or launches, are apart says how
    well they are known. `known` is `slice_times` of all measurements, where that was asked."""

    configuration: Configuration
    measurements: Sequence[Measurement]
    host: HostStates | None
    within: bool = False
    known: Sequence[SliceTimes | None] | None = None

    @cached_property
    def times(self) -> ConfigurationTimes:
        """The times of all its slices."""
        return configuration_times(self.measurements, self.within, known=self.known)

    def times_of(self, part: Part) -> ConfigurationTimes:
        """The times of the slices of a part."""
        if len(part.measurements) == len(self.measurements):
            return self.times
        return configuration_times(part.measurements, self.within, self.times)

    @cached_property
    def by_state(self) -> list[StateSlices]:
        return by_state(self.host, self.measurements, self.times)

    @cached_property
    def in_any_state(self) -> list[StateSlices]:
        """The slices in each state, whether or not the times go with it."""
        return by_state(self.host, self.measurements, self.times, always=True)

    @cached_property
    def goes_with_state(self) -> bool | None:
        """Whether the times go with the state; None where the run does not show it."""
        if len(self.by_state) > 1:
            return True
        return False if self._could_tell else None

    @property
    def _could_tell(self) -> bool:
        """Whether it has seen two states often enough to show that its times do not go with them:
        in so many launches each, or, of a single launch, in so many slices."""
        counts = [self._seen(each.measurements) for each in self.in_any_state]
        return sum(count >= FEWEST_TO_TELL for count in counts) > 1

    def _seen(self, measurements: Sequence[Measurement]) -> int:
        """How many launches have any of these slices; of a single launch, how many slices."""
        alone = len({each.launch for each in self.measurements}) == 1
        return len(measurements if alone else {each.launch for each in measurements})

    @cached_property
    def parts(self) -> list[Part]:
        """The slices by level, to be compared with those of another run; see `by_state`."""
        slices = self.by_state
        if not slices and not self._could_tell:
            # Whether it goes with the state is not known: that it does not is no finding.
            return self.every_part
        return self._parts(slices)

    @cached_property
    def every_part(self) -> list[Part]:
        """The same, whether or not the times go with the state."""
        return self._parts(self.in_any_state)

    def _parts(self, slices: Sequence[StateSlices]) -> list[Part]:
        if slices:
            return [
                Part(each.state.quantity, each.state.level, each.state.word, *each[1:])
                for each in slices
            ]
        own = self._own_level
        quantity = None if own is None or self.host is None else self.host.quantity
        return [Part(quantity, own, "", self.measurements)]

    @cached_property
    def reading(self) -> float | None:
        """The median of the readings around all its slices."""
        if self.host is None:
            return None
        of = self.host.quantity.readings
        found = [reading for each in self.measurements for reading in of(each)]
        return median(found) if found else None

    @property
    def mostly(self) -> Part:
        """The slices in the state that most of them were in."""
        return max(self.every_part, key=lambda part: len(part.measurements))

    def has_seen(self, reading: float) -> bool:
        """Whether it was in the state of a reading often enough to be told."""
        return any(
            each.level is not None
            and _is_same(each.level.middle, reading)
            and self._seen(each.measurements) >= FEWEST_TO_TELL
            for each in self.every_part
        )

    @property
    def whole(self) -> Part:
        """All slices, at whatever level."""
        return Part(None, None, "", self.measurements)

    @property
    def _own_level(self) -> Level | None:
        """The level that it was measured at where its host has one: that of its own readings, as
        pairs of cores may differ. None where the host has several, or nothing is known."""
        if self.host is None or len(self.host.levels) != 1:
            return None
        (known,) = self.host.levels
        readings = [
            reading
            for each in self.measurements
            for reading in self.host.quantity.readings(each)
            if known.has(reading)
        ]
        if not readings:
            return None
        own = known.narrowed(readings)
        is_usual = abs(math.log(own.middle / known.middle)) <= math.log(_USUAL)
        return own._replace(middle=known.middle) if is_usual else own


class InState(Protocol):
    """Figures of a row: of its slices in a `state` (None: of all), of the row as it was
    `measured`."""

    @property
    def state(self) -> State | None: ...

    @property
    def measured(self) -> MeasuredRow: ...


_InState = TypeVar("_InState", bound=InState)


def alike(one: Iterable[_InState], other: Iterable[_InState]) -> tuple[_InState, _InState] | None:
    """The first figures of one row, each in another state, and those of another row of the run that
    were measured in the same state; None where there are none. A row whose times do not go with the
    state is alike in any."""
    others = [*other]
    every = ((each, beside) for each in one for beside in others)
    return next((both for both in every if are_alike(*both)), None)


def are_alike(one: InState, other: InState) -> bool:
    """Whether both were measured in the same state, as far as that is known and matters to them."""
    if one.state is not None and other.state is not None:
        return one.state.level == other.state.level
    if any(each.state is None and each.measured.goes_with_state is False for each in (one, other)):
        return True
    readings = [_reading(each) for each in (one, other)]
    known = [each for each in readings if each is not None]
    return len(known) < 2 or same_level(*known)


def same_level(one: float, other: float) -> bool:
    """Whether these readings, or levels, of a quantity are of the same state."""
    return max(one, other) <= _SAME * min(one, other)


def _reading(each: InState) -> float | None:
    """The median reading of what both rows of a host may go with; None where it is not known."""
    return each.measured.reading if each.state is None else each.state.value


# A row that was seen in a state in fewer launches (of one launch: slices) does not show whether it
# goes with that.
FEWEST_TO_TELL = 3
# A row whose readings are no farther from the usual of its host than this factor are at that.
_USUAL = 1.1
# Levels of two runs that are no farther apart than this factor are of the same state: within one, a
# level wanders by a tenth or two.
_SAME = 1.25
# A quantity that varies within a run by more than this factor, as a level reaches, tells by itself
# what it does to the times.
_WANDERS = 1.38


class Common(NamedTuple):
    """Slices of a row in two runs that can be compared. `apart`: they were measured at levels that
    the other run has not."""

    base: Part
    new: Part
    apart: bool = False

    @property
    def word(self) -> str:
        """What the state is called; empty where there is one only."""
        return self.base.word or self.new.word

    @property
    def is_of_any(self) -> bool:
        """Whether the row does not go with the state, as one of the runs shows that saw several."""
        return self.base.level is None or self.new.level is None

    @property
    def said_apart(self) -> str:
        """That both runs were in different states, in words; empty where they were in the same, and
        where the quantity wandered so far within a run that it tells by itself what it does."""
        one, other, quantity = self.base.level, self.new.level, self.base.quantity
        if not self.apart or one is None or other is None or quantity is None:
            return ""
        if max(one.high / one.low, other.high / other.low) > _WANDERS:
            return ""
        return _moved(quantity, one.middle, other.middle)


def said_elsewhere(base: MeasuredRow, new: MeasuredRow) -> str:
    """That most slices of a row, which does not seem to go with the state, were in a state that the
    other run hardly saw, in words; empty where they were not. That it does not go with the state is
    known less well than a difference of the two runs may be."""
    one, other = base.mostly, new.mostly
    if one.quantity is None or one.level is None or other.level is None:
        return ""
    levels = one.level.middle, other.level.middle
    if _is_same(*levels) or (new.has_seen(levels[0]) and base.has_seen(levels[1])):
        return ""
    return _moved(one.quantity, *levels)


def _is_same(one: float, other: float) -> bool:
    return max(one, other) <= _SAME * min(one, other)


def _moved(quantity: Quantity, base: float, new: float) -> str:
    return f"{quantity.what} at {quantity.text(base)}, now at {new:.0f}"


def in_common(base: MeasuredRow, new: MeasuredRow) -> list[Common]:
    """What can be compared of a row in two runs: one pair for each state that both have seen. Where
    they have none in common, it is the first of each."""
    one, other = base.parts, new.parts
    if max(len(one), len(other)) > 1:
        # What matters to the row in one run does so in the other.
        one, other = base.every_part, new.every_part
    if one[0].level is None or other[0].level is None:
        return [Common(_whole(one, base), _whole(other, new))]
    pairs = [
        Common(each, nearest)
        for each in one
        if (nearest := _nearest(each, other)) is not None and _nearest(nearest, one) is each
    ]
    return pairs or [Common(one[0], other[0], apart=True)]


def _whole(found: Sequence[Part], row: MeasuredRow) -> Part:
    return found[0] if len(found) == 1 else row.whole


def _nearest(part: Part, others: Sequence[Part]) -> Part | None:
    """The part of the same quantity whose level is nearest; None where none is of the same
    state."""
    alike = [each for each in others if each.quantity is part.quantity]
    found = min(alike, key=lambda each: _distance(part, each), default=None)
    if found is None or part.level is None or found.level is None:
        return None
    meet = part.level.low <= found.level.high and found.level.low <= part.level.high
    return found if meet or _distance(part, found) <= math.log(_SAME) else None


def _distance(one: Part, other: Part) -> float:
    if one.level is None or other.level is None:
        return math.inf
    return abs(math.log(one.level.middle / other.level.middle))
