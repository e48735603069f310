"""The ranks of a run as a group: messages between any two, broadcast, gather, barrier; over sockets
or over MPI.

Collective calls follow a binomial tree, so no rank sends or receives more than log2 of their number
in one direction. They only coordinate; timed messages never go through here. A rank that waits
sleeps, so that it does not disturb those that are being timed.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from halftrip import _native
from halftrip.control.calling import connect
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener, Reach
from halftrip.control.network import ANY, PORTS_ADVICE, Network
from halftrip.control.protocol import Address, Channel, Closed, decoded, encoded
from halftrip.errors import Interrupted, Unavailable, system_reason
from halftrip.mpi.library import blocking_end, group_tag, native_path

if TYPE_CHECKING:
    from mpi4py import MPI

# A rank that is about to be asked by its partner polls for so long before it sleeps: to wake up
# takes longer than most messages, above all on a virtual core.
_POLL_SECONDS = 1e-3
# MPI has no wait that sleeps, so a rank sleeps between two polls: so long at first, longer where
# it has waited for long.
_NAP_SECONDS, _LONGEST_NAP_SECONDS = 50e-6, 5e-3
# How long a rank waits for its partner's connection. Longer than the partner tries to connect.
_MEET_SECONDS = 15.0
# With more ranks, a connection between two that are not neighbours in the tree is closed when they
# have done with each other: a process may have a thousand descriptors or so.
_MOST_CONNECTED = 256


def parent_of(rank: int) -> int:
    """The rank above `rank` > 0 in a binomial tree whose root is rank 0."""
    return rank & (rank - 1)


def children_of(rank: int, size: int) -> Iterator[int]:
    """The ranks below `rank` in the tree of `size` ranks, the one with most below it first."""
    bit = 1 << (size - 1).bit_length()
    if rank:
        bit = rank & -rank
    while bit := bit >> 1:
        if rank + bit < size:
            yield rank + bit


def _value(payload: bytes, kind: Any, source: int) -> Any:
    try:
        return decoded(payload, kind)
    except Closed as error:
        raise Interrupted(f"rank {source} sent what no rank says: {error}") from None


def _no_connection(error: OSError | Closed) -> str:
    """Why no connection could be made, and what to do."""
    if isinstance(error, Closed):
        return str(error)
    return f"{system_reason(error)}; {PORTS_ADVICE}"


class Group(ABC):
    """All ranks call the collective methods in the same order. `send` and `receive` are for two
    ranks alone; threads of a rank use them at the same time, each with a number of its own. Both
    raise Interrupted if the other rank is gone."""

    rank: int
    size: int
    # Whether a rank connects to those above it, not to those below.
    calls_upwards: bool = False

    @abstractmethod
    def send(self, to: int, payload: bytes, thread: int = 0) -> None: ...

    @abstractmethod
    def receive(self, source: int, thread: int = 0, polls: bool = False) -> bytes:
        """The next message of `source`; with `polls`, this rank does not sleep at first."""

    def receive_value(self, source: int, kind: Any, thread: int = 0, polls: bool = False) -> Any:
        """The next message of `source`, a value of type `kind`. Raises Interrupted if it is
        none."""
        return _value(self.receive(source, thread, polls), kind, source)

    @abstractmethod
    def native_end(self, peer: int, yields: bool) -> Any:
        """A native endpoint to `peer`, over which the two may send messages while neither sends
        through the group. It polls; `yields`: and gives its core away between polls, if it can."""

    @abstractmethod
    def close(self) -> None: ...

    def meet(self, peer: int, thread: int = 0) -> None:  # noqa: B027 (MPI connects all ranks)
        """Makes sure that this rank and `peer` can send to each other; both call it at the same
        time. Raises Unavailable, at both, if they cannot."""

    def leave(self, peer: int) -> None:  # noqa: B027 (some have nothing to release)
        """Releases what messages to `peer` need, if that is scarce; both ranks call it."""

    def broadcast(self, value: Any, kind: Any) -> Any:
        """Rank 0's `value`, of type `kind`, on every rank; other ranks' values are ignored."""
        payload = encoded(value) if self.rank == 0 else self.receive(parent_of(self.rank))
        for child in children_of(self.rank, self.size):
            self.send(child, payload)
        return value if self.rank == 0 else _value(payload, kind, parent_of(self.rank))

    def gather(self, value: Any, kind: Any) -> list[Any] | None:
        """The `value` of every rank, all of type `kind`, in order of rank, on rank 0; else None."""
        gathered: list[tuple[int, Any]] = [(self.rank, value)]
        # A rank between two others passes on what it does not look at.
        kind = kind if self.rank == 0 else Any
        # The nearest subtree is complete first.
        for child in reversed(list(children_of(self.rank, self.size))):
            found = self.receive_value(child, list[tuple[int, kind]])
            below = range(child, min(child + (child & -child), self.size))
            if sorted(rank for rank, _ in found) != [*below]:
                raise Interrupted(f"rank {child} speaks for others than those below it")
            gathered += found
        if self.rank != 0:
            self.send(parent_of(self.rank), encoded(gathered))
            return None
        return [value for _, value in sorted(gathered, key=lambda item: item[0])]

    def allgather(self, value: Any, kind: Any) -> list[Any]:
        """As `gather`, but every rank gets the list."""
        values = self.gather(value, kind)
        return list(self.broadcast(values, list[kind]))

    def barrier(self) -> None:
        """Returns when every rank has called it."""
        self.allgather(None, None)


class SocketGroup(Group):
    """A group over sockets, made by `lead_socket_group` and `join_socket_group`, which connect rank
    0 to all others. Two other ranks connect when they first have a message for each other, the
    higher one to the `listener` of the lower one, which goes on with its greeting while it waits
    for a message of a rank that is not connected yet. `addresses` are those of the listeners, by
    rank; where nobody has to connect, there is none. If it `calls_upwards`, the lower one of two
    ranks connects, rank 0 too, and no connection is needed at first."""

    def __init__(
        self,
        rank: int,
        token: str,
        listener: Listener,
        addresses: Sequence[Address | None],
        channels: dict[int, Channel],
        network: Network = ANY,
        calls_upwards: bool = False,
    ) -> None:
        self.rank = rank
        self.calls_upwards = calls_upwards
        self._network = network
        self.size = len(addresses)
        self._token = token
        self._listener = listener
        self._addresses = addresses
        # By peer and thread.
        self._channels = {(peer, 0): channel for peer, channel in channels.items()}
        self._accepting = threading.Lock()
        near = {parent_of(rank), *children_of(rank, self.size)}
        self._lasting = near | {0} if rank else set(range(self.size))
        self._close_if_complete()

    def send(self, to: int, payload: bytes, thread: int = 0) -> None:
        try:
            self._channel(to, thread).send_bytes(payload)
        except Closed as error:
            raise Interrupted(error.of(f"rank {to}")) from None

    def receive(self, source: int, thread: int = 0, polls: bool = False) -> bytes:
        try:
            channel = self._channel(source, thread)
            if polls:
                channel.poll(_POLL_SECONDS)
            return channel.receive_bytes()
        except Closed as error:
            raise Interrupted(error.of(f"rank {source}")) from None

    def native_end(self, peer: int, yields: bool) -> Any:
        descriptor = self._channel(peer, 0).fileno()
        return _native.SpinningSocket(descriptor, descriptor, yields)

    def meet(self, peer: int, thread: int = 0) -> None:
        try:
            self._channel(peer, thread, _MEET_SECONDS)
        except TimeoutError:
            here = self._listener.address
            raise Unavailable(
                f"rank {peer} has not reached rank {self.rank} at {', '.join(here.hosts)} port "
                f"{here.port} within {_MEET_SECONDS:.0f} s; {PORTS_ADVICE}"
            ) from None
        except (Interrupted, Closed) as error:
            raise Unavailable(str(error)) from None

    def _channel(self, peer: int, thread: int, seconds: float | None = None) -> Channel:
        """The connection to `peer`, within so many seconds."""
        channel = self._channels.get((peer, thread))
        if channel is None:
            calls = (peer > self.rank) == self.calls_upwards
            made = self._connect if calls else self._accept
            channel = made(peer, thread, seconds)
            self._channels[peer, thread] = channel
        return channel

    def _connect(self, peer: int, thread: int, seconds: float | None) -> Channel:
        address = self._addresses[peer]
        if address is None:
            raise Interrupted(f"rank {peer} does not say where it listens")
        try:
            hello = introduce("group", self.rank, to=peer, thread=thread)
            return connect(address, self._token, hello, seconds, network=self._network)
        except (OSError, Closed) as error:
            reason = f"rank {self.rank} cannot reach rank {peer}: {_no_connection(error)}"
            raise Interrupted(reason) from None

    def _accept(self, peer: int, thread: int, seconds: float | None) -> Channel:
        """The connection from `peer`; others that come before it are kept. Raises TimeoutError
        after `seconds`."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._accepting:
            while (peer, thread) not in self._channels:
                left = None if deadline is None else max(deadline - time.monotonic(), 0.01)
                channel, hello = self._listener.accept(left)
                self._channels[hello.rank, hello.thread] = channel
            self._close_if_complete()
            return self._channels[peer, thread]

    def _close_if_complete(self) -> None:
        """Closes the listener where nobody is going to connect any more."""
        if self._listener.is_done and self.size <= _MOST_CONNECTED:
            self._listener.close()

    def leave(self, peer: int) -> None:
        if self.size <= _MOST_CONNECTED or peer in self._lasting:
            return
        for key in [key for key in self._channels if key[0] == peer]:
            self._channels.pop(key).close()
            if (peer > self.rank) != self.calls_upwards:
                # It connects again when it next has something to say.
                self._listener.awaited.add(Guest("group", *key))

    def close(self) -> None:
        self._listener.close()
        for channel in self._channels.values():
            channel.close()


