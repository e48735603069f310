"""mpi4py's calls with buffers, between two ranks of whichever MPI it has loaded.

A timed call is one of mpi4py's own with its arguments, no function of halftrip's around it. A
buffer is a numpy array, whose datatype mpi4py finds at each call, as most programs have it.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.allocator import Bytes
from halftrip.mpi.library import INT_MAX, contiguous, counts_to, timed_tag
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ONE_WAY
from halftrip.results.threshold import Threshold
from halftrip.transports import device_pointers, mpi
from halftrip.transports.base import (
    EndpointBuffers,
    PairContext,
    PathSettings,
    ProcessContext,
    Timed,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.mpi import path_thresholds
from halftrip.transports.python.endpoint import PythonEndpoint, PythonPath, PythonTransport
from halftrip.transports.python.patterns import PATTERNS, Call, Calls, Requests

if TYPE_CHECKING:
    from mpi4py import MPI

# Makes a call that begins to send or to receive, and returns the request.
begun: Callable[[Callable[[], Any]], Any] = operator.call


class Peer(NamedTuple):
    """The other rank of a pair: its rank in `communicator`, and the tag of messages from and to
    it."""

    communicator: MPI.Intracomm
    rank: int
    tag: int

    @property
    def address(self) -> tuple[int, int]:
        """The arguments that say where a message goes to or comes from."""
        return self.rank, self.tag


class Mpi4pyTransport(PythonTransport):
    capabilities = Capabilities(
        patterns={
            "blocking": PATTERNS,
            "ssend": ONE_WAY,
            "nonblocking": PATTERNS,
            "persistent": PATTERNS,
        },
        waits=mpi.WAITS,
        staging=("none",),
        no_other_wait=mpi.NO_OTHER_WAIT,
        no_mode={"onesided": "one-sided calls are measured with -t mpi only"},
    )

    def missing(self, pair: PairContext) -> str | None:
        return mpi.missing(self.process)

    def refuses(self, configuration: Configuration) -> str | None:
        return mpi.refusal(configuration) or super().refuses(configuration)

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        return device_pointers.obstacle(configuration, pair)

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return BufferPath(self.process, pair)


class Mpi4pyPath(PythonPath):
    """Two ranks of the communicator, and a tag for the thread: there is nothing to open."""

    def __init__(self, process: ProcessContext, pair: PairContext) -> None:
        super().__init__(pair)
        if process.communicator is None:
            raise Unavailable(process.no_mpi)
        self._peer = Peer(process.communicator, pair.peer, timed_tag(pair.thread))

    @abstractmethod
    def calls(self, configuration: Configuration) -> Calls | Requests: ...

    def thresholds(self) -> Sequence[Threshold]:
        return path_thresholds(self.pair.same_host)

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> PythonEndpoint:
        from mpi4py import MPI

        calls = self.calls(configuration)
        try:
            endpoint = Mpi4pyEndpoint(calls, configuration, self.pair.initiates, buffers)
        except MPI.Exception as error:
            calls.close()
            raise Unavailable(f"no requests: {error}") from None
        if configuration.mode == "persistent":
            # Each buffer has a request of its own.
            endpoint.lasting = max(buffers.out.slots, buffers.in_.slots) <= mpi.MOST_REQUESTS
        return endpoint


class Mpi4pyEndpoint(PythonEndpoint):
    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        from mpi4py import MPI

        try:
            return super().run(untimed, iterations, samples)
        except MPI.Exception as error:
            raise _native.MpiError(str(error)) from None


class BufferPath(Mpi4pyPath):
    def calls(self, configuration: Configuration) -> Calls | Requests:
        if configuration.mode == "nonblocking":
            return BufferRequests(self._peer)
        if configuration.mode == "persistent":
            return PersistentRequests(self._peer)
        return BufferCalls(self._peer, is_synchronous=configuration.mode == "ssend")


def counted(buffer: Bytes) -> Any:
    """A buffer as mpi4py takes it: where this MPI's counts end below its size, as one element of a
    type."""
    size = buffer.size
    return buffer if size <= INT_MAX or size <= counts_to() else (buffer, 1, contiguous(size))


class BufferCalls(Calls):
    """Send or Ssend, Recv, Sendrecv. Both ends of a pingping send first: with Isend."""

    def __init__(self, peer: Peer, is_synchronous: bool = False) -> None:
        self._peer = peer
        communicator = peer.communicator
        self._send = communicator.Ssend if is_synchronous else communicator.Send

    def send(self, message: Bytes) -> Call:
        return partial(self._send, counted(message), *self._peer.address)

    def recv(self, into: Bytes) -> Call:
        return partial(self._peer.communicator.Recv, counted(into), *self._peer.address)

    def exchange(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        address = self._peer.address
        return (
            partial(
                self._peer.communicator.Sendrecv,
                counted(message),
                *address,
                counted(into),
                *address,
            ),
        )

    def ping(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        from mpi4py import MPI

        begin = partial(self._peer.communicator.Isend, counted(message), *self._peer.address)
        return (sending_first(begin, self.recv(into), MPI.Request.Wait),)


def sending_first(begin: Callable[[], Any], recv: Call, wait: Callable[[Any], object]) -> Call:
    """A call that begins to send, receives, and waits until the message has been sent. It has a
    frame of halftrip's, which keeps the request."""

    def both() -> None:
        request = begin()
        recv()
        wait(request)

    return both


class BufferRequests(Requests):
    """Isend, Irecv, Waitall."""

    def __init__(self, peer: Peer) -> None:
        self.blocking = BufferCalls(peer)
        self._peer = peer

    def send(self, message: Bytes) -> Call:
        return partial(self._peer.communicator.Isend, counted(message), *self._peer.address)

    def recv(self, into: Bytes) -> Call:
        return partial(self._peer.communicator.Irecv, counted(into), *self._peer.address)

    def window(self, requests: Sequence[Call]) -> Sequence[Call]:
        from mpi4py import MPI

        waitall = MPI.Request.Waitall

        def begin_and_complete() -> None:
            waitall(list(map(begun, requests)))

        return (begin_and_complete,)


class PersistentRequests(Requests):
    """Send_init, Recv_init, Startall, Waitall; Start, Wait where there is only one message."""

    in_turn = True

    def __init__(self, peer: Peer) -> None:
        self.blocking = BufferCalls(peer)
        self._peer = peer
        self._requests: list[MPI.Prequest] = []

    def send(self, message: Bytes) -> MPI.Prequest:
        return self._kept(self._peer.communicator.Send_init(counted(message), *self._peer.address))

    def recv(self, into: Bytes) -> MPI.Prequest:
        return self._kept(self._peer.communicator.Recv_init(counted(into), *self._peer.address))

    def _kept(self, request: MPI.Prequest) -> MPI.Prequest:
        self._requests.append(request)
        return request

    def window(self, requests: Sequence[MPI.Prequest]) -> Sequence[Call]:
        from mpi4py import MPI

        if len(requests) == 1:
            return requests[0].Start, requests[0].Wait
        every = list(requests)
        return partial(MPI.Prequest.Startall, every), partial(MPI.Request.Waitall, every)

    def close(self) -> None:
        for request in self._requests:
            request.Free()
        self._requests.clear()
