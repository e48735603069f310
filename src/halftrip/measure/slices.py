"""One slice of a configuration: what its two ends do, and what they say to each other.

The initiator decides: it asks the responder to take part in batches and in probes of the core-to-
core round trip, and tells it when the slice is over.
"""

from __future__ import annotations

import time

import msgspec

from halftrip.clock import raw_now
from halftrip.measure.batch import Batch, Sampled
from halftrip.measure.batch_runner import BatchReport, BatchRunner
from halftrip.measure.bounds import Probed
from halftrip.measure.pair import PairEnd
from halftrip.measure.placement_filter import PlacementFilter
from halftrip.measure.sampler import Sampler
from halftrip.results.block import Block, RoundTrips
from halftrip.results.counts import CountedSlice, Counts, add_counts
from halftrip.results.records import Measurement
from halftrip.results.usage import CoreUse
from halftrip.transports.base import Problem


class Ended(msgspec.Struct, frozen=True):
    """How a slice failed: why, and whether its path is of no further use."""

    problem: Problem
    gives_up: bool


class SliceRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the initiator asks the responder for: a probe, a batch, and another probe, or some of
    these. `is_last`: then it has done with warm-up, or with the slice. `ended`: how the slice
    failed."""

    batch: Batch | None = None
    probe: bool = False
    probe_after: bool = False
    is_last: bool = False
    ended: Ended | None = None


class EndReport(msgspec.Struct, frozen=True):
    """What the responder reports at the end of a slice: how its core was used."""

    core: CoreUse | None = None


def serve(pair: PairEnd, runner: BatchRunner) -> Ended | None:
    """Does what the initiator asks of the responder, until it has done. Returns how the slice
    failed, if so."""
    while True:
        request: SliceRequest = pair.link.receive(SliceRequest)
        if request.probe:
            pair.probe()
        if request.batch is not None:
            runner.prepare(request.batch)
            report = runner.run(request.batch)
            if request.probe_after:
                pair.probe()
            pair.link.send(report)
        if request.is_last:
            return request.ended


def finish(pair: PairEnd, runner: BatchRunner) -> None:
    """The responder's report at the end."""
    pair.link.send(EndReport(runner.end_slice()))


