"""multiprocessing.Queue, one for each direction."""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from halftrip.errors import Unavailable
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration
from halftrip.transports.base import PairContext, PathSettings
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.pipe import PipePath
from halftrip.transports.python.endpoint import ObjectCalls, PythonPath, PythonTransport
from halftrip.transports.python.mp_objects import (
    QUEUE_SEMAPHORES,
    close_queue,
    connection,
    make_semaphores,
    queue,
    semaphore_bytes,
)
from halftrip.transports.python.patterns import PATTERNS, Calls


class MpQueueTransport(PythonTransport):
    capabilities = Capabilities(
        # put() leaves the message to a thread of the queue, so it never waits for the peer.
        patterns={"blocking": PATTERNS},
        waits=("block",),
        no_other_wait="queues of multiprocessing have blocking calls only",
        settings={"object": ("bytes", "array", "dict")},
    )

    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return MpQueuePath(pair)


class MpQueuePath(PythonPath):
    """A queue is a pipe and three semaphores. The thread that writes to it runs on the core of its
    rank."""

    def __init__(self, pair: PairContext) -> None:
        super().__init__(pair)
        self._resources = contextlib.ExitStack()
        self._pipes = PipePath(pair)
        self._resources.callback(self._pipes.close)
        if not pair.initiates:
            return
        values = 2 * QUEUE_SEMAPHORES
        try:
            self._segment = SharedSegment(semaphore_bytes(len(values)))
        except Unavailable:
            self.close()
            raise
        self._resources.callback(self._segment.close)
        make_semaphores(self._segment.bytes, values)
        offer = msgspec.to_builtins(self._segment.offer)
        self.address = {"pipes": self._pipes.address, "semaphores": offer}

    def connect(self, address: Any) -> None:
        if self.pair.initiates:
            self._pipes.connect(None)
            memory = self._segment.bytes
        else:
            self._pipes.connect(address["pipes"])
            memory = open_offer(msgspec.convert(address["semaphores"], SharedOffer))
        reader = connection(self._pipes.in_fd, writable=False)
        writer = connection(self._pipes.out_fd, readable=False)
        # The other end of each pipe is open at the peer alone, so that it closes with the peer.
        elsewhere = connection(self._pipes.in_fd)
        elsewhere.close()
        self._resources.close()
        there, back = 0, len(QUEUE_SEMAPHORES)
        first_out, first_in = (there, back) if self.pair.initiates else (back, there)
        self._out = queue(elsewhere, writer, memory, first_out)
        self._in = queue(reader, elsewhere, memory, first_in)
        for each in (self._out, self._in):
            self._resources.callback(close_queue, each)

    def calls(self, configuration: Configuration) -> Calls:
        return ObjectCalls(configuration, self._out.put, self._in.get)

    def close(self) -> None:
        self._resources.close()
