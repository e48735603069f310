"""The timing of cases that are measured at the same time: what the sampler asks for, done by both
ranks of each pair at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.errors import Unavailable
from halftrip.measure.connection import Pair, together
from halftrip.measure.sampler import Batch, Sampler
from halftrip.measure.side import Lane, Part
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery, add_deliveries, delivered_share
from halftrip.results.usage import CoreUse, Usage, add_usages
from halftrip.telemetry.process import Meter

Times = npt.NDArray[np.int64]


class Outcome:
    """What rank 0 has learnt of one case; times are ns."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.first = 0
        # Of the batches that are kept: the times of the initiator's samples, when each batch began
        # by its clock, and the responder's times of the same.
        self.kept: list[Times] = []
        self.starts: list[int] = []
        self.peers: list[Times] = []
        # How long it took in each sample until all had come there, and back.
        self.arrivals: tuple[list[Times], list[Times]] = ([], [])
        # For how long each of these batches waited in vain.
        self.waited: list[int] = []
        # The line before and after each of them, ns.
        self.befores: list[float] = []
        self.lines: list[float] = []
        # What each end has spent on the batches that are kept, and what became of its core.
        self._usages: list[tuple[Usage | None, Usage | None]] = []
        self.cores: tuple[CoreUse | None, CoreUse | None] = (None, None)
        self.verified = 0
        self.deliveries: list[Delivery | None] = []
        self.problem: str | None = None

    def feed(self, batch: Batch, initiator: Part, responder: Part) -> Times:
        """Takes what both ends say of a batch; the initiator's times, shape (samples,), fewer where
        some got lost."""
        self.problem = initiator.problem or responder.problem
        times = _times(initiator.times)
        self.verified += initiator.verified + responder.verified
        if self.problem is not None:
            return times
        if batch.cold and times.size:
            self.first = int(times[0])
        if batch.keep:
            self.kept.append(times)
            self.starts.append(initiator.start)
            self.peers.append(_times(responder.times))
            for arrivals, end in zip(self.arrivals, (responder, initiator), strict=True):
                arrivals.append(_times(end.arrivals))
            self.waited.append(initiator.waited)
            self._usages.append((initiator.usage, responder.usage))
            self.deliveries.append(initiator.delivery)
        return times

    def drop(self, number: int = -1) -> None:
        """Forgets the kept batch of that number, or the last."""
        ends = (self.befores, self.lines)
        for those in (self.kept, self.starts, self.peers, *self.arrivals, self.waited, *ends):
            if those:
                those.pop(number)
        self._usages.pop(number)
        self.deliveries.pop(number)

    @property
    def blocks(self) -> list[int]:
        """How many samples each batch has given."""
        return [int(times.size) for times in self.kept]

    @property
    def usage(self) -> tuple[Usage, Usage] | None:
        """What the initiator and the responder have spent on the batches that are kept; None where
        that is not known."""
        ends = list(zip(*self._known_usages, strict=True))
        if not ends:
            return None
        one, other = (
            msgspec.structs.replace(add_usages(spent), core=core)
            for spent, core in zip(ends, self.cores, strict=True)
        )
        return one, other

    @property
    def preemptions(self) -> list[tuple[int, int]]:
        """How often each end lost its core in each batch that is kept, where that is known."""
        return [(one.involuntary, other.involuntary) for one, other in self._known_usages]

    @property
    def _known_usages(self) -> list[tuple[Usage, Usage]]:
        return [(a, b) for a, b in self._usages if a is not None and b is not None]

    @property
    def delivery(self) -> Delivery | None:
        return add_deliveries(self.deliveries)

    @property
    def peer_ns(self) -> float | None:
        """The median of the responder's times, None where it takes none."""
        times = np.concatenate(self.peers) if self.peers else _NO_TIMES
        return float(np.median(times)) if times.size else None

    @property
    def arrival_ns(self) -> tuple[float, float] | None:
        """The median time of a sample until all had come there, and back; None where that is not
        looked at."""
        if not self.kept:
            return None
        there, back = (np.concatenate(arrivals) for arrivals in self.arrivals)
        if not (there.size and back.size):
            return None
        return float(np.median(there)), float(np.median(back))

    @property
    def samples(self) -> Times:
        return np.concatenate(self.kept) if self.kept else _NO_TIMES