class InitiatorSlice:
    """A slice as the initiator runs it. `warm_up` and `sample` are called in this order, then
    `measurement` has the result, unless the slice has `ended` early. `timed_ns` is the time of all
    batches so far. With `placement`, blocks count only in the requested state of the machine. A
    slice that `counts` is not timed: hardware counters count, and `counted` has the result."""

    def __init__(
        self,
        pair: PairEnd,
        runner: BatchRunner,
        sampler: Sampler,
        placement: PlacementFilter | None,
        counts: bool = False,
    ) -> None:
        self.ended: Ended | None = None
        self.timed_ns = 0
        self._pair = pair
        self._runner = runner
        self._configuration = runner.configuration
        self._sampler = sampler
        self._placement = placement
        self._counts = counts
        # What both ends have counted in each batch that was kept.
        self._counted: tuple[list[Counts], list[Counts]] = ([], [])
        self._virtual = pair.path(runner.configuration).virtual_time
        self._blocks: list[Block] = []
        self._verified = 0
        # The probes around the latest block.
        self._before: Probed | None = None
        self._after: Probed | None = None
        self._began = time.monotonic()

    def warm_up(
        self, iterations: int | None = None, spread: float = 0.0, least: float = 0.0
    ) -> None:
        """Takes the first iteration of the configuration, calibrates, and warms up; see
        `Sampler.begin`. The runner has begun the slice."""
        self._sampler.begin(iterations, spread, least)
        if self._placement is not None:
            self._placement.survey(self._nearest, self._rest)
        while self.ended is None and (batch := self._sampler.next()) and not batch.keep:
            block = self._run(batch)
            self._sampler.feed(Sampled(block.times, block.timed_out))

    def pause(self) -> None:
        """Lets the responder wait for others, too, before `sample`."""
        self._pair.link.send(SliceRequest(is_last=True))

    def sample(self, until: int | None) -> None:
        """Samples until the sampler has enough, or until this moment, ns of CLOCK_MONOTONIC_RAW
        (None: however long that takes)."""
        if self._virtual is not None:
            self._before = self._probe()
        while self.ended is None and (batch := self._sampler.next()):
            if until is not None and raw_now() >= until and self._blocks:
                self._sampler.end()
                return
            block = self._with_probes(self._run(batch))
            if self.ended is not None:
                return
            sampled = Sampled(block.times, block.timed_out)
            if not batch.keep:
                self._sampler.feed(sampled)
            elif self._counts or not self._sampler.warms_up(sampled):
                self._keep(block)

    def end(self) -> tuple[CoreUse | None, CoreUse | None]:
        """Ends the slice at both ends; how their cores were used."""
        self._pair.link.send(SliceRequest(is_last=True, ended=self.ended))
        own = self._runner.end_slice()
        report: EndReport = self._pair.link.receive(EndReport)
        return own, report.core

    def measurement(
        self, number: int, launch: int, began: float, cores: tuple[CoreUse | None, CoreUse | None]
    ) -> Measurement | None:
        """The result of slice `number` in a launch that began at that time.monotonic; None where
        nothing was kept."""
        if self._sampler.stopped is None or self.ended is not None:
            return None
        return Measurement(
            configuration=self._configuration,
            slice=number,
            launch=launch,
            at=self._began - began,
            first=self._sampler.first,
            warm_up=self._sampler.warm_up,
            iterations=self._sampler.iterations,
            stopped=self._sampler.stopped,
            blocks=self._blocks,
            verified=self._verified if self._configuration.verify else None,
            segment=self._runner.segment,
            cores=None if self._configuration.is_simulated else cores,
        )

    def counted(self, number: int, launch: int) -> CountedSlice | None:
        """What both ends have counted in slice `number`; None where neither can, and where it
        failed."""
        initiator, responder = map(add_counts, self._counted)
        if self.ended is not None or (initiator is None and responder is None):
            return None
        return CountedSlice(
            configuration=self._configuration,
            slice=number,
            launch=launch,
            ends=(initiator, responder),
        )

    def _run(self, batch: Batch) -> Block:
        """A batch at both ends, between two probes where it is kept."""
        if self._counts and batch.keep:
            batch = msgspec.structs.replace(batch, counts=True)
        probes = batch.keep and self._can_probe
        # The probe after a block is also the one before the next.
        before = probes and self._before is None
        self._pair.link.send(SliceRequest(batch, before, probes))
        if before:
            self._before = self._pair.probe()
        self._runner.prepare(batch)
        own = self._runner.run(batch)
        self._after = self._pair.probe() if probes else None
        peer: BatchReport = self._pair.link.receive(BatchReport)
        self.ended = self._ended(own, peer)
        self._verified += own.verified + peer.verified
        for counted, report in zip(self._counted, (own, peer), strict=True):
            if report.counts is not None:
                counted.append(report.counts)
        block = _block(own, peer)
        self.timed_ns += block.elapsed
        return block

    def _ended(self, own: BatchReport, peer: BatchReport) -> Ended | None:
        """How a batch failed, which either end may know, or both; None if it did not."""
        found = [each for each in (own.problem, peer.problem) if each is not None]
        if not found:
            return None
        problem = Problem(
            "; ".join(dict.fromkeys(each.reason for each in found)),
            any(each.silent for each in found),
            max(each.segment for each in found),
        )
        if problem.silent:
            advice = self._pair.unanswered.advice(self._configuration, problem)
            problem = msgspec.structs.replace(problem, reason=f"{problem.reason}; {advice}")
        return Ended(problem, own.gives_up or peer.gives_up)

    def _with_probes(self, block: Block) -> Block:
        after = self._after if self._virtual is None else self._probe()
        before, self._before = self._before, after
        if before is None or after is None:
            return block
        farthest = None
        if before.farthest is not None and after.farthest is not None:
            farthest = RoundTrips(before.farthest, after.farthest)
        return msgspec.structs.replace(
            block,
            core_to_core_rtt=RoundTrips(before.nearest, after.nearest),
            core_to_core_farthest=farthest,
        )

    @property
    def _can_probe(self) -> bool:
        """Whether the two ranks can probe the core-to-core round trip."""
        return self._pair.has_probe and not self._configuration.is_simulated

    def _keep(self, latest: Block) -> None:
        """Keeps the blocks that were taken in the requested state of the machine, as far as the
        states are known by now."""
        taken = [*self._blocks, latest]
        counts = [True] * len(taken)
        if self._placement is not None:
            counts = self._placement.accepted(taken)
        self._blocks = [block for block, count in zip(taken, counts, strict=True) if count]
        rejected = [block for block, count in zip(taken, counts, strict=True) if not count]
        sampled = {id(block): Sampled(block.times, block.timed_out) for block in taken}
        self._sampler.keep(
            sampled[id(latest)],
            [sampled[id(block)] for block in self._blocks],
            [sampled[id(block)] for block in rejected],
        )

    def _probe(self) -> Probed | None:
        """The core-to-core round trip at this moment; None where it cannot be probed."""
        if self._virtual is not None:
            return Probed(self._virtual.core_to_core_rtt())
        if not self._can_probe:
            return None
        self._pair.link.send(SliceRequest(probe=True))
        return self._pair.probe()

    def _nearest(self) -> float | None:
        probed = self._probe()
        return None if probed is None else probed.nearest

    def _rest(self, seconds: float) -> None:
        if self._virtual is not None:
            self._virtual.rest(seconds)
        else:
            time.sleep(seconds)


def _block(initiator: BatchReport, responder: BatchReport) -> Block:
    """The block that both ends of a configuration report of a batch."""
    usage = None
    if initiator.usage is not None and responder.usage is not None:
        usage = (initiator.usage, responder.usage)
    own, peer = initiator.timed, responder.timed
    return Block(
        start=own.start,
        end=own.end if peer.arrivals.size else None,
        peer_start=peer.start if peer.arrivals.size else None,
        arrivals=peer.arrivals,
        times=own.times,
        peer_times=peer.times,
        receive_times=own.receive_times,
        peer_receive_times=peer.receive_times,
        timed_out=own.timed_out,
        delivery=own.delivery,
        usage=usage,
    )
