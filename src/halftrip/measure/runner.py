"""One rank's walk through the plan, in lock step with the others.

Rank 0 decides what is timed next and hands on every record as soon as it exists; the others follow.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

import msgspec
import numpy as np

from halftrip.analysis.summaries import summarize_case
from halftrip.control.collectives import Group
from halftrip.errors import Unavailable
from halftrip.measure import baselines
from halftrip.measure.host_log import SystemLog
from halftrip.measure.placement_filter import WantedStates
from halftrip.measure.round import Bench, Outcome, spans_together
from halftrip.measure.sampler import BLOCK_GROWTH, FIRST_BLOCK_SHARE, Sampler, Stopping
from halftrip.measure.setup import Round, Stage, in_company
from halftrip.plan.plan import Plan
from halftrip.plan.sizes import perturb
from halftrip.results.case import Case
from halftrip.results.records import (
    CopyBound,
    End,
    Failure,
    LineBound,
    Measurement,
    Notice,
    Skip,
    Together,
)
from halftrip.results.run_file import Record
from halftrip.stats import breakpoints
from halftrip.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

# Pairs do not begin at the same moment: where they talk at the same time, they do so for longer.
_FIRST_BLOCK_TOGETHER = 0.4
# How often rank 0 says how far it is, at most.
_PROGRESS_SECONDS = 0.1


class Sink(Protocol):
    """Where rank 0's records and progress go. Nothing is timed while these run."""

    def record(self, record: Record) -> None: ...

    def progress(self, done: int, total: int, what: str) -> None: ...


@contextlib.contextmanager
def _own_affinity() -> Iterator[None]:
    """Whoever calls us gets back the cores that it had."""
    cores = os.sched_getaffinity(0)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


@contextlib.contextmanager
def _collections_between_cases() -> Iterator[None]:
    """No garbage is collected but where it is asked for: in the midst of a case that would be
    somebody's outlier. And what is there already is never looked at, which would take 8 ms."""
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


