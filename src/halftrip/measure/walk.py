"""The walk over a plan: rank 0 decides which slice of which configuration is measured next."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

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
    orders."""

    def __init__(
        self, plan: Plan, items: Sequence[Item], generator: random.Random | None = None
    ) -> None:
        self._plan = plan
        self._items = list(items)
        self._open = [True] * len(items)
        self._slices = planned_slices(plan)
        share = _LEAST_RUN_SECONDS / max(len(items), 1)
        self._least = min(plan.time, share) / self._slices if plan.ci is not None else 0.0
        self._spare = 0
        self._random = generator or random.Random()  # noqa: S311 (not a secret)
        self._number = 0
        self._current = 0

    def close(self, spares: bool) -> None:
        """The item of the present turn needs no more slices; `spares`: others may have those that
        were planned for it."""
        self._open[self._current] = False
        if spares:
            self._spare += max(0, self._slices - 1 - self._number)

    def turns(self) -> Iterator[Turn]:
        """The turns, in the order in which they are to be taken."""
        for number in range(_MOST_TIMES * self._slices):
            self._number = number
            order = [index for index, is_open in enumerate(self._open) if is_open]
            self._random.shuffle(order)
            for index in order:
                if number >= self._slices:
                    if self._spare <= 0:
                        return
                    self._spare -= 1
                self._current = index
                round_, setting = self._items[index]
                iterations = iterations_of(self._plan, number)
                yield Turn(round_, setting, number, iterations, self._least)
