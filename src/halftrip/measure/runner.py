"""One rank's part in measuring a plan. All ranks take the same steps.

Rank 0 decides what is timed next, and passes on every record as soon as it exists.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import time
from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec
import numpy as np

from halftrip.clock import raw_now
from halftrip.control.collectives import Group
from halftrip.errors import Unavailable
from halftrip.measure import baselines
from halftrip.measure.adaptive_sizes import next_rounds, point
from halftrip.measure.aggregate import aggregate
from halftrip.measure.clock_offsets import clock_offsets
from halftrip.measure.host_log import HostLog
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.round import Round
from halftrip.measure.sampler import BLOCK_GROWTH, FIRST_BLOCK_SHARE, Sampler, Stopping
from halftrip.measure.selection import (
    Cases,
    planned_rounds,
    possible_rounds,
    with_concurrency,
)
from halftrip.measure.setup import Setup, set_up
from halftrip.plan.plan import Plan
from halftrip.plan.sizes import perturb
from halftrip.results.case import Case
from halftrip.results.records import (
    Aggregate,
    CopyTime,
    Failure,
    Measurement,
    Notice,
    RunEnd,
    Skip,
    Stopped,
)
from halftrip.results.run_file import Record
from halftrip.stats.piecewise import Point
from halftrip.transports.base import ProcessContext
from halftrip.units import format_size

# Concurrent pairs do not begin at exactly the same moment, so they need longer blocks.
_FIRST_BLOCK_OF_SEVERAL = 0.4
# Rank 0 reports progress at most this often.
_PROGRESS_SECONDS = 0.1


class Sink(Protocol):
    """Takes rank 0's records and progress. Nothing is timed while these methods run."""

    def record(self, record: Record) -> None: ...

    def progress(self, done: int, total: int, what: str) -> None: ...


@contextlib.contextmanager
def _own_affinity() -> Iterator[None]:
    """Gives the caller its cores back at the end."""
    cores = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def _collections_between_cases() -> Iterator[None]:
    """Collects garbage only where the runner calls for it: within a case it would be an outlier.
    Objects that exist already are left out, as they would take 8 ms."""
    was_enabled = gc.isenabled()
    was_frozen = gc.get_freeze_count()
    gc.disable()
    gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
        if was_enabled:
            gc.enable()