_NO_TIMES: Times = np.empty(0, dtype=np.int64)


def _times(payload: bytes) -> Times:
    return np.frombuffer(payload, dtype=np.int64)


def spans_together(
    outcomes: Sequence[Outcome], exchanges: int, offsets: Sequence[int]
) -> tuple[list[int], list[float]]:
    """For each kept batch, the time in which all cases were under way, ns, and how many messages
    went one way in it and arrived, those of all cases together.

    `exchanges` is how many a sample holds; `offsets` are by how much the clock of each case's
    initiator is ahead, ns. A sample that reaches out of the time counts as far as it is in it.
    """
    spans, messages = [], []
    for batch in range(len(outcomes[0].kept)):
        ends = []
        for outcome, offset in zip(outcomes, offsets, strict=True):
            begin = outcome.starts[batch] - offset
            # What was waited in vain is taken to be spread evenly.
            times = outcome.kept[batch]
            vain = outcome.waited[batch] / max(times.size, 1)
            ends.append(begin + np.concatenate(([0], np.cumsum(times + vain))))
        low, high = max(int(end[0]) for end in ends), min(int(end[-1]) for end in ends)
        done = 0.0
        for outcome, end in zip(outcomes, ends, strict=True):
            samples = np.interp([low, high], end, np.arange(end.size))
            share = delivered_share(outcome.case, outcome.delivery)
            each = exchanges * outcome.case.messages_per_exchange * share
            done += float(samples[1] - samples[0]) * each
        if high > low:
            spans.append(high - low)
            messages.append(done)
    return spans, messages


def _all_count(outcome: Outcome) -> Sequence[bool]:
    return [True] * len(outcome.kept)


def _judge(
    outcomes: Sequence[Outcome],
    counting: Callable[[Outcome], Sequence[bool]],
    sampler: Sampler,
) -> bool:
    """Drops the batches that do not count, those from before out of the sampler, too; whether the
    last does."""
    count = [all(those) for those in zip(*map(counting, outcomes), strict=True)]
    for number in reversed(range(len(count))):
        if not count[number]:
            for outcome in outcomes:
                outcome.drop(number)
            if number < len(count) - 1:
                sampler.forget(number)
    return count[-1]


class Finished(msgspec.Struct, frozen=True):
    """What became of the cores of a rank, by the number of the case, and what it found odd."""

    cores: dict[int, CoreUse | None]
    odd: list[str]