def group_guests(rank: int, size: int, threads: int = 1, calls_upwards: bool = False) -> set[Guest]:
    """Who connects to a rank of a group of `size` ranks, of which so many threads talk: the higher
    ranks, or the lower ones if it `calls_upwards`."""
    callers = range(rank) if calls_upwards else range(rank + 1, size)
    return {Guest("group", each, thread) for each in callers for thread in range(threads)}


def lead_socket_group(
    listener: Listener, token: str, size: int, timeout: float, threads: int = 1
) -> SocketGroup:
    """Rank 0's end: accepts the connections of all other ranks, of which so many threads will talk,
    and tells each how to reach the others. Raises TimeoutError if they are not there within
    `timeout` seconds."""
    channels: dict[int, Channel] = {}
    addresses: list[Address | None] = [listener.address] + [None] * (size - 1)
    # Other threads than the first connect later, and take no place of a rank here.
    listener.awaited |= group_guests(0, size)
    for channel, hello in listener.connections(size - 1, timeout):
        channels[hello.rank] = channel
        addresses[hello.rank] = hello.group
    listener.awaited |= group_guests(0, size, threads) - group_guests(0, size)
    payload = encoded(addresses)
    for channel in channels.values():
        channel.send_bytes(payload)
    return SocketGroup(0, token, listener, addresses, channels)


