"""mpi4py's calls with Python objects, which it pickles, between two ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from halftrip.memory.allocator import Bytes
from halftrip.mpi.library import INT_MAX, counts_to
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host, parse_memory
from halftrip.results.patterns import ONE_WAY
from halftrip.transports import mpi
from halftrip.transports.base import PairContext, PathSettings
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.python.endpoint import (
    ObjectCalls,
    PythonPath,
    copy_payload,
    no_device_arrays,
)
from halftrip.transports.python.mpi4py import (
    Mpi4pyPath,
    Mpi4pyTransport,
    Peer,
    begun,
    sending_first,
)
from halftrip.transports.python.patterns import PATTERNS, Call, Calls, Requests

# No pickled object of any kind has more bytes beside its payload.
_BESIDE_PAYLOAD = 4096


class Mpi4pyObjectTransport(Mpi4pyTransport):
    capabilities = Capabilities(
        patterns={"blocking": PATTERNS, "ssend": ONE_WAY, "nonblocking": PATTERNS},
        waits=mpi.WAITS,
        staging=("none",),
        no_other_wait=mpi.NO_OTHER_WAIT,
        no_mode={
            "persistent": "mpi4py has no persistent calls for objects",
            "onesided": "mpi4py has no one-sided calls for objects",
        },
        settings={"object": ("bytes", "array", "dict")},
    )

    def refuses(self, configuration: Configuration) -> str | None:
        reason = super().refuses(configuration)
        if reason is None and configuration.buffers == "same":
            return "--buffers same: an object that is received is a new one"
        on_device = not all(is_of_host(end.memory) for end in configuration.ends)
        if reason is None and on_device and configuration.object != "array":
            return f"--object {configuration.object}: only an array is in a device's memory"
        return reason

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        """Pickling copies an array of a device to the host, so that any library takes it. What has
        been pickled as an array of a device is one again at the other end, wherever its own are."""
        size = configuration.size + _BESIDE_PAYLOAD
        if size > INT_MAX and size > counts_to():
            return f"mpi4py counts the bytes of an object, at most {counts_to()} with this MPI"
        others = [end.memory for end in configuration.ends if not is_of_host(end.memory)]
        for memory in others:
            if parse_memory(memory).kind != "cuda":
                return f"--memory {memory}: only an array in a CUDA device's memory is pickled"
        return no_device_arrays() if others else None

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return ObjectPath(self.process, pair)


class ObjectPath(Mpi4pyPath):
    def calls(self, configuration: Configuration) -> Calls | Requests:
        if configuration.mode == "nonblocking":
            return ObjectRequests(configuration, self._peer)
        return PeerObjectCalls(configuration, self._peer)


class PeerObjectCalls(ObjectCalls):
    """send or ssend, recv, sendrecv. Both ends of a pingping send first: with isend."""

    def __init__(self, configuration: Configuration, peer: Peer) -> None:
        communicator = peer.communicator
        send = communicator.ssend if configuration.mode == "ssend" else communicator.send
        recv = partial(communicator.recv, None, *peer.address)
        super().__init__(configuration, send, recv, *peer.address)
        self._peer = peer

    def exchange(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        address = self._peer.address
        both = self.sending(self._peer.communicator.sendrecv, message, *address, None, *address)
        return (self.receiving(both, into),)

    def ping(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        from mpi4py import MPI

        begin = self.sending(self._peer.communicator.isend, message, *self._peer.address)
        return (sending_first(begin, self.recv(into), MPI.Request.wait),)


class _Begun(NamedTuple):
    """`begin` returns a request; the object that it receives is kept in `into`; None: it sends."""

    begin: Callable[[], object]
    into: Bytes | None


class ObjectRequests(Requests):
    """isend, irecv, waitall."""

    def __init__(self, configuration: Configuration, peer: Peer) -> None:
        self._calls = PeerObjectCalls(configuration, peer)
        self.blocking = self._calls
        self._peer = peer
        # A pickled message that is longer than the buffer of irecv is an error; its own has 32 KiB.
        self._room = configuration.size + _BESIDE_PAYLOAD

    def send(self, message: Bytes) -> _Begun:
        isend = self._peer.communicator.isend
        return _Begun(self._calls.sending(isend, message, *self._peer.address), None)

    def recv(self, into: Bytes) -> _Begun:
        room = bytearray(self._room)
        return _Begun(partial(self._peer.communicator.irecv, room, *self._peer.address), into)

    def window(self, requests: Sequence[_Begun]) -> Sequence[Call]:
        from mpi4py import MPI

        waitall = MPI.Request.waitall
        begins = [request.begin for request in requests]

        def begin_and_complete() -> list[object]:
            return waitall(list(map(begun, begins)))

        def complete_and_keep() -> None:
            for request, received in zip(requests, begin_and_complete(), strict=True):
                if request.into is not None:
                    copy_payload(self._calls.kind, received, request.into)

        return (complete_and_keep if self._calls.verifies else begin_and_complete,)