class Bench:
    """Cases that are set up: the paths are open, the buffers are there.

    Every rank of the group makes one for all cases of a round, of their pairs or not.
    """

    def __init__(
        self,
        group: Group,
        round_: Sequence[tuple[Pair, Case]],
        clock: Clock,
        cache_bytes: int,
        meter: Meter,
    ) -> None:
        """`meter` reads what this rank spends. Raises Unavailable, on all ranks, if a path or the
        buffers cannot be had."""
        self._group = group
        self._round = round_
        self._meter = meter
        # What each rank has found odd in its kernel's files; on rank 0, once all has run.
        self.odd: list[list[str]] = []
        self._lanes: dict[int, Lane] = {}
        for number, (pair, case) in enumerate(round_):
            opened = pair.open(case.transport, case.wait)
            if opened is not None:
                self._lanes[number] = Lane(pair, case, opened, clock, cache_bytes, meter)

        def allocate() -> None:
            for lane in self._lanes.values():
                lane.allocate()

        def expose() -> dict[int, object]:
            return {number: lane.expose() for number, lane in self._lanes.items()}

        def attach() -> None:
            for number, lane in self._lanes.items():
                a, b = lane.pair.ranks
                lane.attach(offers[b if lane.pair.initiates else a][number])

        try:
            together(group, allocate)
            offers = together(group, expose)
            together(group, attach)
        except Unavailable:
            # What one end has made goes again at both.
            for lane in self._lanes.values():
                lane.close()
            raise
        self._pool = ThreadPoolExecutor(len(self._lanes)) if len(self._lanes) > 1 else None

    def run(
        self,
        sampler: Sampler | None,
        between: Callable[[int], None],
        probe: Callable[[], Sequence[float | None]],
        counting: Callable[[Outcome], Sequence[bool]] = _all_count,
    ) -> list[Outcome]:
        """Times what `sampler`, which is rank 0's, asks for, until it is content.

        Rank 0 calls `between` after each batch, with the nanoseconds that its timed part took. All
        ranks call `probe` before the first batch that is to be kept and after each of them, which
        gives rank 0 the line of every pair. Then `counting` says which of the batches that are kept
        of a case still count; where one of several cases does not count, none does. On rank 0,
        what became of each case, in order; it ends early where one has a problem.
        """
        outcomes = [Outcome(case) for _, case in self._round]
        before: Sequence[float | None] = ()
        while True:
            failed = any(outcome.problem for outcome in outcomes)
            wanted = sampler.next() if sampler is not None and not failed else None
            batch: Batch | None = self._group.broadcast(wanted, Batch | None)
            if batch is None:
                self._finish(outcomes)
                return outcomes
            if batch.keep and not before:
                before = probe()
            gathered = self._group.gather(self._take_part(batch), dict[int, Part])
            after = probe() if batch.keep else before
            ends, before = list(zip(before, after, strict=True)), after
            if gathered is None or sampler is None:
                continue
            times, waited = self._gathered(outcomes, batch, gathered)
            if any(outcome.problem for outcome in outcomes):
                continue
            for outcome, (begin, end) in zip(outcomes, ends if batch.keep else (), strict=False):
                if begin is not None and end is not None:
                    outcome.befores.append(begin)
                    outcome.lines.append(end)
            if not batch.keep or _judge(outcomes, counting, sampler):
                sampler.feed(times, waited)
            else:
                sampler.reject(times, waited)
            between(int(times.sum()) + waited)

    def _finish(self, outcomes: Sequence[Outcome]) -> None:
        """Looks what became of all cores, and what was odd."""
        cores = {number: lane.finish() for number, lane in self._lanes.items()}
        own = Finished(cores, self._meter.reader.take_warnings())
        gathered = self._group.gather(own, Finished) or []
        self.odd = [each.odd for each in gathered]
        for number, ((pair, _), outcome) in enumerate(zip(self._round, outcomes, strict=True)):
            if gathered:
                one, other = (gathered[rank].cores[number] for rank in pair.ranks)
                outcome.cores = (one, other)

    def _gathered(
        self, outcomes: Sequence[Outcome], batch: Batch, gathered: Sequence[dict[int, Part]]
    ) -> tuple[Times, int]:
        """The times of a batch, and for how long was waited in vain. All have to be content: the
        slowest of each sample speaks for them."""
        times, waited = [], 0
        for number, ((pair, _), outcome) in enumerate(zip(self._round, outcomes, strict=True)):
            initiator, responder = (gathered[rank][number] for rank in pair.ranks)
            times.append(outcome.feed(batch, initiator, responder))
            waited = max(waited, initiator.waited)
        fewest = min(these.size for these in times)
        return np.maximum.reduce([these[:fewest] for these in times]), waited

    def _take_part(self, batch: Batch) -> dict[int, Part]:
        """This rank's parts of a batch, all at the same time, by the number of the case."""
        for lane in self._lanes.values():
            lane.prepare(batch)
        if len(self._round) > 1:
            self._group.barrier()
        if self._pool is None:
            return {number: lane.take_part(batch) for number, lane in self._lanes.items()}
        parts = self._pool.map(lambda lane: lane.take_part(batch), self._lanes.values())
        return dict(zip(self._lanes, parts, strict=True))

    def close(self) -> None:
        """Releases what belongs to these cases alone."""
        for lane in self._lanes.values():
            lane.close()
        if self._pool is not None:
            self._pool.shutdown()
