"""Runs the batches of a configuration at one end: with its buffers and its endpoint."""

from __future__ import annotations

import contextlib
import operator
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from halftrip import _native
from halftrip.cuda.driver import CudaError
from halftrip.errors import HalftripError, system_reason
from halftrip.measure.batch import Batch
from halftrip.measure.verification import Verification
from halftrip.memory.allocator import memory_named
from halftrip.memory.ring import Ring, WrongByte, allocate_ring
from halftrip.results.configuration import Configuration
from halftrip.results.counts import Counts
from halftrip.results.patterns import uses_buffers
from halftrip.results.usage import CoreUse, Usage, add_usages
from halftrip.telemetry import environment, perf_counters
from halftrip.telemetry.core_watch import CoreWatch
from halftrip.transports.base import Endpoint, EndpointBuffers, PairContext, Path, Problem, Timed

if TYPE_CHECKING:
    from halftrip.measure.setup import Setup

# How long the initiator waits for its peer to enter the loop, where no untimed iteration precedes.
_READY_SECONDS = 0.0005
# A task explains what others had of a core if it has at least this share of that.
_EXPLAINS = 0.5


class BatchReport(msgspec.Struct, frozen=True):
    """What each end has of a batch; the responder sends it to the initiator.

    `timed` are its samples. `verified` is how many messages arrived as they were sent. `usage` is
    what this end spent on the batch; None in virtual time. `counts` is what its hardware counters
    counted, where they were asked to and can. `problem` is why the batch failed, and `gives_up`
    whether the path is of no further use.
    """

    timed: Timed = Timed()
    verified: int = 0
    usage: Usage | None = None
    counts: Counts | None = None
    problem: Problem | None = None
    gives_up: bool = False


