"""The walk over a plan: rank 0 decides which slice of which configuration is measured next, and how
what is left of --max-duration is dealt to the slices that are left."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

import msgspec

from halftrip.plan.configurations import PartPlans
from halftrip.plan.plan import Plan
from halftrip.plan.slices import (
    LEAST_SLICE_SECONDS,
    MOST_SHOWN_TIMES,
    counting_slices,
    iterations_of,
    planned_slices,
    slice_seconds,
)
from halftrip.results.configuration import Configuration
from halftrip.stats.median import FEWEST_FOR_INTERVAL

# Later turns of an item are expected to take this share of what the first took beyond its samples:
# that opened the path, found out how many iterations a sample needs, and warmed up for longer.
_LATER_SHARE = 0.25


class Allowed(NamedTuple):
    """How long a launch may take from now on, s: `share` is its part of what is left of the run,
    and `most` all of that, which it takes only as far as every row needs it."""

    share: float
    most: float


class Budget:
    """Deals the time of one walk over `items` to its turns.

    A turn takes longer than it samples: paths are opened, warmed up and probed. How much longer,
    the latest turns tell, one of each item. So slices get shorter than the `planned` seconds, down
    to LEAST_SLICE_SECONDS, and then there are fewer passes than `passes`. Every row gets one slice
    first, if that takes no longer than is `allowed.most`. With `may_be_last`, a launch whose first
    pass leaves no time for another launch has all of it. On a busy machine a few turns take far
    longer than the mean: a later one begins only where one as long as the longest yet would end
    within `allowed.most`, unless `all_needed` says that a run is complete with all its slices only.
    """

    def __init__(
        self,
        allowed: Allowed,
        items: int,
        passes: int,
        planned: float,
        now: Callable[[], float] = time.monotonic,
        may_be_last: bool = False,
        all_needed: bool = False,
    ) -> None:
        self._now = now
        self._began = began = now()
        self._may_be_last = may_be_last
        self._all_needed = all_needed
        self._ends = began + allowed.share
        self._ends_at_last = began + allowed.most
        self._passes = passes
        self._planned = planned
        self._least = min(planned, LEAST_SLICE_SECONDS)
        # What the latest turns took in all beyond what they were to sample, s: of the first pass,
        # and of later ones, one of each item.
        self._firsts = 0
        self._first_sum = 0.0
        self._later: deque[float] = deque(maxlen=max(1, items))
        self._later_sum = 0.0
        # The longest of all later ones, s.
        self._longest = 0.0
        self._turn: tuple[int, float, float] | None = None
        self._turns_left = items * passes

    @property
    def turns_left(self) -> int:
        """How many turns there may be still, as things are now, the present one included."""
        return self._turns_left

    def next(self, number: int, left: int, items: int) -> float | None:
        """For how long the next turn samples, s, in pass `number`, in which so many turns are left;
        each further pass has one for each of the `items`. None: the time is up."""
        now = self._now()
        self._learn(now)
        if number and self._may_be_last:
            self._may_be_last = False
            if self._ends_at_last - now < now - self._began:
                self._ends = self._ends_at_last
        first = self._mean_first
        # Paths are open by then, and warm.
        later = self._mean_later
        beyond = later if number else first
        ends = self._ends
        if number and not self._all_needed:
            ends = min(ends, self._ends_at_last - max(0.0, self._longest - later))
        if (ends if number else self._ends_at_last) - now < beyond + self._least:
            return None
        # As many passes as leave each turn the least time.
        whole = ends - now
        spare = whole - left * (beyond + self._least)
        fit = int(spare / (items * (later + self._least)))
        further = max(0, min(self._passes - number - 1, fit))
        turns = left + further * items
        self._turns_left = turns
        if number and spare < 0:
            self._turns_left = max(1, int(whole / (beyond + self._least)))
        sampled = (whole - left * beyond - further * items * later) / turns
        sampled = min(max(sampled, self._least), self._planned)
        self._turn = number, now, sampled
        return sampled

    def fits(self, turns: int) -> bool:
        """Whether so many turns after the first pass are possible still, however short."""
        now = self._now()
        self._learn(now)
        return turns * (self._mean_later + self._least) <= self._ends - now

    def _learn(self, now: float) -> None:
        """Takes how long the last turn took."""
        if self._turn is None:
            return
        number, began, sampled = self._turn
        self._turn = None
        # Less than nothing where a slice was over early.
        beyond = now - began - sampled
        if number == 0:
            self._firsts += 1
            self._first_sum += beyond
            return
        if not self._later:
            # What is not known yet stays in the mean until there is something in its place.
            guess = self._mean_later
            self._later.extend([guess] * (self._later.maxlen or 1))
            self._later_sum = guess * len(self._later)
        self._longest = max(self._longest, beyond)
        self._later_sum += beyond - self._later[0]
        self._later.append(beyond)

    # Sums are kept: means are asked for at every turn, and there may be thousands of items.

    @property
    def _mean_first(self) -> float:
        return max(self._first_sum / self._firsts, 0.0) if self._firsts else 0.0

    @property
    def _mean_later(self) -> float:
        if not self._later:
            return _LATER_SHARE * self._mean_first
        return max(self._later_sum / len(self._later), 0.0)


# A configuration that is not within its interval may have this many times the planned slices, as
# long as others need fewer.
_MOST_TIMES = 3

# A run whose slices are over early still samples for this long, s, if it may take as long: within
# less, it sees too little of what wanders.
_LEAST_RUN_SECONDS = 2.0

# A slice has one of so many segments of memory, if its path has several.
SEGMENTS = 16

# The number of a round of the schedule, and what all its pairs measure.
Item = tuple[int, Configuration]


class SliceTurn(msgspec.Struct, frozen=True):
    """What all ranks do next: slice `number` of `setting`, in a round of the schedule. `iterations`
    is how many iterations the slice has exactly; None: as many as its time allows, which is
    `seconds`, or, where that is None, its part of the plan's. It is not over before it has sampled
    for `least` seconds. A slice that `counts` is not timed: hardware counters count. It has
    the `segment` of memory of this number, below SEGMENTS, where its path has several."""

    round: int
    setting: Configuration
    number: int
    iterations: int | None = None
    least: float = 0.0
    seconds: float | None = None
    counts: bool = False
    segment: int = 0

    def time(self, plan: Plan) -> float:
        """The time that the slice may sample for, s."""
        return slice_seconds(plan, self.counts) if self.seconds is None else self.seconds


def shown_times(rows: int, shown: int) -> int:
    """How many times as many slices each of the `shown` rows has, of all `rows` of a run."""
    return min(1 + rows // (2 * shown), MOST_SHOWN_TIMES) if shown else 1


class Walk:
    """Deals the slices of all `items`: pass after pass over those that need more, each in an order
    of its own, so that what wanders meets all alike. After every turn, `close` says which item
    needs no more. What these would have had then goes to those that are left, but for those with a
    fixed count. `plans` says how many slices an item has; `generator` draws the orders; a `budget`
    ends the walk when the time is up. With `counts`, slices are counted, not timed. The first pass
    begins with the items of `head`, so that these are known soon; later passes mix them with the
    others, but that these wait where the budget is too small for an interval of all. Items of
    `shown` have more slices, see `shown_times`."""

    def __init__(
        self,
        plans: PartPlans,
        items: Sequence[Item],
        generator: random.Random | None = None,
        budget: Budget | None = None,
        counts: bool = False,
        head: Collection[Item] = (),
        shown: Collection[Item] = (),
    ) -> None:
        self._items = list(items)
        self._head = [item in head for item in items]
        self._plans = [plans.of(setting) for _, setting in items]
        self._open = [True] * len(items)
        self._budget = budget
        # How many turns each has had, and how many there may be still.
        self._taken = [0] * len(items)
        self._counts = counts
        slices = counting_slices if counts else planned_slices
        times = shown_times(len(items), len(shown))
        self._slices = [
            slices(plan) * (times if item in shown and plan.iterations is None else 1)
            for item, plan in zip(items, self._plans, strict=True)
        ]
        self._spare = 0
        self._left = sum(self._slices)
        self._random = generator or random.Random()  # noqa: S311 (not a secret)
        self._current = 0
        # Until those of the head have the slices that an interval takes.
        self._others_wait = False
        # Apart from what draws the orders.
        self._segments_seed = random.getrandbits(64)

    def close(self, spares: bool) -> None:
        """The item of the present turn needs no more slices; `spares`: others may have those that
        were planned for it."""
        self._open[self._current] = False
        unused = max(0, self._slices[self._current] - self._taken[self._current])
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

    def turns(self) -> Iterator[SliceTurn]:
        """The turns, in the order in which they are to be taken."""
        for number in range(_MOST_TIMES * max(self._slices, default=0)):
            takes_part = self._taking_part(number)
            order = [index for index in takes_part if self._may_have_more(index)]
            self._random.shuffle(order)
            if number == 0:
                # Either part stays in random order.
                order.sort(key=lambda index: not self._head[index])
            items = len(takes_part)
            for done, index in enumerate(order):
                if self._taken[index] >= self._slices[index]:
                    if self._spare <= 0:
                        continue
                    self._spare -= 1
                seconds = None
                if self._budget is not None:
                    seconds = self._budget.next(number, len(order) - done, items)
                    if seconds is None:
                        return
                self._current = index
                self._left -= 1
                turn = self._turn(index, seconds)
                self._taken[index] += 1
                yield turn
                if turn.iterations is not None and self._taken[index] == self._slices[index]:
                    self._open[index] = False
                items -= not self._open[index]

    def _may_have_more(self, index: int) -> bool:
        return self._taken[index] < self._slices[index] or self._spare > 0

    def _taking_part(self, number: int) -> list[int]:
        """The items that take part in pass `number`, as far as they may have more."""
        is_open = [index for index, is_open in enumerate(self._open) if is_open]
        if self._budget is None or number == 0 or not any(self._head):
            return is_open
        if number == 1:
            self._others_wait = not self._budget.fits((FEWEST_FOR_INTERVAL - 1) * len(is_open))
        first = [index for index in is_open if self._goes_first(index)] if self._others_wait else []
        return first or is_open

    def _goes_first(self, index: int) -> bool:
        """Whether it has not yet what others wait for: the slices that an interval takes, or a
        fixed count."""
        if self._plans[index].iterations is not None:
            return True
        return self._head[index] and (
            self._taken[index] < min(FEWEST_FOR_INTERVAL, self._slices[index])
        )

    def _turn(self, index: int, seconds: float | None) -> SliceTurn:
        """The next turn of an item, which samples for so long (None: as planned)."""
        plan, slices = self._plans[index], self._slices[index]
        least = 0.0
        if plan.ci is not None and not self._counts:
            share = _LEAST_RUN_SECONDS / len(self._items)
            least = min(plan.time, share / (plan.launches if plan.dealt else 1)) / slices
        if seconds is not None:
            least = min(least, seconds)
        round_, setting = self._items[index]
        number = self._taken[index]
        return SliceTurn(
            round_,
            setting,
            number,
            iterations_of(plan, number),
            least,
            seconds,
            self._counts,
            self._segment(index, number),
        )

    def _segment(self, index: int, slice_: int) -> int:
        """The segment of an item's slice: another one each time until it has had all."""
        turn, number = divmod(slice_, SEGMENTS)
        seed = f"{self._segments_seed} {index} {turn}"
        return random.Random(seed).sample(range(SEGMENTS), SEGMENTS)[number]  # noqa: S311 (no secret)
