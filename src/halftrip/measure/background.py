"""Traffic that goes on between two ranks while they time messages: threads of both ends, each with
a path of its own, that run a pattern over and over.

It begins before the slice's warm-up, and ends after its last sample. The initiator's thread tells
the responder's what comes next before the present batch is over, so that nothing pauses between.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence

import msgspec

from halftrip.control.watchdog import Watchdog
from halftrip.errors import HalftripError, Interrupted, Unavailable
from halftrip.measure.batch import Batch
from halftrip.measure.batch_runner import BatchRunner
from halftrip.measure.pair import PairEnd
from halftrip.measure.selection import refusal
from halftrip.measure.setup import Setup
from halftrip.plan.background import parsed
from halftrip.plan.flows import flow_of
from halftrip.results.background import BackgroundTraffic, moved
from halftrip.results.block import Times
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Delivery

# Messages are timed after so many iterations of each flow, or so long, s: TCP takes some round
# trips to find out what it may send, and again after each pause. Within a host there is nothing
# between the ends that has to fill up.
_LEAD_ITERATIONS, _LEAD_WITHIN_HOST, _LEAD_SECONDS = 10, 2, 5.0
# A sample takes about this long, ns, and a batch this long, or as long as one iteration.
_SAMPLE_NS, _BATCH_NS = 1e6, 3e7
# Nothing is timed beside traffic that stood still for more than the rest of the time.
_LEAST_RUNNING = 0.8


class NextBatch(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the initiator asks the responder for; without samples, it has done."""

    iterations: int = 1
    samples: int = 0


class _Flow:
    """This end of a flow: `configuration`, with the peer of `pair`. An iteration is begun every so
    many `seconds` (None: as soon as the last one is over). `single`: each sample is one iteration,
    as where messages can be lost."""

    def __init__(
        self, pair: PairEnd, configuration: Configuration, seconds: float | None, single: bool
    ) -> None:
        self.configuration = msgspec.structs.replace(configuration, thread=pair.context.thread)
        self.pair = pair
        self._seconds, self._single = seconds, single
        self._bytes = (
            configuration.size * configuration.messages_per_iteration * configuration.directions
        )
        self._runner: BatchRunner | None = None
        # Of the present slice.
        self._thread: threading.Thread | None = None
        self._stopping, self._running = threading.Event(), threading.Event()
        self._failure: BaseException | None = None
        self._batches: list[tuple[int, Times]] = []
        self._sample_bytes: list[int] = []
        # The share of its time in which the thread of this end, and of the other, had a core.
        self.load = (0.0, 0.0)

    def open(self) -> None:
        """Opens its path. Raises Unavailable at both ends."""
        if self.pair.unreachable is not None:
            raise Unavailable(self.pair.unreachable)
        self._runner = self.pair.batch_runner(self.configuration)

    def begin(self) -> None:
        self._stopping.clear()
        self._running.clear()
        self._batches, self._sample_bytes = [], []
        self._thread = threading.Thread(target=self._run, name="background", daemon=True)
        self._thread.start()

    def await_running(self) -> None:
        """Until what lies between the ends is filled: some iterations are over. Raises what the
        thread did."""
        self._running.wait()
        self._check()

    def stop(self) -> None:
        """At the initiator: the present batch, and what the responder was told, are the last."""
        self._stopping.set()

    def end(self) -> None:
        """Waits until it has ended. Raises what the thread did."""
        if self._thread is not None:
            self._thread.join()
        self._check()
        if self._runner is not None and not self._runner.lasting:
            self.pair.drop(self.configuration)

    def moved(self, began: int, ended: int) -> tuple[int, int]:
        """The bytes that it moved between these moments, ns of CLOCK_MONOTONIC_RAW, and how long it
        was running meanwhile, ns. One that has a rate is, also while it rests."""
        count, running = moved(self._batches, self._sample_bytes, began, ended)
        if self._seconds is not None and self._batches:
            last, times = self._batches[-1]
            running = min(ended, last + int(times.sum())) - max(began, self._batches[0][0])
        return count, running

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        context = self.pair.context
        try:
            # A thread inherits the core of what is timed.
            if context.core is None and context.allowed_cores:
                os.sched_setaffinity(0, context.allowed_cores)
            began, used = time.monotonic(), time.thread_time()
            self._opened.begin_slice(watched=False)
            self._lead() if self.pair.initiates else self._follow()
            load = (time.thread_time() - used) / max(time.monotonic() - began, 1e-9)
            self.pair.link.send(load)
            self.load = load, self.pair.link.receive(float)
        except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
            self._failure = error
            # So that the peer does not wait; what the thread raised ends this rank.
            with contextlib.suppress(Unavailable, OSError):
                self.pair.path(self.configuration).close()
            # Nor does this rank, whose main thread may wait for the peer's.
            if (watchdog := Watchdog.current) is not None:
                watchdog.fail(error, self.configuration.pair[0 if self.pair.initiates else 1])
        finally:
            self._running.set()

    def _lead(self) -> None:
        link, batch = self.pair.link, NextBatch(samples=1)
        fewest = _LEAD_WITHIN_HOST if self.pair.context.same_host else _LEAD_ITERATIONS
        link.send(batch)
        began = due = time.monotonic()
        done = 0
        while batch.samples:
            following = NextBatch() if self._stopping.is_set() else self._next()
            link.send(following)
            self._take_part(batch)
            done += batch.iterations * batch.samples
            is_steady = self._seconds is not None or done >= fewest
            if is_steady or time.monotonic() - began > _LEAD_SECONDS:
                self._running.set()
            if self._seconds is not None:
                due += self._seconds
                self._stopping.wait(max(0.0, due - time.monotonic()))
            batch = following

    def _follow(self) -> None:
        link = self.pair.link
        while (batch := link.receive(NextBatch)).samples:
            self._take_part(batch)

    def _next(self) -> NextBatch:
        """What comes after the present batch."""
        if not self._batches or self._seconds is not None:
            return NextBatch(samples=1)
        times, size = self._batches[-1][1], self._sample_bytes[-1]
        ns = max(1.0, float(times.mean()) * self._bytes / max(size, 1))
        iterations = 1 if self._single else max(1, round(_SAMPLE_NS / ns))
        return NextBatch(iterations, max(1, round(_BATCH_NS / (iterations * ns))))

    def _take_part(self, asked: NextBatch) -> None:
        batch = Batch(asked.iterations, asked.samples, untimed=0)
        self._opened.prepare(batch)
        report = self._opened.run(batch)
        if report.problem is not None:
            said = f"--background: {self.configuration.title} failed: {report.problem.reason}"
            # Of a path that the peer has ended, the peer says why, in a moment.
            closed = report.gives_up and not report.problem.silent
            raise Interrupted(said) if closed else HalftripError(said)
        timed = report.timed
        if self.pair.initiates:
            self._batches.append((timed.start, timed.times))
            arrived = _arrived(timed.delivery)
            self._sample_bytes.append(round(self._bytes * asked.iterations * arrived))

    @property
    def _opened(self) -> BatchRunner:
        if self._runner is None:
            raise RuntimeError("it is not open yet")
        return self._runner


