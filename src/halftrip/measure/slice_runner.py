"""Runs the slices of a rank: in each turn it opens what it needs with its partner of the moment,
and the two measure a slice between themselves."""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from halftrip.clock import raw_now
from halftrip.measure.background import BackgroundEnd
from halftrip.measure.batch import stopping
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.kept_blocks import BLOCK_GROWTH, FIRST_BLOCK_SHARE, BlockLengths
from halftrip.measure.pair import PairEnd
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.progress import ConfigurationProgress, Earlier
from halftrip.measure.sampler import Sampler
from halftrip.measure.selection import Refusal
from halftrip.measure.setup import Setup
from halftrip.measure.slice_run import ConfigurationState, PathRecord, SliceRun
from halftrip.measure.walk import SliceTurn
from halftrip.plan.background import parsed
from halftrip.plan.configurations import configuration_of
from halftrip.plan.slices import planned_slices
from halftrip.results.configuration import Configuration
from halftrip.results.counts import CountedSlice
from halftrip.results.records import Failure, Measurement
from halftrip.results.threshold import Threshold

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

# Where several pairs talk at once, each samples in one block: between blocks nothing is sent.
_FIRST_BLOCK_OF_SEVERAL = 1.0
# Pairs that begin together do so this long after rank 0 has named the moment, ns, and this much
# more for each rank: by then all have heard of it.
_LEAD_NS = 200_000
_LEAD_NS_PER_RANK = 20_000
# With more partners, a rank closes what it has open to one as soon as the two have done.
_MOST_PARTNERS = 128


class TurnReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a rank reports of a turn: the records of slices that go into the run file, and those of
    `paths`, refusals, how many of its configurations need more slices, the time of its batches, ns,
    and warnings: of what could not be read, and of what the kernel gave less of (`shortfalls`).
    `late`: a configuration took longer than planned, so that it leaves no time to others."""

    records: list[Measurement | CountedSlice | Failure] = []
    paths: list[PathRecord] = []
    refusals: list[Refusal] = []
    unfinished: int = 0
    late: bool = False
    timed_ns: int = 0
    warnings: list[str] = []
    shortfalls: list[str] = []


class _TimeBySize:
    """The time of an iteration, ns, by size, bytes."""

    def __init__(self) -> None:
        self._times: dict[int, float] = {}
        # The sizes, ascending: there may be thousands.
        self._sizes: list[int] = []

    def set(self, size: int, time: float) -> None:
        if size not in self._times:
            bisect.insort(self._sizes, size)
        self._times[size] = time

    def nearest(self, size: int) -> float:
        """The time of the nearest size, of those that were set, at least one."""
        place = bisect.bisect(self._sizes, size)
        beside = self._sizes[max(0, place - 1) : place + 1]
        return self._times[min(beside, key=lambda each: abs(each - size))]


def _pool(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


class SliceRunner:
    """Runs this rank's slices in all turns of a launch, which began at the time.monotonic `began`;
    `earlier` is what launches before it have found."""

    def __init__(
        self,
        setup: Setup,
        clocks: HostClocks,
        launch: int,
        began: float,
        earlier: Sequence[Earlier] = (),
    ) -> None:
        self._earlier = {each.configuration: each for each in earlier}
        self._setup = setup
        self._plan = setup.plan
        self._clocks = clocks
        self._launch = launch
        self._began = began
        threads = setup.plan.threads
        self._pool = _pool(threads) if threads > 1 else None
        self._keeps_pairs = setup.schedule.partners() <= _MOST_PARTNERS
        self._pairs: dict[tuple[tuple[int, int], int], PairEnd] = {}
        # By configuration, and whether its slices are counted, not timed.
        self._states: dict[tuple[Configuration, bool], ConfigurationState] = {}
        self._shortfalls: set[str] = set()
        # Of each, all but its value.
        self._thresholds: set[tuple[object, ...]] = set()
        self._placements: dict[tuple[tuple[int, int], bool], PlacementFilter] = {}
        # The time of an iteration, ns, by curve, whoever talks, and size.
        self._iteration_ns: dict[Configuration, _TimeBySize] = {}

    def run(self, turn: SliceTurn) -> TurnReport:
        """Runs what this rank has in a turn. All ranks call it, those that rest, too."""
        setup = self._setup
        schedule, group = setup.schedule, setup.group
        # Where pairs talk at the same time, or threads, they agree on when they begin and end.
        at_once = schedule.count(turn.round)
        several = at_once > 1 or self._plan.threads > 1
        ranks = schedule.pair_of(group.rank, turn.round)
        runs = []
        if ranks is not None:
            runs = [
                self._slice_run(turn, ranks, thread, at_once)
                for thread in range(self._plan.threads)
            ]
        self._each(runs, lambda run: run.prepare(several))
        until = self._begin_together(turn) if several else None
        self._each(runs, lambda run: run.sample(until))
        report = self._report(turn, runs)
        if ranks is not None and not self._keeps_pairs:
            self._leave(ranks)
        return report

    def _each(self, runs: list[SliceRun], step: Callable[[SliceRun], None]) -> None:
        """Takes a step of this rank's runs, all at the same time."""
        if self._pool is None:
            for run in runs:
                step(run)
        else:
            list(self._pool.map(step, runs))

    def _slice_run(
        self, turn: SliceTurn, ranks: tuple[int, int], thread: int, at_once: int
    ) -> SliceRun:
        configuration = configuration_of(self._plan, turn.setting, ranks, thread, at_once)
        placement = None
        # What is counted depends little on the state of the machine.
        state = None if turn.counts else self._plan.placement_state
        if state is not None and ranks[0] == self._setup.group.rank:
            key = ranks, configuration.is_simulated
            if key not in self._placements:
                self._placements[key] = PlacementFilter(state)
            placement = self._placements[key]
        return SliceRun(
            self._setup,
            self._pair(ranks, thread),
            turn,
            configuration,
            lambda: self._state_of(configuration, turn.counts),
            placement,
            self._background(configuration, ranks),
        )

    def _background(
        self, configuration: Configuration, ranks: tuple[int, int]
    ) -> Callable[[], BackgroundEnd] | None:
        """What makes the traffic beside a configuration, of a pair beside its first thread."""
        found = parsed(configuration.background)
        if found is None or configuration.thread:
            return None
        first = self._plan.threads
        threads = range(first, first + found.flows)

        def make() -> BackgroundEnd:
            pairs = [self._pair(ranks, thread) for thread in threads]
            return BackgroundEnd(self._setup, pairs, configuration)

        return make

    def _pair(self, ranks: tuple[int, int], thread: int) -> PairEnd:
        key = ranks, thread
        if key not in self._pairs:
            # Both ends know the same number of partners, so they close the same buffers.
            shares = self._setup.schedule.partners() * self._plan.all_threads
            context = self._setup.context(ranks, thread)
            self._pairs[key] = PairEnd(self._setup, context, self._setup.kept_bytes // shares)
        return self._pairs[key]

    def _leave(self, ranks: tuple[int, int]) -> None:
        for thread in range(self._plan.all_threads):
            pair = self._pairs.pop((ranks, thread), None)
            if pair is not None:
                pair.close()
        self._setup.group.leave(sum(ranks) - self._setup.group.rank)

    def _begin_together(self, turn: SliceTurn) -> int | None:
        """Waits until the moment at which all pairs begin to sample. Returns when they end, ns of
        this host's CLOCK_MONOTONIC_RAW; None: when each has its number of iterations."""
        group, plan = self._setup.group, self._setup.plans.of(turn.setting)
        group.gather(None, None)
        named = raw_now() + _LEAD_NS + _LEAD_NS_PER_RANK * group.size
        begin = int(group.broadcast(named, int))
        begin += self._clocks.ahead(group.rank, begin)
        if not self._setup.is_absent:
            time.sleep(max(0, begin - raw_now()) * 1e-9)
        if plan.iterations is not None:
            return None
        return begin + round(turn.time(plan) * 1e9)

    # What is kept of a configuration.

    def _state_of(self, configuration: Configuration, counts: bool) -> ConfigurationState:
        key = configuration, counts
        if key not in self._states:
            self._states[key] = ConfigurationState(
                self._sampler(configuration, counts),
                ConfigurationProgress(self._earlier.get(configuration)),
            )
        return self._states[key]

    def _sampler(self, configuration: Configuration, counts: bool) -> Sampler:
        rule = stopping(self._setup.plans.of(configuration))
        cost, resolution = self._setup.clock_figures(configuration)
        alone = configuration.concurrency == 1
        return Sampler(
            # Those who talk at the same time end at the same time, too.
            rule if alone and not counts else msgspec.structs.replace(rule, ci=None),
            clock_cost=cost,
            clock_resolution=resolution,
            lengths=BlockLengths(
                FIRST_BLOCK_SHARE if alone else _FIRST_BLOCK_OF_SEVERAL,
                # Short blocks: within one the state of the machine hardly changes.
                0.0 if self._plan.placement_state else BLOCK_GROWTH,
            ),
            expected_ns=self._expected_ns(configuration),
            # Windows between which memory is touched are timed one by one.
            single=self._setup.transport(configuration).capabilities.lossy
            or configuration.touch == "untimed",
            most_iterations=self._setup.most_iterations(configuration),
            arrivals_cost=self._setup.arrivals_cost(configuration),
        )

    def _expected_ns(self, configuration: Configuration) -> float | None:
        """The time of an iteration in earlier launches, ns, or of the nearest size measured so far;
        None before any."""
        before = self._earlier.get(configuration)
        if before is not None:
            return before.iteration_ns
        of_curve = self._iteration_ns.get(configuration.setting.curve)
        return None if of_curve is None else of_curve.nearest(configuration.size)

    # Reports.

    def _path_records(self, run: SliceRun) -> list[PathRecord]:
        """The records of the path that a run went over: of several alike, the thresholds are those
        of the first."""
        paths = []
        for record in run.path_records(self._launch):
            if isinstance(record, Threshold):
                kind = (
                    record.transport,
                    record.same_host,
                    record.tuning,
                    record.extra,
                    record.name,
                )
                if kind in self._thresholds:
                    continue
                self._thresholds.add(kind)
            paths.append(record)
        return paths

    def _new_shortfalls(self, runs: list[SliceRun]) -> list[str]:
        """What paths that were opened in this turn lack, each once in a launch."""
        found = dict.fromkeys(text for run in runs for text in run.take_shortfalls())
        new = [text for text in found if text not in self._shortfalls]
        self._shortfalls.update(new)
        return new

    def _report(self, turn: SliceTurn, runs: list[SliceRun]) -> TurnReport:
        records, paths, refusals = [], [], []
        unfinished, late = 0, False
        plan = self._setup.plans.of(turn.setting)
        slices = planned_slices(plan)
        is_last = turn.number >= slices - 1
        for run in runs:
            refusals += run.refusal()
            record = run.result(self._launch, self._began, is_last)
            if record is not None:
                records.append(record)
            paths += self._path_records(run)
            is_over = run.refused is not None or run.is_silent or isinstance(record, Failure)
            if run.initiates and not is_over:
                progress = self._state_of(run.configuration, turn.counts).progress
                unfinished += turn.counts or not progress.is_enough(plan)
                late |= progress.is_late(plan, slices)
                if progress.iteration_ns is not None:
                    curve = run.configuration.setting.curve
                    of_curve = self._iteration_ns.setdefault(curve, _TimeBySize())
                    of_curve.set(run.configuration.size, progress.iteration_ns)
        return TurnReport(
            records=records,
            paths=paths,
            refusals=refusals,
            unfinished=unfinished,
            late=late,
            timed_ns=max((run.timed_ns for run in runs), default=0),
            warnings=self._setup.meter.reader.take_warnings(),
            shortfalls=self._new_shortfalls(runs),
        )

    def close(self) -> None:
        """Closes all pairs."""
        if self._pool is not None:
            self._pool.shutdown()
        for pair in self._pairs.values():
            pair.close()