class Runner:
    """Measures `plan` with all ranks of `group`, each of which makes a Runner. `process` is the
    context of this process for transports."""

    def __init__(self, plan: Plan, group: Group, process: ProcessContext, sink: Sink) -> None:
        self._plan = plan
        self._group = group
        self._process = process
        self._sink = sink
        self._launch = process.launch
        self._began = time.monotonic()
        self._began_raw = raw_now()
        self._log: HostLog | None = None
        self._timed_ns = 0
        self._last_progress = 0.0
        self._refined: set[Cases] = set()
        # The time of an exchange, ns, by curve and size.
        self._exchange_ns: dict[Case, dict[int, float]] = {}
        # With --refine. Measurements are not kept: the garbage collector would visit all of them.
        self._points: dict[Case, Point] = {}

    def run(self) -> None:
        """Measures everything. Rank 0's sink gets the records; the last is the RunEnd."""
        with _own_affinity(), _collections_between_cases():
            try:
                setup = set_up(self._plan, self._group, self._process)
            except Unavailable as error:
                for transport in self._plan.transport:
                    self._record(Skip(transport=transport, reason=str(error)))
                self._record(self._end([]))
                return
            # What exists by now stays: leave it out of the collection after every case.
            gc.freeze()
            with contextlib.closing(setup):
                self._measure_plan(setup)

    def _measure_plan(self, setup: Setup) -> None:
        self._setup = setup
        self._placement = PlacementFilter(self._plan.placement_state, setup)
        for environment in setup.environments:
            self._record(msgspec.structs.replace(environment, launch=self._launch))
        rounds, skips = planned_rounds(setup)
        self._skip(skips)
        rounds = self._possible(rounds)
        has_real_time = any(not case.is_simulated for round_ in rounds for case in round_)
        if self._plan.system_log and has_real_time:
            self._log = HostLog(setup, self._record, self._began_raw, self._launch)
            self._log.rest("before")
        self._measure_slices(rounds)
        if self._log is not None:
            # What follows belongs to no case.
            self._log.flush()
        if has_real_time:
            self._measure_copies()
        if self._log is not None:
            self._log.rest("after")
        self._record_end()

    def _possible(self, rounds: Sequence[Cases]) -> list[Cases]:
        """The rounds without the cases that some rank refuses; these are recorded as skipped."""
        kept, skips = possible_rounds(self._setup, rounds)
        self._skip(skips)
        return kept

    # Measuring.

    def _measure_slices(self, rounds: Sequence[Cases]) -> None:
        """Measures all rounds in every slice, and with --refine more sizes of them."""
        rounds = list(rounds)
        for number in range(self._plan.slices):
            self._measure_all(rounds, number)
            while more := self._more_sizes(rounds):
                self._measure_all(more, number)
                rounds += more

    def _measure_all(self, rounds: Sequence[Cases], number: int) -> None:
        """Measures these rounds once, in an order that rank 0 draws."""
        before = number * len(rounds)
        total = self._plan.slices * len(rounds)
        order = random.sample(range(len(rounds)), len(rounds))
        for done, index in enumerate(self._group.broadcast(order, list[int]), start=before):
            at = time.monotonic() - self._began
            cases = self._with_open_paths(rounds[index])
            if cases:
                self._measure(cases, number, at, done, total)
            gc.collect()

    def _with_open_paths(self, cases: Cases) -> Cases:
        """The cases of a round whose paths are open; the others are skipped, on all ranks."""
        opened = []
        for case in cases:
            try:
                self._setup.connection(case).path(self._setup.transport(case), case)
                opened.append(case)
            except Unavailable as error:
                self._skip([_skip_of([case], str(error))])
        return with_concurrency(opened)

    def _measure(self, cases: Cases, number: int, at: float, done: int, total: int) -> None:
        """Measures a round, the one after `done` of `total`. It began `at` s after the launch."""
        try:
            round_ = Round(self._setup, cases, self._placement)
        except Unavailable as error:
            self._skip([_skip_of(cases, str(error))])
            return
        sampler = self._sampler(cases)
        offsets = clock_offsets(self._group, self._setup.hosts) if len(cases) > 1 else []
        for case in cases:
            self._placement.survey(case)
        for elapsed in round_.run(sampler):
            self._timed_ns += elapsed
            self._progress(done, total, cases[0])
        # Not after an exception: freeing an MPI window would wait for a dead peer.
        round_.close()
        self._note(round_.warnings)
        if self._log is not None:
            self._log.note(cases[0], number)
        if sampler is None:
            return
        if sampler.stopped is None:
            self._record_failures(round_, sampler, number)
            return
        self._record_measurements(round_, sampler, sampler.stopped, number, at)
        if len(cases) > 1:
            self._record_aggregate(round_, sampler, number, offsets)

    def _sampler(self, cases: Cases) -> Sampler | None:
        """Rank 0's sampler for a round, made for the worst of its clocks; None on other ranks."""
        if self._group.rank != 0:
            return None
        plan, first = self._plan, cases[0]
        clocks = [self._setup.clock_figures(case) for case in cases]
        return Sampler(
            Stopping(ci=plan.ci, time=plan.time, iterations=plan.iterations),
            clock_cost=max(cost for cost, _ in clocks),
            clock_resolution=max(resolution for _, resolution in clocks),
            first_block=FIRST_BLOCK_SHARE if len(cases) == 1 else _FIRST_BLOCK_OF_SEVERAL,
            expected_ns=self._expected_ns(first),
            single=self._setup.transport(first).capabilities.lossy,
            most_exchanges=self._setup.most_exchanges(first),
            # Short blocks: within one the state of the machine hardly changes.
            growth=0.0 if plan.placement_state else BLOCK_GROWTH,
        )

    def _expected_ns(self, case: Case) -> float | None:
        """The time of an exchange of the nearest size measured so far, ns; None before any."""
        nearest = self._exchange_ns.get(case.curve, {})
        if not nearest:
            return None
        return nearest[min(nearest, key=lambda size: abs(size - case.size))]

    def _more_sizes(self, rounds: Sequence[Cases]) -> list[Cases]:
        """The rounds that --refine adds to those measured so far; none without --refine."""
        if not self._plan.refine:
            return []
        schedule = perturb(self._plan.sizes, self._plan.perturb)
        # Rounds that were refused or failed are not requested again.
        more = [
            round_
            for round_ in next_rounds(rounds, self._points, schedule)
            if round_ not in self._refined
        ]
        self._refined.update(more)
        return self._possible(self._group.broadcast(more, list[Cases]))

    def _measure_copies(self) -> None:
        """Measures how fast rank 0 copies, while the others rest."""
        if self._group.rank == 0:
            for size in baselines.COPY_SIZES:
                ns = baselines.copy_time(size, self._setup.clock)
                self._record(CopyTime(rank=0, size=size, ns=ns))
        self._group.barrier()

    # Records, on rank 0.

    def _record_measurements(
        self, round_: Round, sampler: Sampler, stopped: Stopped, number: int, at: float
    ) -> None:
        """Records the cases of a round that has ended, and keeps what later rounds need of them."""
        for number, case in enumerate(round_.cases):
            measurement = Measurement(
                case=case,
                slice=number,
                launch=self._launch,
                at=at,
                first=round_.first[number],
                warm_up=sampler.warm_up,
                exchanges=sampler.exchanges,
                stopped=stopped,
                blocks=[batch.blocks[number] for batch in round_.kept],
                verified=round_.verified[number] if case.verify else None,
                cores=None if case.is_simulated else round_.cores[number],
            )
            if self._plan.refine:
                self._points[case] = point(measurement)
            exchange_ns = float(np.median(measurement.samples)) / measurement.exchanges
            self._exchange_ns.setdefault(case.curve, {})[case.size] = exchange_ns
            self._record(measurement)

    def _record_failures(self, round_: Round, sampler: Sampler, number: int) -> None:
        """Records why the cases of a round have no result."""
        for case, problem in zip(round_.cases, round_.problems, strict=True):
            reason = problem
            if reason is None and sampler.gave_up:
                reason = self._placement.why_nothing(case)
            if reason is None:
                reason = "given up: another case of the same round failed"
            self._record(Failure(case=case, slice=number, launch=self._launch, reason=reason))

    def _record_aggregate(
        self, round_: Round, sampler: Sampler, number: int, offsets: Sequence[int]
    ) -> None:
        """Records what the pairs of a round transferred together. `offsets` are those of the ranks'
        clocks."""
        cases = round_.cases
        spans, messages = aggregate(
            cases,
            [batch.blocks for batch in round_.kept],
            sampler.exchanges,
            [offsets[case.pair[0]] for case in cases],
        )
        self._record(
            Aggregate(
                case=cases[0],
                slice=number,
                launch=self._launch,
                pairs=[case.pair for case in cases],
                spans=spans,
                messages=messages,
            )
        )

    def _record_end(self) -> None:
        """Records the last warnings, and the end. All ranks call it."""
        self._note(self._group.gather(self._setup.meter.reader.take_warnings(), list[str]))
        drifts = self._group.gather(self._setup.clock.drift(), float)
        if drifts is not None:
            self._record(self._end(drifts))

    def _end(self, drifts: list[float]) -> RunEnd:
        return RunEnd(
            reason=None,
            seconds=time.monotonic() - self._began,
            timed=self._timed_ns * 1e-9,
            clock_drift=drifts,
            logged=None if self._log is None else self._log.seconds,
        )

    def _record(self, record: Record) -> None:
        if self._group.rank == 0:
            self._sink.record(record)

    def _skip(self, skips: Sequence[Skip]) -> None:
        for skip in skips:
            self._record(skip)

    def _note(self, warnings: Sequence[Sequence[str]] | None) -> None:
        """Records the warnings of each rank; `warnings` is None on ranks other than 0."""
        for rank, texts in enumerate(warnings or ()):
            host = self._setup.environments[rank].host
            for text in texts:
                self._record(Notice(rank=rank, host=host, text=text, launch=self._launch))

    def _progress(self, done: int, total: int, case: Case) -> None:
        now = time.monotonic()
        if self._group.rank == 0 and now - self._last_progress >= _PROGRESS_SECONDS:
            what = f"{case.transport} {case.pattern} {format_size(case.size)}"
            self._sink.progress(done, total, what)
            self._last_progress = time.monotonic()


def _skip_of(cases: Sequence[Case], reason: str) -> Skip:
    """The record of cases of one round that cannot be measured."""
    first = cases[0]
    return Skip(
        transport=first.transport,
        reason=reason,
        sizes=[first.size],
        patterns=[first.pattern],
        modes=[first.mode],
        pairs=[case.pair for case in cases],
    )
