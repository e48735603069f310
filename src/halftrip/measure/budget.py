"""How what is left of --max-duration is dealt to the slices that are left."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from halftrip.plan.slices import LEAST_SLICE_SECONDS


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
        # What the latest turns took in all beyond what they were to sample, s.
        self._beyond: deque[float] = deque(maxlen=max(1, items))
        self._turn: tuple[float, float] | None = None
        self._turns_left = items * passes

    @property
    def turns_left(self) -> int:
        """How many turns there may be still, as things are now."""
        return self._turns_left

    def next(self, number: int, left: int, items: int) -> float | None:
        """For how long the next turn samples, s, in pass `number`, in which so many turns are left;
        each further pass has one for each of the `items`. None: the time is up."""
        now = self._now()
        if self._turn is not None:
            began, sampled = self._turn
            self._beyond.append(now - began - sampled)
        beyond = max(sum(self._beyond) / len(self._beyond), 0.0) if self._beyond else 0.0
        seconds = (self._ends if number else self._ends_at_last) - now
        if seconds < beyond + self._least:
            return None
        # As many passes as leave each turn the least time.
        fit = max(0, int((self._ends - now) / (beyond + self._least)))
        further = max(0, min(self._passes - number - 1, (fit - left) // max(items, 1)))
        self._turns_left = left + further * items
        if number:
            self._turns_left = min(self._turns_left, max(1, fit))
        sampled = (self._ends - now) / (left + further * items) - beyond
        sampled = min(max(sampled, self._least), self._planned)
        self._turn = now, sampled
        return sampled
