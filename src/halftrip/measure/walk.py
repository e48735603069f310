"""The walk over a plan: rank 0 decides which slice of which configuration is measured next."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from halftrip.measure.budget import Budget
from halftrip.measure.part import Turn
from halftrip.plan.configurations import PartPlans
from halftrip.plan.slices import counting_slices, iterations_of, planned_slices
from halftrip.results.configuration import Configuration

# A configuration that is not within its interval may have this many times the planned slices, as
# long as others need fewer.
_MOST_TIMES = 3

# A run whose slices are over early still samples for this long, s, if it may take as long: within
# less, it sees too little of what wanders.
_LEAST_RUN_SECONDS = 2.0

# The number of a round of the schedule, and what all its pairs measure.
Item = tuple[int, Configuration]


class Walk:
    """Deals the slices of all `items`: pass after pass over those that need more, each in an order
    of its own, so that what wanders meets all alike. After every turn, `close` says which item
    needs no more. What these would have had then goes to those that are left, but for those with a
    fixed count. `plans` says how many slices an item has; `generator` draws the orders; a `budget`
    ends the walk when the time is up. With `counts`, slices are counted, not timed."""

    def __init__(
        self,
        plans: PartPlans,
        items: Sequence[Item],
        generator: random.Random | None = None,
        budget: Budget | None = None,
        counts: bool = False,
    ) -> None:
        self._items = list(items)
        self._plans = [plans.of(setting) for _, setting in items]
        self._open = [True] * len(items)
        self._budget = budget
        # How many turns each has had, and how many there may be still.
        self._taken = [0] * len(items)
        self._counts = counts
        slices = counting_slices if counts else planned_slices
        self._slices = [slices(plan) for plan in self._plans]
        self._spare = 0
        self._left = sum(self._slices)
        self._random = generator or random.Random()  # noqa: S311 (not a secret)
        self._number = 0
        self._current = 0

    def close(self, spares: bool) -> None:
        """The item of the present turn needs no more slices; `spares`: others may have those that
        were planned for it."""
        self._open[self._current] = False
        unused = max(0, self._slices[self._current] - 1 - self._number)
        if spares:
            self._spare += unused
        else:
            self._left -= unused

    @property
    def left(self) -> int:
        """How many turns there are after the present one, as far as that is known."""
        return max(0, self._left if self._budget is None else self._budget.turns_left - 1)

    @property
    def missing(self) -> int:
        """How many items the end of the time has left without what they need: a slice, or, with a
        fixed count, all of them."""
        return sum(
            is_open and taken < (1 if plan.iterations is None else slices)
            for is_open, taken, plan, slices in zip(
                self._open, self._taken, self._plans, self._slices, strict=True
            )
        )

    def turns(self) -> Iterator[Turn]:
        """The turns, in the order in which they are to be taken."""
        for number in range(_MOST_TIMES * max(self._slices, default=0)):
            self._number = number
            order = [
                index
                for index, is_open in enumerate(self._open)
                if is_open and (number < self._slices[index] or self._spare > 0)
            ]
            self._random.shuffle(order)
            for done, index in enumerate(order):
                if number >= self._slices[index]:
                    if self._spare <= 0:
                        continue
                    self._spare -= 1
                seconds = None
                if self._budget is not None:
                    seconds = self._budget.next(number, len(order) - done, sum(self._open))
                    if seconds is None:
                        return
                self._current = index
                self._left -= 1
                self._taken[index] += 1
                yield self._turn(index, seconds)
                if self._plans[index].iterations is not None and number + 1 == self._slices[index]:
                    self._open[index] = False

    def _turn(self, index: int, seconds: float | None) -> Turn:
        """The next turn of an item, which samples for so long (None: as planned)."""
        plan, slices = self._plans[index], self._slices[index]
        least = 0.0
        if plan.ci is not None and not self._counts:
            share = _LEAST_RUN_SECONDS / len(self._items)
            least = min(plan.time, share) / slices
        if seconds is not None:
            least = min(least, seconds)
        round_, setting = self._items[index]
        iterations = iterations_of(plan, self._number)
        return Turn(round_, setting, self._number, iterations, least, seconds, self._counts)
