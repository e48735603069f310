"""One rank's walk through the plan, in lock step with the others.

Rank 0 decides what is timed next and hands on every record as soon as it exists; the others follow.
"""

from __future__ import annotations

import contextlib
import gc
import os
import platform
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Protocol

from halftrip import bounds, model, mpi, placement
from halftrip.bench import Bench
from halftrip.clock import Clock
from halftrip.errors import Unavailable
from halftrip.group import Group
from halftrip.hosts import host_identity
from halftrip.memory import host as host_memory
from halftrip.observe import environment
from halftrip.pair import Pair
from halftrip.plan import Plan, expand
from halftrip.sampler import Sampler, Stopping
from halftrip.store import Record
from halftrip.transports.base import Scene
from halftrip.units import format_size

if TYPE_CHECKING:
    from mpi4py import MPI

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
    """`communicator` is for timed messages; where it is None, `no_mpi` says why."""

    def __init__(
        self,
        plan: Plan,
        group: Group,
        token: str,
        sink: Sink,
        communicator: MPI.Intracomm | None = None,
        no_mpi: str = "",
    ) -> None:
        self._plan = plan
        self._group = group
        self._token = token
        self._sink = sink
        self._mpi = communicator
        self._no_mpi = no_mpi
        self._began = time.monotonic()
        self._timed_ns = 0
        self._last_progress = 0.0
        self._clock = Clock()
        self._clocks: list[model.Clock] = []
        self._pairs: dict[tuple[int, int], Pair] = {}

    def run(self) -> None:
        """Measures everything. Rank 0's sink gets the records; the last is the end."""
        with _own_affinity(), _collections_between_cases(), contextlib.ExitStack() as pairs:
            pairs.callback(self._close_pairs)
            try:
                cases = self._prepare()
            except Unavailable as error:
                self._skip(self._plan.transport, str(error))
                cases = []
            total = len(cases) * self._plan.repetitions
            for repetition in range(self._plan.repetitions):
                for done, index in enumerate(self._shuffled(len(cases)), repetition * len(cases)):
                    tick = partial(self._progress, done, total, cases[index])
                    self._measure(cases[index], repetition, tick)
                    gc.collect()
            if cases:
                self._bound_copies()
            self._end()

    def _close_pairs(self) -> None:
        for pair in self._pairs.values():
            pair.close()

    # Preparing.

    def _prepare(self) -> list[model.Case]:
        """Pins every rank, opens what the pairs share, and says which cases can be measured."""
        identity = host_identity()
        views = self._group.allgather(placement.view(identity), placement.View)
        places = placement.place(views, self._plan.cores)
        own = places[self._group.rank]
        if own.core is not None:
            os.sched_setaffinity(0, {own.core})
        self._record_environments(own, views[self._group.rank])
        on_host = [view.host for view in views].count(identity)
        ranks = range(self._group.size // 2)
        for ends in [(rank, rank + self._group.size // 2) for rank in ranks]:
            scene = Scene(
                rank=self._group.rank,
                peer=ends[1] if self._group.rank == ends[0] else ends[0],
                same_host=views[ends[0]].host == views[ends[1]].host,
                yields=any(places[rank].shared for rank in ends),
                token=self._token,
                mpi=self._mpi,
                no_mpi=self._no_mpi,
            )
            self._pairs[ends] = Pair(self._group, ends, scene, self._clock)
        return self._possible(expand(self._plan, self._pairs, self._waits()), on_host)

    def _record_environments(self, place: placement.Place, seen: placement.View) -> None:
        core = place.core
        own = model.Environment(
            rank=self._group.rank,
            host=environment.host(),
            pid=os.getpid(),
            core=core,
            allowed_cores=[allowed.number for allowed in seen.allowed],
            oversubscribed=place.shared,
            processor=environment.processor(),
            kernel=environment.kernel(),
            python=platform.python_version(),
            clock=self._clock.record(),
            thp=environment.thp(),
            governor=environment.governor(core),
            hypervisor=environment.hypervisor(),
            mpi=mpi.library_version() if self._mpi is not None else None,
            mpi_library=mpi.library_path() if self._mpi is not None else None,
            variables=environment.variables(os.environ),
        )
        environments: list[model.Environment] = self._group.allgather(own, model.Environment)
        self._clocks = [record.clock for record in environments]
        for record in environments:
            self._record(record)

    def _waits(self) -> dict[str, tuple[model.Wait, ...]]:
        """The transports that every pair has, and how each can wait."""
        waits = {}
        for name in self._plan.transport:
            missing = [pair.missing(name) for pair in self._pairs.values()]
            reasons = [reason for reason in missing if reason is not None]
            if reasons:
                self._skip([name], reasons[0])
            else:
                waits[name] = next(iter(self._pairs.values())).transport(name).waits
        return waits

    def _possible(self, cases: list[model.Case], ranks_on_host: int) -> list[model.Case]:
        """Those of the cases that no rank refuses; the others are recorded with the reason."""
        refused: dict[int, str] = {}
        for index, case in enumerate(cases):
            pair = self._pairs[case.pair]
            if pair.member:
                reason = pair.transport(case.transport).refuses(case)
                reason = reason or host_memory.refuses(case, ranks_on_host)
                if reason is not None:
                    refused[index] = reason
        for other in self._group.allgather(refused, dict[int, str]):
            refused |= other
        sizes: dict[tuple[str, str], list[int]] = {}
        for index, reason in sorted(refused.items()):
            sizes.setdefault((cases[index].transport, reason), []).append(cases[index].size)
        for (transport, reason), those in sizes.items():
            whole = len(those) == sum(case.transport == transport for case in cases)
            self._skip([transport], reason, None if whole else those)
        return [case for index, case in enumerate(cases) if index not in refused]

    # Measuring.

    def _measure(self, case: model.Case, repetition: int, tick: Callable[[], None]) -> None:
        at = time.monotonic() - self._began
        pair = self._pairs[case.pair]
        try:
            bench = Bench(self._group, pair, case, self._clock)
        except Unavailable as error:
            self._skip([case.transport], str(error), [case.size])
            return
        sampler = self._sampler(case)

        def between(ns: int) -> None:
            self._timed_ns += ns
            tick()

        before = self._probe_line(pair)
        bench.run(sampler, between)
        after = self._probe_line(pair)
        if sampler is not None and sampler.stopped is not None:
            line = None
            if before is not None and after is not None:
                line = model.LineBound(before, after)
            self._record(
                model.Measurement(
                    case=case,
                    repetition=repetition,
                    at=at,
                    first=sampler.first,
                    warm_up=sampler.warm_up,
                    exchanges=sampler.exchanges,
                    stopped=sampler.stopped,
                    line=line,
                    samples=sampler.samples.tolist(),
                )
            )

    def _sampler(self, case: model.Case) -> Sampler | None:
        """Rank 0's sampler for a case; the clock is that of the rank that takes the times."""
        if self._group.rank != 0:
            return None
        plan, clock = self._plan, self._clocks[case.pair[0]]
        stopping = Stopping(ci=plan.ci, time=plan.time, iterations=plan.iterations)
        return Sampler(stopping, clock.cost, clock.resolution)

    def _probe_line(self, pair: Pair) -> float | None:
        """The cache-line round trip of a pair right now, ns, on rank 0; None where there is
        none."""
        if not pair.has_line:
            return None
        gathered = self._group.gather(pair.probe(), float | None)
        return None if gathered is None else gathered[pair.ranks[0]]

    def _shuffled(self, count: int) -> list[int]:
        """The numbers below `count` in an order that rank 0 draws, the same on every rank."""
        order = random.sample(range(count), count)
        return list(self._group.broadcast(order, list[int]))

    # Ending.

    def _bound_copies(self) -> None:
        """How fast rank 0 copies; the others rest."""
        if self._group.rank == 0:
            for size in bounds.COPY_SIZES:
                ns = bounds.copy_time(size, self._clock)
                self._record(model.CopyBound(rank=0, size=size, ns=ns))
        self._group.barrier()

    def _end(self) -> None:
        drifts = self._group.gather(self._clock.drift(), float)
        if drifts is not None:
            self._record(
                model.End(
                    reason=None,
                    seconds=time.monotonic() - self._began,
                    timed=self._timed_ns * 1e-9,
                    clock_drift=drifts,
                )
            )

    # What rank 0 tells.

    def _record(self, record: Record) -> None:
        if self._group.rank == 0:
            self._sink.record(record)

    def _skip(self, transports: Sequence[str], reason: str, sizes: list[int] | None = None) -> None:
        for transport in transports:
            self._record(model.Skip(transport=transport, reason=reason, sizes=sizes))

    def _progress(self, done: int, total: int, case: model.Case) -> None:
        now = time.monotonic()
        if self._group.rank == 0 and now - self._last_progress >= _PROGRESS_SECONDS:
            self._sink.progress(done, total, f"{case.transport} {format_size(case.size)}")
            self._last_progress = time.monotonic()
