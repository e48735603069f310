"""How what is left of --max-duration is dealt to the slices that are left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection
from typing import NamedTuple

from halftrip.plan.slices import LEAST_SLICE_SECONDS

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
    first, if that takes no longer than is `allowed.most`.
    """

    def __init__(
        self,
        allowed: Allowed,
        items: int,
        passes: int,
        planned: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._now = now
        began = now()
        self._ends = began + allowed.share
        self._ends_at_last = began + allowed.most
        self._passes = passes
        self._planned = planned
        self._least = min(planned, LEAST_SLICE_SECONDS)
        # What the latest turns took in all beyond what they were to sample, s: of the first pass,
        # and of later ones, one of each item.
        self._first: list[float] = []
        self._later: deque[float] = deque(maxlen=max(1, items))
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
        first = _mean(self._first)
        # Paths are open by then, and warm.
        later = _mean(self._later) if self._later else _LATER_SHARE * first
        beyond = later if number else first
        if (self._ends if number else self._ends_at_last) - now < beyond + self._least:
            return None
        # As many passes as leave each turn the least time.
        whole = self._ends - now
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

    def _learn(self, now: float) -> None:
        """Takes how long the last turn took."""
        if self._turn is None:
            return
        number, began, sampled = self._turn
        # Less than nothing where a slice was over early.
        beyond = now - began - sampled
        if number == 0:
            self._first.append(beyond)
            return
        if not self._later:
            # What is not known yet stays in the mean until there is something in its place.
            guess = _LATER_SHARE * _mean(self._first)
            self._later.extend([guess] * (self._later.maxlen or 1))
        self._later.append(beyond)


def _mean(values: Collection[float]) -> float:
    return max(sum(values) / len(values), 0.0) if values else 0.0
