"""What a rank does in the turns of a run: it opens what it needs with its partner of the moment,
and the two measure a slice between themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from halftrip.clock import raw_now
from halftrip.measure.batch import stopping
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.pair import Pair
from halftrip.measure.part import Part, Started, Turn
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.progress import Progress
from halftrip.measure.sampler import BLOCK_GROWTH, FIRST_BLOCK_SHARE, Sampler
from halftrip.measure.selection import Refusal
from halftrip.measure.setup import Setup
from halftrip.plan.configurations import configuration_of
from halftrip.plan.slices import planned_slices
from halftrip.results.configuration import Configuration, Tuning
from halftrip.results.counts import CountedSlice
from halftrip.results.records import Connection, Failure, Measurement
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
    `paths`, refusals, how many of its configurations need more
    slices, the time of its batches, ns, and warnings: of what could not be read, and of what the
    kernel gave less of (`shortfalls`).
    `late`: a configuration took longer than planned, so that it leaves no time to others."""

    records: list[Measurement | CountedSlice | Failure] = []
    paths: list[Connection | Threshold] = []
    refusals: list[Refusal] = []
    unfinished: int = 0
    late: bool = False
    timed_ns: int = 0
    warnings: list[str] = []
    shortfalls: list[str] = []


def _pool(threads: int) -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(threads)