def join_socket_group(
    address: Address, token: str, rank: int, size: int, reach: Reach, threads: int = 1
) -> SocketGroup:
    """The end of another rank than 0, which others can reach from where `reach` says. Raises
    OSError if rank 0 does not answer, Closed if it does not let this rank in."""
    listener = Listener(token, group_guests(rank, size, threads), reach, rank)
    try:
        own = listener.address if listener.awaited else None
        network = reach if isinstance(reach, Network) else ANY
        channel = connect(
            address, token, introduce("group", rank, to=0, group=own), network=network
        )
        addresses = decoded(channel.receive_bytes(), list[Address | None])
    except BaseException:
        listener.close()
        raise
    return SocketGroup(rank, token, listener, addresses, {0: channel}, network)


def _nap(began: float) -> None:
    """Sleeps for a part of what was waited since that time.monotonic: a message that comes soon
    is found soon, and a rank that others keep waiting hardly wakes up."""
    waited = time.monotonic() - began
    time.sleep(min(max(_NAP_SECONDS, waited / 8), _LONGEST_NAP_SECONDS))


class MpiGroup(Group):
    """A group over MPI_COMM_WORLD, with tags of its own."""

    def __init__(self, world: MPI.Intracomm) -> None:
        from mpi4py import MPI

        self._new_status = MPI.Status
        self._byte = MPI.BYTE
        self.communicator = world
        self.rank = world.Get_rank()
        self.size = world.Get_size()

    def send(self, to: int, payload: bytes, thread: int = 0) -> None:
        request = self.communicator.Isend((payload, self._byte), dest=to, tag=group_tag(thread))
        began = time.monotonic()
        while not request.Test():
            _nap(began)

    def receive(self, source: int, thread: int = 0, polls: bool = False) -> bytes:
        tag, status = group_tag(thread), self._new_status()
        sleeps_from = time.monotonic() + (_POLL_SECONDS if polls else 0.0)
        while not self.communicator.Iprobe(source=source, tag=tag, status=status):
            if time.monotonic() >= sleeps_from:
                _nap(sleeps_from)
        payload = bytearray(status.Get_count(self._byte))
        self.communicator.Recv((payload, self._byte), source=source, tag=tag)
        return bytes(payload)

    def native_end(self, peer: int, yields: bool) -> Any:
        return blocking_end(native_path(self.communicator, peer, group_tag(0)))

    def close(self) -> None:
        """Does nothing: COMM_WORLD is MPI's own."""
