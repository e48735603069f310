"""A rank's part in a turn: one thread of it and of its partner measure one slice of a
configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from halftrip.clock import raw_now
from halftrip.errors import Unavailable
from halftrip.measure.pair import Pair
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.progress import Progress
from halftrip.measure.sampler import Sampler
from halftrip.measure.selection import Refusal, refusal
from halftrip.measure.setup import Setup
from halftrip.measure.side import Side
from halftrip.measure.slices import Slice, finish, serve
from halftrip.plan.plan import Plan
from halftrip.plan.slices import slice_seconds
from halftrip.results.configuration import Configuration
from halftrip.results.counts import CountedSlice
from halftrip.results.records import Connection, Failure, Measurement
from halftrip.results.threshold import Threshold
from halftrip.results.usage import CoreUse

# Where batches have to be short, as those of messages that are checked, most of the time passes
# between them: a slice may take this many times as long as it samples, and this much more, s.
_MOST_WALL = 5.0
_LEAST_WALL_SECONDS = 0.05


class Turn(msgspec.Struct, frozen=True):
    """What all ranks do next: slice `number` of `setting`, in a round of the schedule. `iterations`
    is how many iterations the slice has exactly; None: as many as its time allows, which is
    `seconds`, or, where that is None, its part of the plan's. It is not over before it has sampled
    for `least` seconds. A slice that `counts` is not timed: hardware counters count."""

    round: int
    setting: Configuration
    number: int
    iterations: int | None = None
    least: float = 0.0
    seconds: float | None = None
    counts: bool = False

    def time(self, plan: Plan) -> float:
        """The time that the slice may sample for, s."""
        return slice_seconds(plan, self.counts) if self.seconds is None else self.seconds


class Started(NamedTuple):
    """What the initiator keeps of a configuration between its slices."""

    sampler: Sampler
    progress: Progress


class NewPath(NamedTuple):
    """The records of a path: the connection, if it leads to another host, and the thresholds of
    messages over it."""

    connection: Connection | None
    thresholds: list[Threshold]


class Part:
    """This rank's part in `turn`, in `configuration`, whose `pair` it is one end of. The initiator
    keeps what `started` gives, and with --placement-state has a `placement`.

    `refused` is why the configuration cannot be measured here, `timed_ns` the time of all batches.
    """

    def __init__(
        self,
        setup: Setup,
        pair: Pair,
        turn: Turn,
        configuration: Configuration,
        started: Callable[[], Started],
        placement: PlacementFilter | None,
    ) -> None:
        self.configuration = configuration
        self.refused: str | None = None
        self.timed_ns = 0
        self._setup = setup
        self._plan = setup.plans.of(configuration)
        self._pair = pair
        self._turn = turn
        self._started = started
        self._placement = placement
        self._side: Side | None = None
        self._slice: Slice | None = None
        self._cores: tuple[CoreUse | None, CoreUse | None] = (None, None)

    @property
    def initiates(self) -> bool:
        return self._pair.initiates

    @property
    def is_silent(self) -> bool:
        """Whether the configuration got no answer, in this slice or before it."""
        return self.configuration in self._pair.silences

    def prepare(self, several: bool) -> None:
        """Opens what the configuration needs, and warms up; `several`: others talk at the same
        time."""
        if self.is_silent:
            # Since an earlier slice; other pairs go on.
            return
        if self._pair.unreachable is not None:
            self.refused = self._pair.unreachable
            return
        try:
            if self._turn.number == 0:
                reason = refusal(self._setup, self._pair, self.configuration)
                if reason is not None:
                    raise Unavailable(reason)
            self._side = self._pair.side(self.configuration)
        except Unavailable as error:
            self.refused = str(error)
            return
        if self._pair.initiates:
            sampler = self._started().sampler
            sampler.allow(self._turn.time(self._plan))
            counts = self._turn.counts
            self._slice = Slice(self._pair, self._side, sampler, self._placement, counts)
            spread = self._started().progress.spread
            self._slice.warm_up(self._turn.iterations, spread, self._turn.least)
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
            ended = serve(self._pair, self._side)
            finish(self._pair, self._side)
        else:
            self._slice.sample(until or self._latest_end())
            self._cores = self._slice.end()
            self.timed_ns = self._slice.timed_ns
            ended = self._slice.ended
        if ended is not None:
            self._pair.fail(self.configuration, ended.problem, ended.gives_up)
        else:
            self._pair.silences.passed(self.configuration)
            if not self._side.lasting:
                self._pair.drop(self.configuration)

    def _latest_end(self) -> int | None:
        """When the slice ends at the latest, ns of CLOCK_MONOTONIC_RAW, where no others talk; None
        where a number of iterations, or a state of the machine, was asked for."""
        if self._turn.iterations is not None or self._plan.placement_state is not None:
            return None
        seconds = self._turn.time(self._plan)
        return raw_now() + round((_MOST_WALL * seconds + _LEAST_WALL_SECONDS) * 1e9)

    def result(
        self, launch: int, began: float, last: bool
    ) -> Measurement | CountedSlice | Failure | None:
        """The record of the slice, on the initiator; None where it has none and may have one
        later. `last`: no slice is planned after it. The launch began at that time.monotonic."""
        if self._slice is None:
            return None
        progress = self._started().progress
        if self._turn.counts:
            counted = self._slice.counted(self._turn.number, launch)
            if counted is not None:
                return counted
        else:
            measured = self._slice.measurement(self._turn.number, launch, began, self._cores)
            if measured is not None:
                progress.add(measured)
                return measured
        reason = None if self._slice.ended is None else self._slice.ended.problem.reason
        if reason is None and last and not progress.medians and self._placement is not None:
            reason = self._placement.why_nothing
        if reason is None:
            return None
        return Failure(
            configuration=self.configuration, slice=self._turn.number, launch=launch, reason=reason
        )

    def new_path(self, launch: int) -> NewPath | None:
        """What is known of the path that the slice went over, if that has no record yet."""
        if self.refused is not None:
            return None
        path = self._pair.new_path(self.configuration)
        if path is None:
            return None
        context, transport = self._pair.context, self.configuration.transport
        rank = next(rank for rank in self.configuration.pair if rank != context.peer)
        found = path.network_path()
        connection = None
        if found is not None:
            connection = Connection(
                transport=transport,
                rank=rank,
                peer=context.peer,
                path=found,
                thread=context.thread,
                launch=launch,
            )
        thresholds = [
            msgspec.structs.replace(
                threshold,
                rank=rank,
                transport=transport,
                same_host=context.same_host,
                tuning=self.configuration.tuning,
                launch=launch,
            )
            for threshold in path.thresholds()
        ]
        return NewPath(connection, thresholds)

    def take_shortfalls(self) -> list[str]:
        """What the paths that were opened since this was last called lack of what was asked for."""
        found, self._pair.shortfalls = self._pair.shortfalls, []
        return found

    def refusal(self) -> list[Refusal]:
        """On the initiator, the refusal of the configuration, if it was refused."""
        if self.refused is None or not self._pair.initiates:
            return []
        return [Refusal(self.configuration, self.refused)]
