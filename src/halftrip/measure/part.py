"""A rank's part in a turn: one thread of it and of its partner measure one slice of a case."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.errors import Unavailable
from halftrip.measure.pair import Pair
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.sampler import Sampler
from halftrip.measure.selection import Refusal, refusal
from halftrip.measure.setup import Setup
from halftrip.measure.side import Side
from halftrip.measure.slices import Slice, finish, serve
from halftrip.plan.plan import Plan
from halftrip.results.case import Case
from halftrip.results.records import Failure, Measurement
from halftrip.stats.interval import SliceMedian, interval, of_samples
from halftrip.stats.settle import settled_from

# A case may be over when it has this many slices; with fewer, order statistics give no interval.
FEWEST_SLICES = 6
# A case is late where its slices take this many times as long as planned.
_LATE = 3.0


class Turn(msgspec.Struct, frozen=True):
    """What all ranks do next: slice `number` of `setting`, in a round of the schedule. `iterations`
    is how many exchanges the slice has exactly; None: as many as its time allows."""

    round: int
    setting: Case
    number: int
    iterations: int | None = None


class Progress:
    """How far a case has come: the medians of its slices so far, and how long it was sampled,
    ns."""

    def __init__(self) -> None:
        self.medians: list[SliceMedian] = []
        self.sampled_ns = 0

    def add(self, measurement: Measurement) -> None:
        times = measurement.samples
        if times.size:
            exchanges = measurement.exchanges
            self.medians.append(of_samples(times / exchanges, unit=1 / exchanges))
        self.sampled_ns += sum(block.elapsed for block in measurement.blocks)

    @property
    def settled(self) -> list[SliceMedian]:
        """The slices after the path had warmed up."""
        return self.medians[settled_from([each.median for each in self.medians]) :]

    @property
    def exchange_ns(self) -> float | None:
        """The typical time of an exchange, ns; None if none was kept."""
        return float(np.median([each.median for each in self.medians])) if self.medians else None

    def is_enough(self, plan: Plan) -> bool:
        """Whether the interval over the slices is as narrow as the plan wants it."""
        if plan.ci is None or plan.iterations is not None:
            return False
        settled = self.settled
        found = interval(settled) if len(settled) >= FEWEST_SLICES else None
        if found is None:
            return False
        middle = float(np.median([each.median for each in settled]))
        return max(found.high - middle, middle - found.low) <= plan.ci * middle

    def is_late(self, plan: Plan, slices: int) -> bool:
        """Whether it has had all its time long before all its `slices`: its exchanges are long."""
        if plan.iterations is not None or plan.placement_state is not None or not self.medians:
            return False
        is_over = self.sampled_ns >= plan.time * 1e9
        return is_over and self.sampled_ns * slices > _LATE * plan.time * 1e9 * len(self.medians)


class Started(NamedTuple):
    """What the initiator keeps of a case between its slices."""

    sampler: Sampler
    progress: Progress


class Part:
    """This rank's part in `turn`, in `case`, whose `pair` it is one end of. The initiator keeps
    what `started` gives, and with --placement-state has a `placement`.

    `refused` is why the case cannot be measured here, `timed_ns` the time of all batches.
    """

    def __init__(
        self,
        setup: Setup,
        pair: Pair,
        turn: Turn,
        case: Case,
        started: Callable[[], Started],
        placement: PlacementFilter | None,
    ) -> None:
        self.case = case
        self.refused: str | None = None
        self.timed_ns = 0
        self._setup = setup
        self._pair = pair
        self._turn = turn
        self._started = started
        self._placement = placement
        self._side: Side | None = None
        self._slice: Slice | None = None

    @property
    def initiates(self) -> bool:
        return self._pair.initiates

    def prepare(self, several: bool) -> None:
        """Opens what the case needs, and warms up; `several`: others talk at the same time."""
        try:
            if self._turn.number == 0:
                reason = refusal(self._setup, self._pair, self.case)
                if reason is not None:
                    raise Unavailable(reason)
            self._side = self._pair.side(self.case)
        except Unavailable as error:
            self.refused = str(error)
            return
        if self._pair.initiates:
            self._slice = Slice(self._pair, self._side, self._started().sampler, self._placement)
            self._slice.warm_up(self._turn.iterations)
            if several:
                self._slice.pause()
        else:
            self._side.begin_slice()
            if several:
                serve(self._pair, self._side)

    def sample(self, until: int | None) -> None:
        """Samples, until the moment `until`, ns of this host's CLOCK_MONOTONIC_RAW, if others do at
        the same time, and ends the slice."""
        if self._side is None:
            return
        if self._slice is None:
            serve(self._pair, self._side)
            finish(self._pair, self._side)
            return
        self._slice.sample(until)
        self._cores = self._slice.end()
        self.timed_ns = self._slice.timed_ns

    def result(self, launch: int, began: float, last: bool) -> Measurement | Failure | None:
        """The record of the slice, on the initiator; None where it has none and may have one
        later. `last`: no slice is planned after it. The launch began at that time.monotonic."""
        if self._slice is None:
            return None
        measured = self._slice.measurement(self._turn.number, launch, began, self._cores)
        progress = self._started().progress
        if measured is not None:
            progress.add(measured)
            return measured
        reason = self._slice.problem
        if reason is None and last and not progress.medians and self._placement is not None:
            reason = self._placement.why_nothing
        if reason is None:
            return None
        return Failure(case=self.case, slice=self._turn.number, launch=launch, reason=reason)

    def refusal(self) -> list[Refusal]:
        """On the initiator, the refusal of the case, if it was refused."""
        if self.refused is None or not self._pair.initiates:
            return []
        return [Refusal(self.case, self.refused)]
