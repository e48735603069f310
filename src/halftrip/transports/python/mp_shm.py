"""Shared memory and semaphores of multiprocessing: what a program in Python writes that sends
messages through a multiprocessing.shared_memory.SharedMemory."""

from __future__ import annotations

import mmap
from typing import Any

import msgspec

from halftrip.errors import Unavailable
from halftrip.memory.allocator import Bytes
from halftrip.memory.host import HOST
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration
from halftrip.transports.base import Endpoint, EndpointBuffers, PairContext, PathSettings, Timed
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.python.endpoint import PythonEndpoint, PythonPath, PythonTransport
from halftrip.transports.python.mp_objects import make_semaphores, semaphore
from halftrip.transports.python.patterns import PATTERNS, Call, Calls

# Of each direction: whether its slot is free, and whether it has a message.
_SEMAPHORES = (1, 0)
# A slot begins a page.
_BEFORE_SLOT = mmap.PAGESIZE


class MpShmTransport(PythonTransport):
    capabilities = Capabilities(
        # A message stays in its slot, so that a send does not wait for its receive.
        patterns={"blocking": PATTERNS},
        waits=("block",),
        no_other_wait="semaphores of multiprocessing have blocking calls only",
    )

    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return MpShmPath(pair)


class MpShmPath(PythonPath):
    """Each configuration has memory of its own, as large as its messages."""

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        return ShmEndpoint(self.pair.initiates, configuration, buffers)


class ShmEndpoint(Endpoint):
    """A slot for each direction. Unlike that of a SharedMemory, the memory has no name, which a
    killed rank would leave behind, and no process that keeps a list of such names; the pages, and
    the copies into and out of them, are of the same kind."""

    def __init__(
        self, initiates: bool, configuration: Configuration, buffers: EndpointBuffers
    ) -> None:
        self._initiates = initiates
        self._configuration = configuration
        self._buffers = buffers
        self._segment: SharedSegment | None = None
        if not initiates:
            return
        needed = 2 * _slot_bytes(configuration)
        if needed > HOST.available():
            raise Unavailable(f"shared memory needs {needed >> 20} MiB, and less is left")
        self._segment = SharedSegment(needed)
        for each in _halves(self._segment.bytes):
            make_semaphores(each, _SEMAPHORES)
        self.address = msgspec.to_builtins(self._segment.offer)

    def connect(self, address: Any) -> None:
        if self._segment is not None:
            memory = self._segment.bytes
        else:
            memory = open_offer(msgspec.convert(address, SharedOffer))
        there, back = map(Slot, _halves(memory))
        calls = SlotCalls(there, back) if self._initiates else SlotCalls(back, there)
        self._end = PythonEndpoint(calls, self._configuration, self._initiates, self._buffers)

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        return self._end.run(untimed, iterations, samples)

    def close(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None


def _slot_bytes(configuration: Configuration) -> int:
    """The memory of one direction: semaphores, and room for a message or an acknowledgement."""
    pages = -(-max(configuration.size, 1) // mmap.PAGESIZE)
    return _BEFORE_SLOT + pages * mmap.PAGESIZE


def _halves(memory: Bytes) -> tuple[Bytes, Bytes]:
    """The memory of the initiator's messages, and that of the responder's."""
    middle = memory.size // 2
    return memory[:middle], memory[middle:]


class Slot:
    """Room for one message in one direction; `free` and `full` count to one at most."""

    def __init__(self, memory: Bytes) -> None:
        self.free, self.full = (semaphore(memory, number) for number in range(len(_SEMAPHORES)))
        self.message = memory[_BEFORE_SLOT:].data


class SlotCalls(Calls):
    def __init__(self, out: Slot, in_: Slot) -> None:
        self._out = out
        self._in = in_

    def send(self, message: Bytes) -> Call:
        acquire, release = self._out.free.acquire, self._out.full.release
        source, target = message.data, self._out.message[: message.size]

        def send() -> None:
            acquire()
            target[:] = source
            release()

        return send

    def recv(self, into: Bytes) -> Call:
        acquire, release = self._in.full.acquire, self._in.free.release
        source, target = self._in.message[: into.size], into.data

        def recv() -> None:
            acquire()
            target[:] = source
            release()

        return recv