class BatchRunner:
    """Runs batches of `configuration` at this end, with the peer of `context`, over the open
    `path`."""

    def __init__(
        self, setup: Setup, context: PairContext, configuration: Configuration, path: Path
    ) -> None:
        self.configuration = configuration
        self._context = context
        self._path = path
        self._layout = setup.layout(configuration)
        self._clock = setup.clock
        self._meter = setup.meter
        self._several_hosts = len(set(setup.hosts)) > 1
        self._lossy = setup.transport(configuration).capabilities.lossy
        self._memory = memory_named(context.end_of(configuration).memory)
        self._endpoint: Endpoint | None = None
        self._rings: list[Ring] = []
        self._verification: Verification | None = None
        self._core_watch: CoreWatch | None = None
        self._spent: list[Usage] = []
        # Of the present slice; None: there is only one.
        self.segment: int | None = None

    # Setting up, in steps that both ends take together.

    def allocate(self) -> None:
        """Makes the buffers. Raises Unavailable or OSError."""
        self._memory.enter()
        sends, receives = uses_buffers(self.configuration.pattern, self._context.initiates)
        if self.configuration.buffers == "same":
            self._out = self._in = self._ring(sends or receives)
        else:
            self._out, self._in = self._ring(sends), self._ring(receives)

    def _ring(self, is_used: bool) -> Ring:
        """Buffers; only one, if this end has no use for them."""
        layout = self._layout if is_used else self._layout._replace(slots=1)
        made = allocate_ring(layout, self.configuration, self._context.end_of(self.configuration))
        self._rings.append(made)
        return made

    def open(self) -> Any:
        """Makes the endpoint and returns its address. Raises Unavailable or OSError."""
        room = max(1, self._layout.bytes + self.configuration.align)
        buffers = EndpointBuffers(
            out=self._out, in_=self._in, clock=self._clock, exposed_bytes=room
        )
        self._endpoint = self._path.endpoint(self.configuration, buffers)
        exposed = None
        if self._endpoint.exposed is not None:
            region = self._endpoint.exposed
            # First touched by this rank's core, if the peer accesses it.
            is_reached = self.configuration.shape.is_polled or not self._context.initiates
            if is_reached and region.bytes is not None:
                region.bytes[self.configuration.align :] = 0xA5
            exposed = Ring(region, self._layout, self.configuration)
        if self.configuration.verify:
            self._verification = Verification(
                self.configuration,
                self._context.initiates,
                self._layout.slots,
                self._out,
                self._in,
                exposed,
            )
        return self._endpoint.address

    def allocate_and_open(self) -> Any:
        """Does both, and returns the address of the endpoint. Raises Unavailable or OSError."""
        self.allocate()
        return self.open()

    @property
    def lasting(self) -> bool:
        """Whether it may stay open between slices; the same at both ends."""
        return self._opened.lasting

    @property
    def address(self) -> Any:
        """The address of the endpoint; None where its peer needs none."""
        return self._opened.address

    def connect(self, address: Any) -> None:
        """Takes the address of the peer's endpoint. Raises Unavailable or OSError."""
        self._opened.connect(address)

    def close(self) -> None:
        """Releases what belongs to this configuration alone, but for its memory. Both ends have to
        call it."""
        if self._endpoint is not None:
            self._endpoint.close()

    def free(self) -> None:
        """Frees the memory. Where the peer opens it, both ends have closed."""
        if self._endpoint is not None:
            self._endpoint.free()
            self._endpoint = None
        for ring in self._rings:
            ring.close()
        self._rings = []

    @property
    def _opened(self) -> Endpoint:
        if self._endpoint is None:
            raise RuntimeError("there is no endpoint yet")
        return self._endpoint

    # Timing.

    def begin_slice(self, segment: int = 0, watched: bool = True) -> None:
        """Prepares this end for a slice, after others over the same path, in the segment of
        memory of this number. `watched`: what else uses its core is looked at."""
        several = self._path.segments > 1
        self.segment = segment % self._path.segments if several else None
        if self.segment is not None:
            self._path.use(self.segment)
        self._spent = []
        self._memory.enter()
        self._opened.resume()
        # Where ranks share a core, what others had of it is no news.
        if watched and not self.configuration.is_simulated and not self._context.shares_core:
            self._core_watch = self._meter.watch_core(
                self._context.core, not self._context.same_host
            )

    def prepare(self, batch: Batch) -> None:
        """Prepares this end for a batch, so that both ends can begin at once."""
        self._memory.enter()
        if self._verification is not None:
            self._verification.fill(self.configuration.messages_in(batch.total_iterations))
        self._opened.synchronize()

    def run(self, batch: Batch) -> BatchReport:
        """Runs a batch together with the peer. Raises HalftripError if it failed in a way that
        leaves the peer waiting."""
        if self._context.core is not None:
            os.sched_setaffinity(0, {self._context.core})
        try:
            timed, usage, counts = self._time(batch)
            self._opened.synchronize()
            verified = self._verify(batch, timed)
        except WrongByte as error:
            return BatchReport(problem=Problem(self._failure(str(error))))
        except _native.NoAnswer as error:
            return BatchReport(problem=Problem(self._failure(str(error)), silent=True))
        except (_native.PeerClosed, OSError) as error:
            return self._broken(error)
        except _native.LibraryError as error:
            # The peer may have died: the watchdog says so in a moment.
            raise ConnectionError(f"{self._name} failed: {self._failure(str(error))}") from None
        except (_native.MpiError, _native.DeviceError, CudaError) as error:
            said = f"MPI error {error}" if isinstance(error, _native.MpiError) else str(error)
            raise HalftripError(f"{self._name} failed: {self._failure(said)}") from None
        if batch.keep and usage is not None:
            self._spent.append(usage)
        # Nobody else needs to know where the messages were.
        timed = timed._replace(source_slots=None)
        return BatchReport(timed=timed, verified=verified, usage=usage, counts=counts)

    def _broken(self, error: Exception) -> BatchReport:
        """The report of a batch over a path that has failed. Raises HalftripError, or `error`, if
        the peer cannot be told."""
        said = system_reason(error) if isinstance(error, OSError) else str(error)
        if self._lossy:
            return BatchReport(problem=Problem(self._failure(said)))
        problem = self._path.give_up(error)
        if problem is not None:
            named = msgspec.structs.replace(problem, reason=self._failure(problem.reason))
            return BatchReport(problem=named, gives_up=True)
        if isinstance(error, _native.PeerClosed | ConnectionError):
            # The peer is gone: the watchdog says why.
            raise error
        # The peer is in the middle of an iteration and would wait for ever.
        raise HalftripError(f"{self._name} failed: {self._failure(said)}") from None

    def _time(self, batch: Batch) -> tuple[Timed, Usage | None, Counts | None]:
        """The times of a batch, what this end spent on it, and what it counted."""
        numbers = (batch.untimed, batch.iterations, batch.samples)
        if self.configuration.is_simulated:
            return self._opened.run(*numbers), None, None
        if batch.cold and self._context.initiates:
            time.sleep(_READY_SECONDS)
        self._opened.takes_arrivals = batch.arrivals
        if batch.counts:
            return self._count(batch, numbers)
        if not batch.keep:
            # Nobody asks what these spend.
            return self._opened.run(*numbers), None, None
        before = self._meter.read()
        with self._spending(batch) as spent:
            timed = self._opened.run(*numbers)
        usage = spent.pop() if spent else self._meter.since(before, batch.total_iterations)
        assert not spent, "a batch is one call"
        return timed, usage, None

    @contextlib.contextmanager
    def _spending(self, batch: Batch) -> Iterator[list[Usage]]:
        """What the iterations spend that the endpoint meanwhile calls through `spending`."""
        spent: list[Usage] = []

        def spending(call: Callable[[], Any]) -> Any:
            result, usage = self._meter.spent(call, batch.total_iterations)
            spent.append(usage)
            return result

        self._opened.spending = spending
        try:
            yield spent
        finally:
            self._opened.spending = operator.call

    def _count(
        self, batch: Batch, numbers: tuple[int, int, int]
    ) -> tuple[Timed, None, Counts | None]:
        opened = self._opened
        timed, counts = perf_counters.count(lambda: opened.run(*numbers), batch.total_iterations)
        return timed, None, counts

    def _verify(self, batch: Batch, timed: Timed) -> int:
        if self._verification is None:
            return 0
        messages = self.configuration.messages_in(batch.total_iterations)
        header_size = self._opened.header_size
        return self._verification.check(messages, timed.source_slots, header_size)

    def end_slice(self) -> CoreUse | None:
        """How this end's core was used during the slice, with the busiest task where others had
        much of it; None where that is not known."""
        watch, self._core_watch = self._core_watch, None
        if watch is None:
            return None
        core = watch.close()
        if not self._spent:
            return core
        spent = msgspec.structs.replace(add_usages(self._spent), core=core)
        if not spent.has_others:
            return core
        task = self._meter.busiest_task(core.number)
        # It was seen later: another one may have had the core.
        explains = task is not None and task.share >= _EXPLAINS * (spent.others_share or 0.0)
        return msgspec.structs.replace(core, busiest_task=task if explains else None)

    def _failure(self, reason: str) -> str:
        """`reason`, with the rank that it happened at, its host where there are several, and where
        its peer is."""
        rank = self.configuration.pair[0 if self._context.initiates else 1]
        of_host = f" of {environment.host()}" if self._several_hosts else ""
        where = f" ({self._path.peer})" if self._path.peer else ""
        return f"rank {rank}{of_host}: {reason}{where}"

    @property
    def _name(self) -> str:
        return self.configuration.title