class Session:
    """`communicator` is for timed messages; where it is None, `no_mpi` says why. Of several
    launches this is number `launch`."""

    def __init__(
        self,
        plan: Plan,
        group: Group,
        token: str,
        sink: Sink,
        communicator: MPI.Intracomm | None = None,
        no_mpi: str = "",
        launch: int = 0,
    ) -> None:
        self._plan = plan
        self._launch = launch
        self._group = group
        self._sink = sink
        self._set_up = partial(Stage, plan, group, token, communicator, no_mpi, launch)
        self._began = time.monotonic()
        self._began_raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        self._log: SystemLog | None = None
        self._timed_ns = 0
        self._last_progress = 0.0
        self._tried: set[Round] = set()
        # What an exchange took, ns, by curve and size.
        self._nearest: dict[Case, dict[int, float]] = {}
        # With --refine. No measurement is kept: garbage would be looked for in all its samples.
        self._points: dict[Case, breakpoints.Point] = {}

    def run(self) -> None:
        """Measures everything. Rank 0's sink gets the records; the last is the end."""
        with _own_affinity(), _collections_between_cases():
            self._walk()

    def _walk(self) -> None:
        try:
            self._stage = self._set_up()
        except Unavailable as error:
            for transport in self._plan.transport:
                self._record(Skip(transport=transport, reason=str(error)))
            self._record(self._end([]))
            return
        self._states = WantedStates(self._plan.placement_state, self._stage)
        # What is there by now stays, and need not be looked at after every case.
        gc.freeze()
        with contextlib.closing(self._stage):
            self._measure_plan()

    def _measure_plan(self) -> None:
        for record in self._stage.environments:
            self._record(msgspec.structs.replace(record, launch=self._launch))
        rounds = self._possible(self._stage.rounds)
        if self._plan.system_log and not self._all_virtual(rounds):
            self._log = SystemLog(
                self._stage, self._group, self._record, self._began_raw, self._launch
            )
            self._log.rest("before")
        for repetition in range(self._plan.repetitions):
            self._measure_all(rounds, repetition)
            more = self._refinements(rounds)
            while more:
                self._measure_all(more, repetition)
                rounds += more
                more = self._refinements(rounds)
        if self._log is not None:
            # What comes now is of no case.
            self._log.flush()
        if not self._all_virtual(rounds):
            self._bound_copies()
        if self._log is not None:
            self._log.rest("after")
        self._note(self._group.gather(self._stage.reader.take_warnings(), list[str]))
        drifts = self._group.gather(self._stage.clock.drift(), float)
        if drifts is not None:
            self._record(self._end(drifts))

    def _all_virtual(self, rounds: Sequence[Round]) -> bool:
        return all(self._stage.virtual(case) for round_ in rounds for case in round_)

    def _possible(self, rounds: Sequence[Round]) -> list[Round]:
        possible = self._stage.possible(rounds)
        for skip in self._stage.take_skips():
            self._record(skip)
        return possible

    # Measuring.

    def _measure_all(self, rounds: Sequence[Round], repetition: int) -> None:
        """Measures all rounds in an order that rank 0 draws."""
        before = repetition * len(rounds)
        total = self._plan.repetitions * len(rounds)
        order = random.sample(range(len(rounds)), len(rounds))
        for done, index in enumerate(self._group.broadcast(order, list[int]), start=before):
            self._measure(rounds[index], repetition, partial(self._progress, done, total))
            gc.collect()

    def _measure(self, round_: Round, repetition: int, tick: Callable[[Case], None]) -> None:
        at = time.monotonic() - self._began
        stage = self._stage
        round_ = self._with_open_paths(round_)
        if not round_:
            return
        pairs = [stage.pairs[case.pair, case.thread] for case in round_]
        parts = list(zip(pairs, round_, strict=True))
        try:
            bench = Bench(self._group, parts, stage.clock, stage.cache_bytes, stage.meter)
        except Unavailable as error:
            self._skip(round_, str(error))
            return
        sampler = self._sampler(round_)

        def between(ns: int) -> None:
            self._timed_ns += ns
            tick(round_[0])

        def probe() -> list[float | None]:
            return [stage.probe_line(case) for case in round_]

        offsets = stage.clock_offsets() if len(round_) > 1 else []
        for case in round_:
            self._states.survey(case)
        outcomes = bench.run(sampler, between, probe, self._states.counting)
        bench.close()
        self._note(bench.odd)
        if self._log is not None:
            self._log.note(round_[0], repetition)
        if sampler is None:
            return
        for outcome in outcomes:
            self._record_outcome(outcome, sampler, repetition, at)
        if len(round_) > 1 and sampler.stopped is not None:
            ahead = [offsets[case.pair[0]] for case in round_]
            spans, messages = spans_together(outcomes, sampler.exchanges, ahead)
            self._record(
                Together(
                    case=round_[0],
                    repetition=repetition,
                    launch=self._launch,
                    pairs=[case.pair for case in round_],
                    spans=spans,
                    messages=messages,
                )
            )

    def _with_open_paths(self, round_: Round) -> Round:
        """The cases of a round whose paths are open; the others are skipped, on all ranks."""
        left = []
        for case in round_:
            try:
                self._stage.pairs[case.pair, case.thread].open(case.transport, case.wait)
                left.append(case)
            except Unavailable as error:
                self._skip([case], str(error))
        return in_company(left)

    def _skip(self, cases: Sequence[Case], reason: str) -> None:
        """Cases of a round that cannot be had."""
        first = cases[0]
        self._record(
            Skip(
                transport=first.transport,
                reason=reason,
                sizes=[first.size],
                patterns=[first.pattern],
                modes=[first.mode],
                pairs=[case.pair for case in cases],
            )
        )

    def _record_outcome(
        self,
        outcome: Outcome,
        sampler: Sampler,
        repetition: int,
        at: float,
    ) -> None:
        case = outcome.case
        if sampler.stopped is None:
            reason = outcome.problem or self._states.why_nothing(case, sampler)
            self._record(
                Failure(case=case, repetition=repetition, launch=self._launch, reason=reason)
            )
            return
        line = None
        if outcome.lines:
            line = LineBound(outcome.befores[0], outcome.lines[-1])
        measurement = Measurement(
            case=case,
            repetition=repetition,
            launch=self._launch,
            at=at,
            first=outcome.first,
            warm_up=sampler.warm_up,
            exchanges=sampler.exchanges,
            stopped=sampler.stopped,
            line=line,
            samples=outcome.samples.tolist(),
            blocks=outcome.blocks,
            lines=outcome.lines,
            peer_ns=outcome.peer_ns,
            arrival_ns=outcome.arrival_ns,
            delivery=outcome.delivery,
            usage=outcome.usage,
            preemptions=outcome.preemptions,
            verified=outcome.verified if case.verify else None,
        )
        if self._plan.refine:
            self._points[case] = _point(measurement)
        exchange_ns = float(np.median(measurement.samples)) / measurement.exchanges
        self._nearest.setdefault(_curve(case), {})[case.size] = exchange_ns
        self._record(measurement)

    def _sampler(self, round_: Round) -> Sampler | None:
        """Rank 0's sampler for a round; its clock is the worst of those that take the times."""
        if self._group.rank != 0:
            return None
        plan = self._plan
        clocks = [self._stage.clock_figures(case) for case in round_]
        return Sampler(
            Stopping(ci=plan.ci, time=plan.time, iterations=plan.iterations),
            max(cost for cost, _ in clocks),
            max(resolution for _, resolution in clocks),
            FIRST_BLOCK_SHARE if len(round_) == 1 else _FIRST_BLOCK_TOGETHER,
            self._expected(round_[0]),
            single=self._stage.lossy(round_[0]),
            most_exchanges=self._stage.most_exchanges(round_[0]),
            # In the midst of a short block hardly anything changes.
            growth=0.0 if plan.placement_state else BLOCK_GROWTH,
        )

    def _expected(self, case: Case) -> float | None:
        """What an exchange of a case took of the nearest size that has been measured, ns."""
        nearest = self._nearest.get(_curve(case), {})
        if not nearest:
            return None
        return nearest[min(nearest, key=lambda size: abs(size - case.size))]

    def _refinements(self, rounds: Sequence[Round]) -> list[Round]:
        """The rounds that --refine adds to those that have been measured, none without it."""
        if not self._plan.refine:
            return []
        schedule = perturb(self._plan.sizes, self._plan.perturb)
        wanted = [
            round_
            for round_ in _refined(rounds, self._points, schedule)
            # What was refused or failed is not asked for again.
            if round_ not in self._tried
        ]
        self._tried.update(wanted)
        return self._possible(self._group.broadcast(wanted, list[Round]))

    # Ending.

    def _bound_copies(self) -> None:
        """How fast rank 0 copies; the others rest."""
        if self._group.rank == 0:
            for size in baselines.COPY_SIZES:
                ns = baselines.copy_time(size, self._stage.clock)
                self._record(CopyBound(rank=0, size=size, ns=ns))
        self._group.barrier()

    def _end(self, drifts: list[float]) -> End:
        return End(
            reason=None,
            seconds=time.monotonic() - self._began,
            timed=self._timed_ns * 1e-9,
            clock_drift=drifts,
            logged=None if self._log is None else self._log.seconds,
        )

    def _note(self, odd: Sequence[Sequence[str]] | None) -> None:
        """What each rank has found odd, on rank 0."""
        for rank, texts in enumerate(odd or ()):
            host = self._stage.environments[rank].host
            for text in texts:
                self._record(Notice(rank=rank, host=host, text=text, launch=self._launch))

    # What rank 0 tells.

    def _record(self, record: Record) -> None:
        if self._group.rank == 0:
            self._sink.record(record)

    def _progress(self, done: int, total: int, case: Case) -> None:
        now = time.monotonic()
        if self._group.rank == 0 and now - self._last_progress >= _PROGRESS_SECONDS:
            what = f"{case.transport} {case.pattern} {format_size(case.size)}"
            self._sink.progress(done, total, what)
            self._last_progress = time.monotonic()


def _refined(
    rounds: Sequence[Round],
    measured: Mapping[Case, breakpoints.Point],
    schedule: Sequence[int],
) -> list[Round]:
    """Rounds of the sizes that tell where the curves of `rounds` bend; none on a rank that has
    measured nothing."""
    curves: dict[Round, list[Round]] = {}
    for round_ in rounds:
        curves.setdefault(_resized(round_, 0), []).append(round_)
    more = []
    for curve, those in curves.items():
        points = [measured[round_[0]] for round_ in those if round_[0] in measured]
        sizes = breakpoints.next_sizes(points, schedule)
        more += [_resized(curve, size) for size in sizes]
    return more


def _point(measurement: Measurement) -> breakpoints.Point:
    summary = summarize_case([measurement])
    spread = (summary.high - summary.low) / (2 * summary.latency)
    return breakpoints.Point(measurement.case.size, summary.latency, spread)


def _resized(round_: Round, size: int) -> Round:
    return tuple(msgspec.structs.replace(case, size=size) for case in round_)


def _curve(case: Case) -> Case:
    """What a case is but for its size."""
    return msgspec.structs.replace(case, size=0)