def _arrived(delivery: Delivery | None) -> float:
    """The share of messages that arrived."""
    return 1.0 if delivery is None or not delivery.sent else 1.0 - delivery.lost / delivery.sent


class BackgroundEnd:
    """This end of the traffic beside a `configuration`, one flow with each of the `pairs`. Raises
    Unavailable where this process has no such transport."""

    def __init__(
        self, setup: Setup, pairs: Sequence[PairEnd], configuration: Configuration
    ) -> None:
        self._setup = setup
        self.name = f"--background {configuration.background}"
        made, seconds = _configuration(setup, configuration.background)
        made = msgspec.structs.replace(made, pair=configuration.pair)
        single = setup.transport(made).capabilities.lossy
        self._flows = [_Flow(pair, made, seconds, single) for pair in pairs]

    def open(self, is_first: bool) -> None:
        """Opens all paths; `is_first`: of the first slice, which may be refused. Raises Unavailable
        at both ends."""
        for flow in self._flows:
            try:
                if is_first and flow.pair.unreachable is None:
                    reason = refusal(self._setup, flow.pair, flow.configuration)
                    if reason is not None:
                        raise Unavailable(reason)
                flow.open()
            except Unavailable as error:
                raise Unavailable(f"{self.name}: {error}") from None

    def begin(self) -> None:
        """Begins all flows. At the initiator, returns when all are running."""
        for flow in self._flows:
            flow.begin()
        for flow in self._flows:
            if flow.pair.initiates:
                flow.await_running()

    def end(self) -> None:
        """Ends all flows; both ends call it."""
        for flow in self._flows:
            flow.stop()
        for flow in self._flows:
            flow.end()

    def traffic(self, began: int, ended: int) -> BackgroundTraffic:
        """What went on between these moments, ns of the initiator's CLOCK_MONOTONIC_RAW."""
        found = [flow.moved(began, ended) for flow in self._flows]
        took = max(ended - began, 1)
        return BackgroundTraffic(
            bytes=sum(count for count, _ in found),
            ns=took,
            running=max(0.0, min(running for _, running in found) / took),
            load=max(sum(flow.load[end] for flow in self._flows) for end in (0, 1)),
            own_cores=not any(flow.pair.context.shares_core for flow in self._flows),
        )


def stood_still(traffic: BackgroundTraffic) -> str | None:
    """Why a slice beside this traffic does not count, or None."""
    if not traffic.bytes:
        return "it moved nothing while messages were timed"
    if traffic.running < _LEAST_RUNNING:
        return f"it stood still for {100 * (1 - traffic.running):.0f} % of the time"
    return None


def _configuration(setup: Setup, text: str) -> tuple[Configuration, float | None]:
    """What each flow of a background runs, and how often it begins an iteration, s; None: at once.
    Raises Unavailable where this process has no such transport."""
    found = parsed(text)
    if found is None or found.transport not in setup.transports:
        name = text if found is None else found.transport
        raise Unavailable(f"--background {text}: {name} cannot be used here")
    return flow_of(found, setup.transports[found.transport].capabilities)
