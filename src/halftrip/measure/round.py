"""A round: cases that are measured at the same time. Every batch that the sampler requests is timed
by all pairs at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np

from halftrip.control.agreement import agree
from halftrip.errors import Unavailable
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.sampler import Batch, Sampled, Sampler
from halftrip.measure.setup import Setup
from halftrip.measure.side import Report, Side, unpack_times
from halftrip.results.block import Block, RoundTrips
from halftrip.results.case import Case
from halftrip.results.usage import CoreUse


class RoundBlock:
    """A batch of a round: a block of each case, in order. `sampled` is what the sampler gets of it:
    the slowest pair's time of each sample, so that every pair has enough of them."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.sampled = _slowest([Sampled(block.times, block.timed_out) for block in blocks])


class FinalReport(msgspec.Struct, frozen=True):
    """What a rank reports after a round: how its cores were used, by the number of the case, and
    its warnings."""

    cores: dict[int, CoreUse | None]
    warnings: list[str]


class Round:
    """The cases of a round, whose paths are open. Every rank of the group makes one, whether it is
    in a pair of the round or not.

    On rank 0, after `run`: `kept` are the batches that count. By the number of the case, `first` is
    the time of the first exchange, ns, `verified` how many messages arrived as they were sent,
    `cores` how the cores of initiator and responder were used, and `problems` what went wrong.
    `warnings` has the warnings of each rank.

    Raises Unavailable, on all ranks, if buffers or an endpoint cannot be made.
    """

    def __init__(self, setup: Setup, cases: Sequence[Case], placement: PlacementFilter) -> None:
        self.cases = cases
        self.first = [0] * len(cases)
        self.kept: list[RoundBlock] = []
        self.verified = [0] * len(cases)
        self.problems: list[str | None] = [None] * len(cases)
        self.cores: list[tuple[CoreUse | None, CoreUse | None]] = []
        self.warnings: list[list[str]] = []
        self._setup = setup
        self._group = setup.group
        self._placement = placement
        self._sides: dict[int, Side] = {}
        for number, case in enumerate(cases):
            path = setup.connection(case).opened(case)
            if path is not None:
                self._sides[number] = setup.side(case, path)
        try:
            agree(self._group, lambda: self._each(Side.allocate))
            addresses = agree(self._group, lambda: self._each(Side.open))
            agree(self._group, lambda: self._connect(addresses))
        except Unavailable:
            # One end may have succeeded where the other failed.
            self.close()
            raise
        self._pool = ThreadPoolExecutor(len(self._sides)) if len(self._sides) > 1 else None

    def _each(self, step: Callable[[Side], object]) -> dict[int, object]:
        """The results of a step of this rank's sides, by the number of the case."""
        return {number: step(side) for number, side in self._sides.items()}

    def _connect(self, addresses: Sequence[dict[int, object]]) -> None:
        for number, side in self._sides.items():
            initiator, responder = self.cases[number].pair
            peer = responder if self._group.rank == initiator else initiator
            side.connect(addresses[peer][number])

    def close(self) -> None:
        """Releases what belongs to these cases alone; their paths stay open."""
        for side in self._sides.values():
            side.close()

    def run(self, sampler: Sampler | None) -> Iterator[int]:
        """Times the batches that `sampler`, rank 0's, requests, until it has enough or a case has a
        problem. Yields the timed part of each batch on rank 0, ns, elsewhere 0."""
        after: list[float | None] | None = None
        while True:
            requested = sampler.next() if sampler is not None and not self._failed else None
            batch: Batch | None = self._group.broadcast(requested, Batch | None)
            if batch is None:
                break
            # The probe after a batch is also the one before the next.
            before = (after or self._probe()) if batch.keep else None
            reports = self._group.gather(self._run(batch), dict[int, Report])
            after = self._probe() if batch.keep else None
            if reports is None or sampler is None:
                yield 0
                continue
            rtts = _round_trips(before, after) if before and after else [None] * len(self.cases)
            yield self._take(sampler, batch, reports, rtts)
        self._finish()

    @property
    def _failed(self) -> bool:
        return any(problem is not None for problem in self.problems)

    def _probe(self) -> list[float | None]:
        """The core-to-core round trip of each case's pair now, ns, on rank 0."""
        return [self._setup.probe(case) for case in self.cases]

    def _run(self, batch: Batch) -> dict[int, Report]:
        """Runs this rank's sides of a batch at the same time; their reports, by the number of the
        case."""
        for side in self._sides.values():
            side.prepare(batch)
        if len(self.cases) > 1:
            self._group.barrier()
        if self._pool is None:
            return {number: side.run(batch) for number, side in self._sides.items()}
        reports = self._pool.map(lambda side: side.run(batch), self._sides.values())
        return dict(zip(self._sides, reports, strict=True))

    # Rank 0.

    def _take(
        self,
        sampler: Sampler,
        batch: Batch,
        reports: Sequence[dict[int, Report]],
        rtts: Sequence[RoundTrips | None],
    ) -> int:
        """Takes the reports of a batch, by rank and number of the case. Returns the timed part of
        the batch, ns."""
        blocks = []
        for number, case in enumerate(self.cases):
            initiator, responder = (reports[rank][number] for rank in case.pair)
            self.problems[number] = initiator.problem or responder.problem
            self.verified[number] += initiator.verified + responder.verified
            blocks.append(_block(initiator, responder, rtts[number]))
        if self._failed:
            return 0
        latest = RoundBlock(blocks)
        if batch.keep:
            self._keep(sampler, latest)
        else:
            if batch.cold:
                self.first = [int(block.times[0]) if block.times.size else 0 for block in blocks]
            sampler.feed(latest.sampled)
        return latest.sampled.elapsed

    def _keep(self, sampler: Sampler, latest: RoundBlock) -> None:
        """Keeps the batches that were taken in the requested state of the machine, as far as the
        states are known by now."""
        taken = [*self.kept, latest]
        counts = self._placement.accepted(self.cases, [block.blocks for block in taken])
        self.kept = [block for block, count in zip(taken, counts, strict=True) if count]
        rejected = [block for block, count in zip(taken, counts, strict=True) if not count]
        sampler.keep(
            latest.sampled,
            [block.sampled for block in self.kept],
            [block.sampled for block in rejected],
        )

    def _finish(self) -> None:
        """Collects how all cores were used, and the warnings."""
        if self._pool is not None:
            self._pool.shutdown()
        cores = {number: side.finish() for number, side in self._sides.items()}
        own = FinalReport(cores, self._setup.meter.reader.take_warnings())
        reports = self._group.gather(own, FinalReport)
        if reports is None:
            return
        self.warnings = [report.warnings for report in reports]
        for number, case in enumerate(self.cases):
            initiator, responder = (reports[rank].cores[number] for rank in case.pair)
            self.cores.append((initiator, responder))


def _round_trips(
    before: Sequence[float | None], after: Sequence[float | None]
) -> list[RoundTrips | None]:
    return [
        None if first is None or last is None else RoundTrips(first, last)
        for first, last in zip(before, after, strict=True)
    ]


def _block(initiator: Report, responder: Report, rtt: RoundTrips | None) -> Block:
    """The block that both ends of a case report of a batch."""
    usage = None
    if initiator.usage is not None and responder.usage is not None:
        usage = (initiator.usage, responder.usage)
    return Block(
        start=initiator.start,
        times=unpack_times(initiator.times),
        peer_times=unpack_times(responder.times),
        receive_times=unpack_times(initiator.receive_times),
        peer_receive_times=unpack_times(responder.receive_times),
        cache_line_rtt=rtt,
        timed_out=initiator.timed_out,
        delivery=initiator.delivery,
        usage=usage,
    )


def _slowest(pairs: Sequence[Sampled]) -> Sampled:
    """The longest time of each sample, for as many samples as every pair has."""
    if len(pairs) == 1:
        return pairs[0]
    fewest = min(pair.times.size for pair in pairs)
    times = np.maximum.reduce([pair.times[:fewest] for pair in pairs])
    return Sampled(times, max(pair.timed_out for pair in pairs))
