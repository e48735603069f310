"""The ranks of a run as a group: broadcast, allgather, barrier; over sockets or over MPI.

Rank 0 is the hub of a star. These calls only coordinate; timed messages never go through here. A
rank that waits sleeps, so that it does not disturb those that are being timed.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import msgspec

from halftrip.control.protocol import Address, Channel, Closed, Hello, Listener, connect
from halftrip.errors import Interrupted
from halftrip.mpi.library import GROUP_TAG

if TYPE_CHECKING:
    from mpi4py import MPI

# MPI has no wait that sleeps, so a rank sleeps this long between two polls.
_NAP_SECONDS = 50e-6


class Group(ABC):
    """All ranks call the same methods in the same order."""

    rank: int
    size: int

    @abstractmethod
    def _send(self, to: int, payload: bytes) -> None: ...

    @abstractmethod
    def _receive(self, source: int) -> bytes: ...

    @abstractmethod
    def close(self) -> None: ...

    def broadcast(self, value: Any, kind: Any) -> Any:
        """Rank 0's `value`, of type `kind`, on every rank; other ranks' values are ignored."""
        if self.rank != 0:
            return msgspec.msgpack.decode(self._receive(0), type=kind)
        payload = msgspec.msgpack.encode(value)
        for rank in range(1, self.size):
            self._send(rank, payload)
        return value

    def gather(self, value: Any, kind: Any) -> list[Any] | None:
        """The `value` of every rank, all of type `kind`, in order of rank, on rank 0; else None."""
        if self.rank != 0:
            self._send(0, msgspec.msgpack.encode(value))
            return None
        received = [self._receive(rank) for rank in range(1, self.size)]
        return [value, *(msgspec.msgpack.decode(payload, type=kind) for payload in received)]

    def allgather(self, value: Any, kind: Any) -> list[Any]:
        """As `gather`, but every rank gets the list."""
        values = self.gather(value, kind)
        return list(self.broadcast(values, list[kind]))

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self.allgather(None, None)


class SocketGroup(Group):
    """A group over sockets, made by `lead_socket_group` and `join_socket_group`. Rank 0 has
    `channels` to all other ranks, the others have one to rank 0."""

    def __init__(self, rank: int, size: int, channels: dict[int, Channel]) -> None:
        self.rank = rank
        self.size = size
        self._channels = channels

    def _send(self, to: int, payload: bytes) -> None:
        try:
            self._channels[to].send_bytes(payload)
        except Closed:
            raise Interrupted(f"rank {to} died") from None

    def _receive(self, source: int) -> bytes:
        try:
            return self._channels[source].receive_bytes()
        except Closed:
            raise Interrupted(f"rank {source} died") from None

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


def lead_socket_group(listener: Listener, size: int, timeout: float) -> SocketGroup:
    """Rank 0's end: accepts the connections of all other ranks. Raises TimeoutError if they are not
    there within `timeout` seconds."""
    channels = {hello.rank: channel for channel, hello in listener.connections(size - 1, timeout)}
    listener.close()
    return SocketGroup(0, size, channels)


def join_socket_group(address: Address, hello: Hello, size: int) -> SocketGroup:
    """Another rank's end. Raises OSError if rank 0 does not answer."""
    return SocketGroup(hello.rank, size, {0: connect(address, hello)})


class MpiGroup(Group):
    """A group over MPI_COMM_WORLD, with a tag of its own."""

    def __init__(self, world: MPI.Intracomm) -> None:
        from mpi4py import MPI

        self._status = MPI.Status()
        self._byte = MPI.BYTE
        self._communicator = world
        self.rank = world.Get_rank()
        self.size = world.Get_size()

    def _send(self, to: int, payload: bytes) -> None:
        request = self._communicator.Isend((payload, self._byte), dest=to, tag=GROUP_TAG)
        while not request.Test():
            time.sleep(_NAP_SECONDS)

    def _receive(self, source: int) -> bytes:
        while not self._communicator.Iprobe(source=source, tag=GROUP_TAG, status=self._status):
            time.sleep(_NAP_SECONDS)
        payload = bytearray(self._status.Get_count(self._byte))
        self._communicator.Recv((payload, self._byte), source=source, tag=GROUP_TAG)
        return bytes(payload)

    def close(self) -> None:
        """Does nothing: COMM_WORLD is MPI's own."""
