"""One thread of this rank and of its partner measure one slice of a configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from halftrip.clock import raw_now
from halftrip.errors import Unavailable
from halftrip.measure.background import BackgroundEnd, stood_still
from halftrip.measure.batch_runner import BatchRunner
from halftrip.measure.copies import copy_beside
from halftrip.measure.pair import PairEnd
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.progress import ConfigurationProgress
from halftrip.measure.sampler import Sampler
from halftrip.measure.selection import Refusal, refusal
from halftrip.measure.setup import Setup
from halftrip.measure.slices import InitiatorSlice, finish, serve
from halftrip.measure.walk import SliceTurn
from halftrip.results.background import BackgroundTraffic
from halftrip.results.carrier import Carrier
from halftrip.results.configuration import Configuration
from halftrip.results.counts import CountedSlice
from halftrip.results.network_path import Connection
from halftrip.results.records import Failure, Measurement
from halftrip.results.threshold import Threshold
from halftrip.results.usage import CoreUse

# Where batches have to be short, as those of messages that are checked, most of the time passes
# between them: a slice may take this many times as long as it samples, and this much more, s.
_MOST_WALL = 5.0
_LEAST_WALL_SECONDS = 0.05


# What there is to know of a path.
PathRecord = Connection | Carrier | Threshold


class ConfigurationState(NamedTuple):
    """What the initiator keeps of a configuration between its slices."""

    sampler: Sampler
    progress: ConfigurationProgress


class SliceRun:
    """The slice of `turn`, of `configuration`, at this end of its `pair`. The initiator keeps what
    `state` gives, and with --placement-state has a `placement`. `background` makes what goes on
    meanwhile; None: nothing.

    `refused` is why the configuration cannot be measured here, `timed_ns` the time of all batches.
    """

    def __init__(
        self,
        setup: Setup,
        pair: PairEnd,
        turn: SliceTurn,
        configuration: Configuration,
        state: Callable[[], ConfigurationState],
        placement: PlacementFilter | None,
        background: Callable[[], BackgroundEnd] | None = None,
    ) -> None:
        self.configuration = configuration
        self.refused: str | None = None
        self.timed_ns = 0
        self._setup = setup
        self._plan = setup.plans.of(configuration)
        self._pair = pair
        self._turn = turn
        self._state = state
        self._placement = placement
        self._make_background = background
        self._background: BackgroundEnd | None = None
        self._traffic: BackgroundTraffic | None = None
        self._runner: BatchRunner | None = None
        self._slice: InitiatorSlice | None = None
        self._cores: tuple[CoreUse | None, CoreUse | None] = (None, None)

    @property
    def initiates(self) -> bool:
        return self._pair.initiates

    @property
    def is_silent(self) -> bool:
        """Whether the configuration got no answer, in this slice or before it."""
        return self.configuration in self._pair.unanswered

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
            self._runner = self._open()
        except Unavailable as error:
            self.refused = str(error)
            return
        if self._background is not None:
            self._background.begin()
        if self._pair.initiates:
            sampler = self._state().sampler
            sampler.allow(self._turn.time(self._plan))
            counts = self._turn.counts
            self._slice = InitiatorSlice(self._pair, self._runner, sampler, self._placement, counts)
            self._runner.begin_slice(self._turn.segment)
            spread = self._state().progress.spread
            self._slice.warm_up(self._turn.iterations, spread, self._turn.least)
            if several:
                self._slice.pause()
        else:
            self._runner.begin_slice(self._turn.segment)
            if several:
                serve(self._pair, self._runner)

    def _open(self) -> BatchRunner:
        """Opens what the slice needs. Raises Unavailable at both ends."""
        is_first = self._turn.number == 0
        if is_first:
            reason = refusal(self._setup, self._pair, self.configuration)
            if reason is not None:
                raise Unavailable(reason)
        if self._make_background is not None:
            self._background = self._make_background()
            self._background.open(is_first)
        return self._pair.batch_runner(self.configuration)

    def sample(self, until: int | None) -> None:
        """Samples, until the moment `until`, ns of this host's CLOCK_MONOTONIC_RAW, if others do at
        the same time, and ends the slice."""
        if self._runner is None:
            return
        if self._slice is None:
            ended = serve(self._pair, self._runner)
            if self._background is not None:
                self._background.end()
            finish(self._pair, self._runner)
        else:
            began = raw_now()
            self._slice.sample(until or self._latest_end())
            ended_at = raw_now()
            if self._background is not None:
                self._background.end()
                self._traffic = self._background.traffic(began, ended_at)
            self._cores = self._slice.end()
            self.timed_ns = self._slice.timed_ns
            ended = self._slice.ended
        if ended is not None:
            self._pair.fail(self.configuration, ended.problem, ended.gives_up)
        else:
            self._pair.unanswered.passed(self.configuration)
            if not self._runner.lasting:
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
        """The record of the slice, on the initiator, with a copy by the kernel that is timed now;
        None where it has none and may have one later. `last`: no slice is planned after it. The
        launch began at that time.monotonic."""
        if self._slice is None:
            return None
        progress, idle = self._state().progress, None
        if self._turn.counts:
            counted = self._slice.counted(self._turn.number, launch)
            if counted is not None:
                return counted
        else:
            measured = self._slice.measurement(self._turn.number, launch, began, self._cores)
            idle = None if self._traffic is None else stood_still(self._traffic)
            if measured is not None and idle is None:
                progress.add(measured)
                copy = copy_beside(self._setup, self.configuration, self._pair.context.same_host)
                return msgspec.structs.replace(measured, background=self._traffic, kernel_copy=copy)
        reason = None if self._slice.ended is None else self._slice.ended.problem.reason
        if reason is None and last and not progress.medians and idle is not None:
            reason = f"--background {self.configuration.background}: {idle}"
        if reason is None and last and not progress.medians and self._placement is not None:
            reason = self._placement.why_nothing
        if reason is None:
            return None
        return Failure(
            configuration=self.configuration, slice=self._turn.number, launch=launch, reason=reason
        )

    def path_records(self, launch: int) -> list[PathRecord]:
        """The records of the path that the slice went over, if it has none yet: the connection, if
        it leads to another host, what carries its messages, if a library chose that, and the
        thresholds of messages over it."""
        path = None if self.refused is not None else self._pair.new_path(self.configuration)
        if path is None:
            return []
        context, transport = self._pair.context, self.configuration.transport
        rank = next(rank for rank in self.configuration.pair if rank != context.peer)
        records: list[PathRecord] = []
        found = path.network_path()
        if found is not None:
            records.append(
                Connection(
                    transport=transport,
                    rank=rank,
                    peer=context.peer,
                    path=found,
                    thread=context.thread,
                    launch=launch,
                )
            )
        carried = path.carried()
        if carried is not None:
            records.append(
                Carrier(
                    transport=transport,
                    rank=rank,
                    peer=context.peer,
                    library=carried.library,
                    ways=list(carried.ways),
                    extra=self.configuration.extra,
                    thread=context.thread,
                    launch=launch,
                )
            )
        records += [
            msgspec.structs.replace(
                threshold,
                rank=rank,
                transport=transport,
                same_host=context.same_host,
                tuning=self.configuration.tuning,
                extra=self.configuration.extra,
                launch=launch,
            )
            for threshold in path.thresholds()
        ]
        return records

    def take_shortfalls(self) -> list[str]:
        """What the paths that were opened since this was last called lack of what was asked for."""
        found, self._pair.shortfalls = self._pair.shortfalls, []
        return found

    def refusal(self) -> list[Refusal]:
        """On the initiator, the refusal of the configuration, if it was refused."""
        if self.refused is None or not self._pair.initiates:
            return []
        return [Refusal(self.configuration, self.refused)]
