"""One rank's part in one case: the path is open, the buffers are there, the kernel is called."""

from __future__ import annotations

import os
import time
from typing import Any

import msgspec
import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.errors import HalftripError
from halftrip.measure.connection import Pair
from halftrip.measure.sampler import Batch
from halftrip.memory.host import geometry
from halftrip.memory.ring import Numbers, Ring, WrongByte, aligned, allocate_ring, message_seeds
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery
from halftrip.results.patterns import SHAPES
from halftrip.results.usage import CoreUse, Usage, add_usages
from halftrip.telemetry.busiest_task import culprit
from halftrip.telemetry.process import CoreWatch, Meter
from halftrip.transports.base import OneSided, Opened, Task, Timed, Window

# How long the initiator leaves its peer to get into the loop, where no exchange may go before.
_READY_SECONDS = 0.002


class Part(msgspec.Struct, frozen=True):
    """What one end of a case has to say of a batch.

    `times` are those of its samples, int64, ns, and `start` is when the first began, ns of
    CLOCK_MONOTONIC_RAW; on the end that takes no times, both are empty. `verified` is how many
    messages were found to be as they were sent; `problem` says what went wrong. `waited` and
    `delivery` are as in `transports.base.Timed`, `arrivals` too, as `times` are. `usage` is
    what this end has spent on it; None where no time passes.
    """

    times: bytes = b""
    start: int = 0
    verified: int = 0
    problem: str | None = None
    waited: int = 0
    delivery: Delivery | None = None
    arrivals: bytes = b""
    usage: Usage | None = None


