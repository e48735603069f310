"""Cases that are measured at the same time: what the sampler asks for, done by both ranks of each
pair at once."""

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
from halftrip.measure.side import Report, Side
from halftrip.results.block import NO_TIMES, Block, RoundTrips, Times
from halftrip.results.case import Case
from halftrip.results.delivery import add_deliveries, delivered_share
from halftrip.results.usage import CoreUse


class RoundBlock:
    """A batch that is kept: a block of each case, in order. All pairs have to have enough samples:
    `sampled` has, of each sample, the slowest pair's time."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = blocks
        self.sampled = _slowest([Sampled(block.times, block.timed_out) for block in blocks])


class Finished(msgspec.Struct, frozen=True):
    """What became of the cores of a rank, by the number of the case, and its warnings."""

    cores: dict[int, CoreUse | None]
    warnings: list[str]


class Round:
    """The cases of a round, whose paths are open. Every rank of the group makes one, a member of
    its pairs or not.

    On rank 0, after `run`: `first` is each case's first exchange, ns, `kept` the blocks, `verified`
    how many messages of each case were found to be as they were sent, `cores` what became of both
    ends' cores, `problems` what went wrong with each case, and `warnings` those of each rank.

    Raises Unavailable, on all ranks, if the buffers or an endpoint cannot be had.
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
            # What one end has made is released at both.
            self.close()
            raise
        self._pool = ThreadPoolExecutor(len(self._sides)) if len(self._sides) > 1 else None

    def _each(self, step: Callable[[Side], object]) -> dict[int, object]:
        return {number: step(side) for number, side in self._sides.items()}

    def _connect(self, addresses: Sequence[dict[int, object]]) -> None:
        for number, side in self._sides.items():
            initiator, responder = self.cases[number].pair
            peer = responder if self._group.rank == initiator else initiator
            side.connect(addresses[peer][number])

    def close(self) -> None:
        """Releases what belongs to these cases alone."""
        for side in self._sides.values():
            side.close()

    def run(self, sampler: Sampler | None) -> Iterator[int]:
        """Times what `sampler`, which is rank 0's, asks for, until it has enough; ends early where
        a case has a problem. Gives the timed part of each batch on rank 0, ns, elsewhere 0."""
        rtts: list[float | None] | None = None
        while True:
            failed = any(problem is not None for problem in self.problems)
            requested = sampler.next() if sampler is not None and not failed else None
            batch: Batch | None = self._group.broadcast(requested, Batch | None)
            if batch is None:
                break
            before = None
            if batch.keep:
                before = rtts or self._probe()
            gathered = self._group.gather(self._run(batch), dict[int, Report])
            rtts = self._probe() if batch.keep else None
            if gathered is None or sampler is None:
                yield 0
                continue
            yield self._take(sampler, batch, gathered, before, rtts)
        self._finish()

    def _probe(self) -> list[float | None]:
        """The core-to-core round trip of each case's pair now, ns, on rank 0."""
        return [self._setup.probe(case) for case in self.cases]

    def _run(self, batch: Batch) -> dict[int, Report]:
        """This rank's parts of a batch, all at the same time, by the number of the case."""
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
        gathered: Sequence[dict[int, Report]],
        before: Sequence[float | None] | None,
        after: Sequence[float | None] | None,
    ) -> int:
        """Takes what both ends of each case report of a batch; its timed part, ns."""
        blocks = []
        for number, case in enumerate(self.cases):
            initiator, responder = (gathered[rank][number] for rank in case.pair)
            self.problems[number] = initiator.problem or responder.problem
            self.verified[number] += initiator.verified + responder.verified
            ends = (before[number], after[number]) if before and after else (None, None)
            blocks.append(_block(initiator, responder, *ends))
        if any(problem is not None for problem in self.problems):
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
        """Keeps what was taken in the state of the machine that was asked for, as it is known by
        now."""
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
        """Looks what became of all cores, and collects warnings."""
        if self._pool is not None:
            self._pool.shutdown()
        cores = {number: side.finish() for number, side in self._sides.items()}
        own = Finished(cores, self._setup.meter.reader.take_warnings())
        gathered = self._group.gather(own, Finished) or []
        self.warnings = [each.warnings for each in gathered]
        for number, case in enumerate(self.cases):
            if gathered:
                initiator, responder = (gathered[rank].cores[number] for rank in case.pair)
                self.cores.append((initiator, responder))

    def spans(self, exchanges: int, offsets: Sequence[int]) -> tuple[list[int], list[float]]:
        """For each block, the time in which all pairs were active, ns, and how many messages went
        one way in it and arrived, those of all pairs together.

        `exchanges` is how many a sample holds; `offsets` are how far the clock of each case's
        initiator is ahead, ns. A sample that is partly within that time counts in part.
        """
        shares = []
        for number, case in enumerate(self.cases):
            delivery = add_deliveries(block.blocks[number].delivery for block in self.kept)
            shares.append(exchanges * case.messages_per_exchange * delivered_share(case, delivery))
        spans, messages = [], []
        for round_block in self.kept:
            ends = [
                _sample_ends(block, offset)
                for block, offset in zip(round_block.blocks, offsets, strict=True)
            ]
            low, high = max(int(end[0]) for end in ends), min(int(end[-1]) for end in ends)
            if high <= low:
                continue
            samples = [np.interp([low, high], end, np.arange(end.size)) for end in ends]
            spans.append(high - low)
            messages.append(
                sum(float(last - first) * share
                    for (first, last), share in zip(samples, shares, strict=True))
            )  # fmt: skip
        return spans, messages


def _block(
    initiator: Report, responder: Report, before: float | None, after: float | None
) -> Block:
    usage = None
    if initiator.usage is not None and responder.usage is not None:
        usage = (initiator.usage, responder.usage)
    return Block(
        start=initiator.start,
        times=_times(initiator.times),
        peer_times=_times(responder.times),
        receive_times=_times(initiator.receive_times),
        peer_receive_times=_times(responder.receive_times),
        cache_line_rtt=None if before is None or after is None else RoundTrips(before, after),
        timed_out=initiator.timed_out,
        delivery=initiator.delivery,
        usage=usage,
    )


def _times(payload: bytes) -> Times:
    return np.frombuffer(payload, dtype=np.int64) if payload else NO_TIMES


def _slowest(pairs: Sequence[Sampled]) -> Sampled:
    """Of each sample the longest time; of as many as every pair has."""
    if len(pairs) == 1:
        return pairs[0]
    fewest = min(pair.times.size for pair in pairs)
    times = np.maximum.reduce([pair.times[:fewest] for pair in pairs])
    return Sampled(times, max(pair.timed_out for pair in pairs))


def _sample_ends(block: Block, offset: int) -> np.ndarray:
    """When the samples of a block began and ended, shape (n + 1,), ns by rank 0's clock. What timed
    out is taken to be spread evenly."""
    timed_out = block.timed_out / max(block.times.size, 1)
    return (block.start or 0) - offset + np.concatenate(([0], np.cumsum(block.times + timed_out)))
