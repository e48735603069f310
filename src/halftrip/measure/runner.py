"""One rank's part in measuring a plan. All ranks take the same turns.

Rank 0 says what is measured next, and passes on every record. Within a turn the two ranks of a pair
decide for themselves; rank 0 hears of it when it is over.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Collection, Sequence
from typing import Literal, Protocol

import msgspec

from halftrip.clock import raw_now
from halftrip.control.collectives import Group
from halftrip.errors import Unavailable
from halftrip.measure.adaptive_sizes import Refinement
from halftrip.measure.aggregate import aggregate
from halftrip.measure.clock_offsets import HostClocks
from halftrip.measure.copies import measure_copies
from halftrip.measure.host_log import IDLE_SECONDS, HostLog, HostRecorder
from halftrip.measure.progress import Earlier
from halftrip.measure.selection import Refusal, skips
from halftrip.measure.setup import collections_between_turns, own_affinity, set_up
from halftrip.measure.slice_runner import SliceRunner, TurnReport
from halftrip.measure.walk import Allowed, Budget, Item, SliceTurn, Walk
from halftrip.plan.configurations import configuration_of
from halftrip.plan.pairing import AtOnce
from halftrip.plan.plan import Plan
from halftrip.plan.shown import shown_first
from halftrip.plan.slices import counting_slices, planned_slices, slice_seconds
from halftrip.registry import SIMULATED
from halftrip.results.configuration import Configuration
from halftrip.results.device import Device
from halftrip.results.records import (
    Environment,
    Measurement,
    Notice,
    Record,
    RunEnd,
    Skip,
)
from halftrip.results.run_file import encode
from halftrip.results.threshold import Threshold
from halftrip.telemetry import control_groups, perf_counters
from halftrip.transports.base import ProcessContext

# Rank 0 reports progress at most this often, s.
_PROGRESS_SECONDS = 0.1
# Garbage is collected between turns, at most this often, s.
_COLLECT_SECONDS = 0.25
# What follows the walk takes about this long, s.
_AFTER_SECONDS = 0.4
# With --refine, a walk may take this share of the time that is left.
_REFINED_SHARE = 0.5
# With --counters, what is timed may take this share of the time that is left.
_TIMED_SHARE = 0.8


class Sink(Protocol):
    """Takes the lines of the run file and the progress, on rank 0. `last` marks the end record."""

    def lines(self, lines: bytes, last: bool = False) -> None: ...

    def progress(self, done: int, total: int, what: str) -> None: ...

    def before_slice(self, setting: Configuration) -> None: ...


class Order(msgspec.Struct, frozen=True):
    """What rank 0 tells all others to do: to compare the clocks of hosts, to record the hosts'
    counters, and to take a turn. Without a turn the walk is over."""

    turn: SliceTurn | None = None
    log: bool = False
    compare_clocks: bool = False


class Runner:
    """Measures `plan` with all ranks of `group`, each of which makes a Runner. `process` is the
    context of this process for transports. Rank 0's `done` are configurations that are left out,
    and `allowed` is how long that takes at most. `earlier` is what launches before this one have
    found."""

    def __init__(
        self,
        plan: Plan,
        group: Group,
        process: ProcessContext,
        sink: Sink,
        done: frozenset[Configuration] = frozenset(),
        allowed: Allowed | None = None,
        earlier: Sequence[Earlier] = (),
    ) -> None:
        self._plan = plan
        self._group = group
        self._process = process
        self._sink = sink
        self._done = done
        self._allowed = allowed
        self._earlier = earlier
        self._launch = process.launch
        self._began = time.monotonic()
        self._began_raw = raw_now()
        self._log: HostLog | None = None
        self._collected = self._began
        # On rank 0: the time of all batches here, ns, how many rows the time was not enough for,
        # whether the log is due, and when progress was last reported.
        self._timed_ns = 0
        self._missing = 0
        self._log_is_due = False
        self._last_progress = 0.0

    def run(self) -> None:
        """Measures everything. Rank 0's sink gets the records; the last is the RunEnd."""
        with own_affinity(), collections_between_turns():
            try:
                self._setup = set_up(self._plan, self._group, self._process)
            except Unavailable as error:
                for transport in self._plan.transports:
                    self._skip(Skip(transport=transport, reason=str(error)))
                self._record_end([])
                return
            # What exists by now stays: leave it out of later collections.
            gc.freeze()
            shares_core = any(place.shared for own in self._setup.places for place in own)
            self._clocks = HostClocks(self._group, self._setup.clock_hosts, shares_core)
            self._slices = SliceRunner(
                self._setup, self._clocks, self._launch, self._began, self._earlier
            )
            self._measure_plan()
            # Not after an exception: freeing an MPI window would wait for a dead peer.
            self._slices.close()

    def _measure_plan(self) -> None:
        setup = self._setup
        every: list[Environment | Device | Threshold]
        every = [*setup.environments, *setup.devices, *setup.thresholds]
        for found in every:
            if found.rank not in setup.absent:
                self._record(msgspec.structs.replace(found, launch=self._launch))
        has_real_time = any(transport != SIMULATED for transport in self._plan.transports)
        here = setup.hosts.count(setup.hosts[self._group.rank]) * has_real_time
        self._shortfalls(control_groups.shortage(setup.meter.reader, here))
        self._compare_clocks()
        self._counts = self._plan.counters and has_real_time and self._can_count()
        whole = self._recorder() if len(set(setup.hosts)) > 1 and has_real_time else None
        if self._plan.system_log and has_real_time:
            self._log = HostLog(setup, self._clocks, self._record, self._began_raw, self._launch)
            self._log.rest("before")
        if self._group.rank == 0:
            self._lead(setup.plans.settings)
        else:
            self._follow()
        if whole is not None:
            whole.record("launch")
        self._compare_clocks()
        if has_real_time and 0 not in setup.absent:
            measure_copies(setup, self._launch, self._record, self._note)
        if self._log is not None:
            self._log.rest("after")
        own = [] if setup.is_absent else setup.meter.reader.take_warnings()
        warnings = self._group.gather(own, list[str])
        for rank, texts in enumerate(warnings or ()):
            self._note(rank, texts)
        drifts = self._group.gather(setup.clock.drift(), float)
        if drifts is not None:
            self._record_end(drifts)

    def _can_count(self) -> bool:
        """Whether a rank can count instructions and cycles, for --counters."""
        reason = perf_counters.missing()
        return None in self._shortfalls(reason and f"--counters: {reason}")

    def _shortfalls(self, own: str | None) -> list[str | None]:
        """Notes what ranks have too little of: each its `own`, in words; on rank 0, all of them."""
        found = self._group.gather(None if self._setup.is_absent else own, str | None) or []
        for rank, text in enumerate(found):
            self._note(rank, [text] if text else [], "shortfall")
        return found

    def _recorder(self) -> HostRecorder:
        """Counts from now on on every host."""
        return HostRecorder(self._setup, self._clocks, self._record, self._began_raw, self._launch)

    # The walk: rank 0 leads, the others follow.

    def _lead(self, wanted: Sequence[Configuration]) -> None:
        items = [item for item in self._items(wanted) if not self._is_done(*item)]
        refinement = Refinement(wanted) if self._plan.refine else None
        timed: list[Item] = []
        first = shown_first(wanted)
        shown = {item for item in items if item[1] in first}
        while items:
            timed += self._walk(items, refinement, shown=shown)
            items = refinement.more() if refinement is not None else []
        if self._counts:
            self._walk([item for item in timed if not item[1].is_simulated], None, counts=True)
        log = self._log is not None and self._log.has_configurations
        self._give(Order(log=log))

    def _items(self, wanted: Sequence[Configuration]) -> list[Item]:
        """Each setting in every round in which it is to be measured."""
        schedule, plans = self._setup.schedule, self._setup.plans
        rounds: dict[tuple[AtOnce, ...], list[int]] = {}
        items: list[Item] = []
        for setting in wanted:
            limits = plans.of(setting).concurrent_pairs
            if limits not in rounds:
                rounds[limits] = schedule.rounds_of(limits)
            items += [(number, setting) for number in rounds[limits]]
        return items

    def _is_done(self, number: int, setting: Configuration) -> bool:
        """Whether a setting is left out for all pairs of a round."""
        if not self._done:
            return False
        schedule, plan = self._setup.schedule, self._plan
        count = schedule.count(number)
        return all(
            configuration_of(plan, setting, pair, thread, count) in self._done
            for pair in schedule.pairs_of(number)
            for thread in range(plan.threads)
        )

    def _walk(
        self,
        items: Sequence[Item],
        refinement: Refinement | None,
        counts: bool = False,
        shown: Collection[Item] = (),
    ) -> list[Item]:
        """Measures all slices of these items, those that are `shown` first, or has them counted;
        those that can be measured."""
        budget = self._budget(items, refinement is not None, counts)
        # Only in the first launch: where each launch has one slice of a row, its place in the order
        # would be the same in all of them.
        head = shown if self._launch == 0 else ()
        walk = Walk(
            self._setup.plans,
            items,
            budget=budget,
            counts=counts,
            head=head,
            shown=shown if self._plan.dealt else (),
        )
        refusals: list[Refusal] = []
        possible: dict[Item, None] = {}
        for done, turn in enumerate(walk.turns()):
            # With this one.
            self._show(done + 1, done + 1 + walk.left, turn.setting)
            self._sink.before_slice(turn.setting)
            is_stale = self._clocks.is_stale
            reports = self._give(Order(turn, self._log_is_due, compare_clocks=is_stale))
            measured = self._take(turn, reports)
            refusals += [refusal for report in reports for refusal in report.refusals]
            if measured:
                possible[turn.round, turn.setting] = None
            if not any(report.unfinished for report in reports):
                walk.close(spares=measured > 0)
            elif any(report.late for report in reports):
                walk.close(spares=False)
            if refinement is not None:
                refinement.take(turn.round, _records(reports))
        if not counts:
            self._missing += walk.missing
        wanted = [setting for _, setting in items]
        for skip in skips(refusals, wanted, self._setup.schedule.pairs_in_all):
            self._skip(skip)
        return list(possible)

    def _budget(self, items: Sequence[Item], others_follow: bool, counts: bool) -> Budget | None:
        """What a walk over these items may take of what is left of --max-duration."""
        if self._allowed is None:
            return None
        gone = time.monotonic() - self._began + _AFTER_SECONDS
        if self._log is not None:
            gone += IDLE_SECONDS
        share = self._allowed.share - gone
        part = share * _REFINED_SHARE if others_follow else share
        if self._counts and not counts:
            part *= _TIMED_SHARE
        number = counting_slices if counts else planned_slices
        plans = [self._setup.plans.of(setting) for _, setting in items]
        slices = max(map(number, plans), default=1)
        allowed = Allowed(part, self._allowed.most - gone)
        seconds = slice_seconds(self._plan, counts)
        # Where slices are dealt, no other launch has to follow.
        dealt = self._plan.dealt and not others_follow
        fixed = any(plan.iterations is not None for plan in plans)
        return Budget(allowed, len(items), slices, seconds, may_be_last=dealt, all_needed=fixed)

    def _follow(self) -> None:
        while True:
            order: Order = self._group.broadcast(None, Order)
            self._obey(order)
            if order.turn is None:
                return

    def _give(self, order: Order) -> list[TurnReport]:
        """Has all ranks obey an order; their reports."""
        self._group.broadcast(order, Order)
        return self._obey(order)

    def _obey(self, order: Order) -> list[TurnReport]:
        """This rank's part in an order. On rank 0, the reports of all ranks."""
        if order.compare_clocks:
            self._compare_clocks()
        if order.log and self._log is not None:
            self._log.record_configurations()
        if order.turn is None:
            return []
        report = self._slices.run(order.turn)
        if time.monotonic() - self._collected > _COLLECT_SECONDS:
            # What has outlived one collection stays: of thousands of rows, to look at all of it
            # again would take longer than to measure.
            gc.collect(1)
            self._collected = time.monotonic()
        return self._group.gather(report, TurnReport) or []

    def _compare_clocks(self) -> None:
        for record in self._clocks.compare(self._launch):
            self._record(record)

    # Records, on rank 0.

    def _take(self, turn: SliceTurn, reports: Sequence[TurnReport]) -> int:
        """Takes the reports of a turn. Returns how many records of configurations they have."""
        records = _records(reports)
        added = [*records, *(record for report in reports for record in report.paths)]
        if added:
            self._sink.lines(b"".join(map(encode, added)))
        self._timed_ns += reports[0].timed_ns
        for rank, report in enumerate(reports):
            self._note(rank, report.warnings)
            self._note(rank, report.shortfalls, "shortfall")
        if len(records) > 1:
            self._record_aggregate(records)
        if self._log is not None:
            first = self._setup.schedule.pairs_of(turn.round)[0]
            count = self._setup.schedule.count(turn.round)
            configuration = configuration_of(self._plan, turn.setting, first, 0, count)
            self._log_is_due = self._log.note(configuration, turn.number)
        return len(records)

    def _record_aggregate(self, records: Sequence[Record]) -> None:
        """Records what the pairs that measured at the same time transferred together."""
        measured = [record for record in records if isinstance(record, Measurement)]
        if len(measured) > 1:
            offsets = [self._clocks.ahead(m.configuration.pair[0]) for m in measured]
            self._record(aggregate(measured, offsets))

    def _record_end(self, drifts: list[float]) -> None:
        end = RunEnd(
            reason=self._why_short(),
            seconds=time.monotonic() - self._began,
            timed=self._timed_ns * 1e-9,
            clock_drift=drifts,
            logged=None if self._log is None else self._log.seconds,
        )
        if self._group.rank == 0:
            self._sink.lines(encode(end), last=True)

    def _why_short(self) -> str | None:
        """Why the run is not complete; None if it is."""
        if not self._missing:
            return None
        rows = "1 row" if self._missing == 1 else f"{self._missing} rows"
        return f"--max-duration: {self._plan.max_duration:g} s were not enough for {rows}"

    def _record(self, record: Record) -> None:
        if self._group.rank == 0:
            self._sink.lines(encode(record))

    def _skip(self, skip: Skip) -> None:
        self._record(msgspec.structs.replace(skip, variant=self._plan.variant))

    def _note(
        self, rank: int, warnings: Sequence[str], kind: Literal["unread", "shortfall"] = "unread"
    ) -> None:
        host = self._setup.environments[rank].host if warnings else ""
        for text in warnings:
            notice = Notice(rank=rank, host=host, text=text, kind=kind, launch=self._launch)
            self._record(notice)

    def _show(self, done: int, total: int, configuration: Configuration) -> None:
        now = time.monotonic()
        if now - self._last_progress >= _PROGRESS_SECONDS:
            # The launcher says which launch this is of what is varied.
            title = msgspec.structs.replace(configuration, variant=()).title
            self._sink.progress(done, total, title)
            self._last_progress = now


def _records(reports: Sequence[TurnReport]) -> list[Record]:
    """The records of slices that all ranks have reported."""
    return [record for report in reports for record in report.records]