class Lane:
    """This rank's part in `case` with the other rank of `pair`, of which it is a member, over the
    path `opened`.

    `cache_bytes` is the largest last-level cache of all ranks; `meter` reads what is spent.
    """

    def __init__(
        self,
        pair: Pair,
        case: Case,
        opened: Opened,
        clock: Clock,
        cache_bytes: int,
        meter: Meter,
    ) -> None:
        self.pair = pair
        self.case = case
        self._clock = clock
        self._verify = case.verify
        self._lay = geometry(case, cache_bytes)
        self._transport = pair.transport(case.transport)
        self._opened = opened
        self._window: Window | None = None
        self._endpoint: Any = None
        self._messages = 0
        self._meter = meter
        self._watch: CoreWatch | None = None
        self._spent: list[Usage] = []

    # Setting up, in steps that both ends take together.

    def allocate(self) -> None:
        """Makes the buffers."""
        self._out = allocate_ring(self._lay, self.case)
        if self.case.buffers == "same":
            self._in = self._out
        else:
            self._in = allocate_ring(self._lay, self.case)

    def expose(self) -> Any:
        """Makes the window that the peer reaches into, where it does, and returns the offer of
        it."""
        if self.case.mode != "onesided":
            return None
        self._window = self._reaching.expose(max(1, self._lay.bytes + self.case.align))
        region = aligned(self._window.region, self.case)
        # Touched by the core that it belongs to.
        region[:] = 0xA5
        self._exposed = Ring(region, self._lay, self.case)
        return self._window.offer

    @property
    def _reaching(self) -> OneSided:
        if not isinstance(self._transport, OneSided):
            raise TypeError(f"{self.case.transport} has no one-sided patterns and must refuse them")
        return self._transport

    def attach(self, offer: Any) -> None:
        """Makes the endpoint; `offer` is the peer's window."""
        if self._window is None:
            self._endpoint = self._transport.endpoint(self._opened, self.case, self._out, self._in)
        else:
            self._endpoint = self._reaching.reach(self._opened, self.case, self._window, offer)

    def close(self) -> None:
        """Releases what belongs to this case alone; both ends do."""
        self._endpoint = None
        if self._window is not None:
            self._window.close()

    # Timing.

    def prepare(self, batch: Batch) -> None:
        """What comes before this end's part of a batch, so that all can begin at once."""
        if batch.keep and self._watch is None and not self._transport.virtual:
            self._watch = self._meter.watch_core(self.pair.scene.core)
        if self._verify:
            self._fill(self._messages_of(batch))
        if self._window is not None:
            self._window.synchronize()

    def _messages_of(self, batch: Batch) -> int:
        return (batch.lead + batch.exchanges * batch.samples) * self.case.window

    def take_part(self, batch: Batch) -> Part:
        """This end's part of a batch."""
        if self.pair.scene.core is not None:
            os.sched_setaffinity(0, {self.pair.scene.core})
        messages = self._messages_of(batch)
        try:
            timed, usage = self._measure(batch)
            if self._window is not None:
                self._window.synchronize()
            verified = self._check(messages, timed) if self._verify else 0
        except (WrongByte, _native.NoAnswer) as error:
            return Part(problem=self._failure(str(error)))
        except OSError as error:
            reason = self._failure(error.strerror or str(error))
            if self._transport.lossy:
                return Part(problem=reason)
            # The peer is in the midst of an exchange and would wait for ever.
            raise HalftripError(f"{self._name} failed: {reason}") from None
        except _native.MpiError as error:
            reason = self._failure(f"MPI error {error}")
            raise HalftripError(f"{self._name} failed: {reason}") from None
        self._messages += messages
        if batch.keep and usage is not None:
            self._spent.append(usage)
        return Part(
            times=timed.times.tobytes(),
            start=timed.start,
            verified=verified,
            waited=timed.waited,
            delivery=timed.delivery,
            usage=usage,
            arrivals=b"" if timed.arrivals is None else timed.arrivals.tobytes(),
        )

    def finish(self) -> CoreUse | None:
        """What became of this end's core since the first batch that was kept, and where others had
        much of it, who; None where that is not known. To be called once, after the last."""
        if self._watch is None:
            return None
        core = self._watch.close()
        # Where ranks share a core nobody else is to blame.
        if not self._spent or self.pair.scene.yields:
            return core
        spent = msgspec.structs.replace(add_usages(self._spent), core=core)
        if not spent.taken_share:
            return core
        return msgspec.structs.replace(core, culprit=culprit(core.number))

    def _failure(self, reason: str) -> str:
        return f"rank {self._rank}: {reason}"

    @property
    def _name(self) -> str:
        return f"{self.case.transport} {self.case.pattern} of {self.case.size} bytes"

    def _measure(self, batch: Batch) -> tuple[Timed, Usage | None]:
        """Takes part in the exchanges of a batch, and looks before and after at what it costs."""
        if self._transport.virtual:
            return self._time(batch), None
        if batch.cold and self.pair.initiates:
            time.sleep(_READY_SECONDS)
        before = self._meter.read()
        timed = self._time(batch)
        return timed, self._meter.since(before, batch.lead + batch.exchanges * batch.samples)

    def _time(self, batch: Batch) -> Timed:
        """Takes part in the exchanges of a batch."""
        return self._transport.take_part(
            Task(
                case=self.case,
                endpoint=self._endpoint,
                initiates=self.pair.initiates,
                out=self._out,
                in_=self._in,
                lead=batch.lead,
                exchanges=batch.exchanges,
                samples=batch.samples,
                clock=self._clock,
                verify=self._verify,
            )
        )

    # Verifying. The buffers of both ends are as many and are used alike, so that each end knows
    # which message is where; and no batch has more messages than there are buffers.

    @property
    def _rank(self) -> int:
        return self.pair.ranks[0 if self.pair.initiates else 1]

    def _numbers(self, messages: int) -> Numbers:
        """The numbers of the next so many messages of this case."""
        return np.arange(self._messages, self._messages + messages, dtype=np.int64)

    def _fill(self, messages: int) -> None:
        if self._source is not None:
            numbers = self._numbers(messages)
            self._source.fill(numbers % self._lay.slots, message_seeds(self._rank, numbers))

    def _check(self, messages: int, timed: Timed) -> int:
        """Raises WrongByte if a message is not as it was sent; else how many there are that are
        known to have come."""
        ring = self._target
        if ring is None:
            return 0
        numbers = self._numbers(messages)
        slots = numbers % self._lay.slots
        if timed.held is not None:
            # By buffer: in which of the sender's buffers what it holds has come from.
            senders = timed.held[slots] - 1
            held = senders >= 0
            by_slot = np.zeros(self._lay.slots, dtype=np.int64)
            by_slot[slots] = numbers
            slots, numbers = slots[held], by_slot[senders[held]]
        # What is sent back from the buffer that it came in is the initiator's own message.
        peer = self.pair.ranks[1 if self.pair.initiates else 0]
        rank = self.pair.ranks[0] if self.case.buffers == "same" else peer
        ring.check(slots, message_seeds(rank, numbers), self._transport.header(self.case))
        return int(slots.size)

    @property
    def _source(self) -> Ring | None:
        """The buffers that this end's messages come from, None where it sends none of its own."""
        shape = SHAPES[self.case.pattern]
        if self.case.mode == "onesided":
            if self.case.pattern == "put":
                return self._out if self.pair.initiates else None
            return None if self.pair.initiates else self._exposed
        if self.pair.initiates:
            return self._out
        return self._out if shape.initiator and self.case.buffers == "separate" else None

    @property
    def _target(self) -> Ring | None:
        """The buffers that messages arrive in, None where there arrive none."""
        shape = SHAPES[self.case.pattern]
        receives = shape.initiator if self.pair.initiates else shape.responder
        if not receives:
            return None
        return self._exposed if self.case.pattern == "put" else self._in