class Participant:
    """This rank in all turns of a launch, which began at the time.monotonic `began`."""

    def __init__(self, setup: Setup, clocks: HostClocks, launch: int, began: float) -> None:
        self._setup = setup
        self._plan = setup.plan
        self._clocks = clocks
        self._launch = launch
        self._began = began
        threads = setup.plan.threads
        self._pool = _pool(threads) if threads > 1 else None
        self._keeps_pairs = setup.schedule.partners() <= _MOST_PARTNERS
        self._pairs: dict[tuple[tuple[int, int], int], Pair] = {}
        # By configuration, and whether its slices are counted, not timed.
        self._started: dict[tuple[Configuration, bool], Started] = {}
        self._shortfalls: set[str] = set()
        # Of each, all but its value.
        self._thresholds: set[tuple[str, bool | None, Tuning, str]] = set()
        self._placements: dict[tuple[tuple[int, int], bool], PlacementFilter] = {}
        # The time of an iteration, ns, by curve, whoever talks, and size.
        self._iteration_ns: dict[Configuration, dict[int, float]] = {}

    def take_part(self, turn: Turn) -> TurnReport:
        """Takes this rank's part in a turn. All ranks call it, those that rest, too."""
        setup = self._setup
        schedule, group = setup.schedule, setup.group
        # Where pairs talk at the same time, or threads, they agree on when they begin and end.
        at_once = schedule.count(turn.round)
        several = at_once > 1 or self._plan.threads > 1
        ranks = schedule.pair_of(group.rank, turn.round)
        parts = []
        if ranks is not None:
            parts = [
                self._part(turn, ranks, thread, at_once) for thread in range(self._plan.threads)
            ]
        self._each(parts, lambda part: part.prepare(several))
        until = self._begin_together(turn) if several else None
        self._each(parts, lambda part: part.sample(until))
        report = self._report(turn, parts)
        if ranks is not None and not self._keeps_pairs:
            self._leave(ranks)
        return report

    def _each(self, parts: list[Part], step: Callable[[Part], None]) -> None:
        """Takes a step of this rank's parts, all at the same time."""
        if self._pool is None:
            for part in parts:
                step(part)
        else:
            list(self._pool.map(step, parts))

    def _part(self, turn: Turn, ranks: tuple[int, int], thread: int, at_once: int) -> Part:
        configuration = configuration_of(self._plan, turn.setting, ranks, thread, at_once)
        placement = None
        # What is counted depends little on the state of the machine.
        state = None if turn.counts else self._plan.placement_state
        if state is not None and ranks[0] == self._setup.group.rank:
            key = ranks, configuration.is_simulated
            if key not in self._placements:
                self._placements[key] = PlacementFilter(state)
            placement = self._placements[key]
        return Part(
            self._setup,
            self._pair(ranks, thread),
            turn,
            configuration,
            lambda: self._started_of(configuration, turn.counts),
            placement,
        )

    def _pair(self, ranks: tuple[int, int], thread: int) -> Pair:
        key = ranks, thread
        if key not in self._pairs:
            # Both ends know the same number of partners, so they close the same buffers.
            shares = self._setup.schedule.partners() * self._plan.threads
            context = self._setup.context(ranks, thread)
            self._pairs[key] = Pair(self._setup, context, self._setup.kept_bytes // shares)
        return self._pairs[key]

    def _leave(self, ranks: tuple[int, int]) -> None:
        for thread in range(self._plan.threads):
            self._pairs.pop((ranks, thread)).close()
        self._setup.group.leave(sum(ranks) - self._setup.group.rank)

    def _begin_together(self, turn: Turn) -> int | None:
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

    def _started_of(self, configuration: Configuration, counts: bool) -> Started:
        key = configuration, counts
        if key not in self._started:
            self._started[key] = Started(self._sampler(configuration, counts), Progress())
        return self._started[key]

    def _sampler(self, configuration: Configuration, counts: bool) -> Sampler:
        rule = stopping(self._setup.plans.of(configuration))
        cost, resolution = self._setup.clock_figures(configuration)
        alone = configuration.concurrency == 1
        return Sampler(
            # Those who talk at the same time end at the same time, too.
            rule if alone and not counts else msgspec.structs.replace(rule, ci=None),
            clock_cost=cost,
            clock_resolution=resolution,
            first_block=FIRST_BLOCK_SHARE if alone else _FIRST_BLOCK_OF_SEVERAL,
            expected_ns=self._expected_ns(configuration),
            # Windows between which memory is touched are timed one by one.
            single=self._setup.transport(configuration).capabilities.lossy
            or configuration.touch == "untimed",
            most_iterations=self._setup.most_iterations(configuration),
            # Short blocks: within one the state of the machine hardly changes.
            growth=0.0 if self._plan.placement_state else BLOCK_GROWTH,
            arrivals_cost=self._setup.arrivals_cost(configuration),
        )

    def _expected_ns(self, configuration: Configuration) -> float | None:
        """The time of an iteration of the nearest size measured so far, ns; None before any."""
        nearest = self._iteration_ns.get(configuration.setting.curve, {})
        if not nearest:
            return None
        return nearest[min(nearest, key=lambda size: abs(size - configuration.size))]

    # Reports.

    def _of_path(self, part: Part) -> list[Connection | Threshold]:
        """The records of the path that a part went over: of several alike, the thresholds are those
        of the first."""
        found = part.new_path(self._launch)
        if found is None:
            return []
        paths: list[Connection | Threshold] = []
        if found.connection is not None:
            paths.append(found.connection)
        for threshold in found.thresholds:
            kind = (threshold.transport, threshold.same_host, threshold.tuning, threshold.name)
            if kind not in self._thresholds:
                self._thresholds.add(kind)
                paths.append(threshold)
        return paths

    def _new_shortfalls(self, parts: list[Part]) -> list[str]:
        """What paths that were opened in this turn lack, each once in a launch."""
        found = dict.fromkeys(text for part in parts for text in part.take_shortfalls())
        new = [text for text in found if text not in self._shortfalls]
        self._shortfalls.update(new)
        return new

    def _report(self, turn: Turn, parts: list[Part]) -> TurnReport:
        records, paths, refusals = [], [], []
        unfinished, late = 0, False
        plan = self._setup.plans.of(turn.setting)
        slices = planned_slices(plan)
        is_last = turn.number >= slices - 1
        for part in parts:
            refusals += part.refusal()
            record = part.result(self._launch, self._began, is_last)
            if record is not None:
                records.append(record)
            paths += self._of_path(part)
            is_over = part.refused is not None or part.is_silent or isinstance(record, Failure)
            if part.initiates and not is_over:
                progress = self._started_of(part.configuration, turn.counts).progress
                unfinished += turn.counts or not progress.is_enough(plan)
                late |= progress.is_late(plan, slices)
                if progress.iteration_ns is not None:
                    of_curve = self._iteration_ns.setdefault(part.configuration.setting.curve, {})
                    of_curve[part.configuration.size] = progress.iteration_ns
        return TurnReport(
            records=records,
            paths=paths,
            refusals=refusals,
            unfinished=unfinished,
            late=late,
            timed_ns=max((part.timed_ns for part in parts), default=0),
            warnings=self._setup.meter.reader.take_warnings(),
            shortfalls=self._new_shortfalls(parts),
        )

    def close(self) -> None:
        """Closes all pairs."""
        if self._pool is not None:
            self._pool.shutdown()
        for pair in self._pairs.values():
            pair.close()
