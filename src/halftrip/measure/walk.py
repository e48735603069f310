"""The walk over a plan: rank 0 decides which slice of which configuration is measured next."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from halftrip.measure.budget import Budget
from halftrip.measure.part import Turn
from halftrip.plan.plan import Plan
from halftrip.plan.slices import iterations_of, planned_slices
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
    needs no more. What these would have had then goes to those that are left. `generator` draws the
    orders; a `budget` ends the walk when the time is up."""

    def __init__(
        self,
        plan: Plan,
        items: Sequence[Item],
        generator: random.Random | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._plan = plan
        self._items = list(items)
        self._open = [True] * len(items)
        self._budget = budget
        # How many turns each has had, and how many there may be still.
        self._taken = [0] * len(items)
        self._slices = planned_slices(plan)
        share = _LEAST_RUN_SECONDS / max(len(items), 1)
        self._least = min(plan.time, share) / self._slices if plan.ci is not None else 0.0
        self._spare = 0
        self._left = len(items) * self._slices
        self._random = generator or random.Random()  # noqa: S311 (not a secret)
        self._number = 0
        self._current = 0

    def close(self, spares: bool) -> None:
        """The item of the present turn needs no more slices; `spares`: others may have those that
        were planned for it."""
        self._open[self._current] = False
        unused = max(0, self._slices - 1 - self._number)
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
        needed = 1 if self._plan.iterations is None else self._slices
        return sum(
            is_open and taken < needed
            for is_open, taken in zip(self._open, self._taken, strict=True)
        )

    def turns(self) -> Iterator[Turn]:
        """The turns, in the order in which they are to be taken."""
        for number in range(_MOST_TIMES * self._slices):
            self._number = number
            order = [index for index, is_open in enumerate(self._open) if is_open]
            self._random.shuffle(order)
            for done, index in enumerate(order):
                if number >= self._slices:
                    if self._spare <= 0:
                        return
                    self._spare -= 1
                seconds = None
                if self._budget is not None:
                    seconds = self._budget.next(number, len(order) - done, sum(self._open))
                    if seconds is None:
                        return
                self._current = index
                self._left -= 1
                self._taken[index] += 1
                round_, setting = self._items[index]
                iterations = iterations_of(self._plan, number)
                least = self._least if seconds is None else min(self._least, seconds)
                yield Turn(round_, setting, number, iterations, least, seconds)
