"""Where processes of a job wait for each other's connections.

Greetings go on at the same time, so whoever connects and is silent, or says something else, holds
up nobody; it is dropped, and takes nobody's place.
"""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Literal

from halftrip.control.calling import Prepare, as_it_is, is_another_user, is_from_here
from halftrip.control.greeting import Guest, Hello, IncomingGreeting, door
from halftrip.control.network import Network, own_addresses, place_of
from halftrip.control.protocol import Address, Channel, Closed

# How long a caller may take for each of the two messages of its greeting.
_GREETING_SECONDS = 5.0
# How many greetings go on at the same time at most, beside those of the awaited guests. The oldest
# is dropped for another.
_MOST_PENDING = 64
# How many connections are accepted before the greetings among them are looked at: the first ones
# shall not be dropped unheard because many come at once.
_MOST_AT_ONCE = 32
# What the kernel keeps of connections while nobody accepts them, where it allows so many.
_BACKLOG = 1024
# From where a listener can be reached: this host, by an abstract Unix socket or by loopback, or
# other hosts.
Reach = Literal["unix", "loopback"] | Network


class _Connection:
    """A connection whose greeting goes on, and until when that may take."""

    def __init__(self, connection: socket.socket, greeting: IncomingGreeting) -> None:
        self.socket = connection
        self.greeting = greeting
        self.deadline = time.monotonic() + _GREETING_SECONDS

    def go_on(self) -> None:
        """Takes what there is, and answers. Raises Closed and OSError."""
        while self.greeting.missing:
            try:
                received = self.socket.recv(self.greeting.missing)
            except BlockingIOError:
                return
            if not received:
                raise Closed("the connection was closed")
            answer = self.greeting.feed(received)
            if answer:
                # There is room for it: nothing has been sent here before.
                self.socket.sendall(answer)
                self.deadline = time.monotonic() + _GREETING_SECONDS


class Listener:
    """Accepts connections of one job, whose random text is `token`. `rank` is the rank that listens
    (-1: the launcher). Only the `awaited` guests are let in, each once; a rank without a number as
    often as it comes. `awaited` may be changed at any time. Connections inherit most of what
    `prepare` sets. Where other hosts may reach it, all that is said after a greeting is sealed.
    Connections of ranks that are `near` come from this host."""

    def __init__(
        self,
        token: str,
        awaited: Iterable[Guest] = (),
        reach: Reach = "unix",
        rank: int = -1,
        prepare: Prepare = as_it_is,
    ) -> None:
        self.awaited = set(awaited)
        self.near: Container[int] = ()
        self._token = token
        self._rank = rank
        self._socket, self.address = _listen(reach)
        # Beside the addresses that this host has.
        known = reach.reached_at if isinstance(reach, Network) else ()
        self._doors = tuple(door((each, self.address.port)) for each in known)
        try:
            # Nobody knows the address yet.
            prepare(self._socket)
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)
        # Pollable itself: ready when there is a connection, or something from one.
        self._selector = selectors.EpollSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)
        self._stop = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._selector.register(self._stop, selectors.EVENT_READ)
        self._is_closed = False
        # The oldest first.
        self._pending: dict[socket.socket, _Connection] = {}
        self._admitted: list[tuple[Channel, Hello]] = []

    def fileno(self) -> int:
        """A descriptor that is readable when `admit` has something to do."""
        return self._selector.fileno()

    @property
    def is_done(self) -> bool:
        """Whether nobody is awaited any longer, and all connections have been taken."""
        return not (self.awaited or self._admitted)

    def accept(self, timeout: float | None = None) -> tuple[Channel, Hello]:
        """The connection of the next guest. Raises TimeoutError after `timeout` seconds (None: it
        waits for ever), Closed after `stop` and `close`, OSError where the system accepts none."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._admitted:
            if self._is_closed:
                raise Closed("nobody else can connect")
            self._handle(self._patience(deadline))
            if not self._admitted and deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError("nobody has connected")
        return self._admitted.pop(0)

    def admit(self) -> list[tuple[Channel, Hello]]:
        """Goes on with all greetings, without waiting; the connections of guests who are done with
        theirs. Raises OSError where the system accepts no more."""
        self._handle(0.0)
        admitted, self._admitted = self._admitted, []
        return admitted

    def connections(self, count: int, seconds: float) -> Iterator[tuple[Channel, Hello]]:
        """The next `count` connections of guests, each as soon as it is there. Raises TimeoutError
        if all of them together take longer than `seconds`."""
        deadline = time.monotonic() + seconds
        for _ in range(count):
            yield self.accept(max(deadline - time.monotonic(), 0.01))

    def stop(self) -> None:
        """Ends `accept` in another thread, at once."""
        os.eventfd_write(self._stop, 1)

    def close(self) -> None:
        """Drops whoever has not been let in. It may be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        for pending in list(self._pending.values()):
            self._drop(pending)
        for channel, _ in self._admitted:
            channel.close()
        self._selector.close()
        os.close(self._stop)
        self._socket.close()

    def _patience(self, deadline: float | None) -> float | None:
        """How long to wait for events, s; None: for ever."""
        ends = [pending.deadline for pending in self._pending.values()]
        if deadline is not None:
            ends.append(deadline)
        return max(min(ends) - time.monotonic(), 0.0) if ends else None

    def _handle(self, timeout: float | None) -> None:
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._socket:
                self._accept_some()
            elif key.fileobj == self._stop:
                raise Closed("the listener was stopped")
            else:
                self._go_on(key.data)
        # Only after that: their messages may have waited for this process, not it for them.
        now = time.monotonic()
        for pending in [each for each in self._pending.values() if each.deadline < now]:
            self._drop(pending)

    def _accept_some(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._pending:
                    raise
                # A stranger must not use up the descriptors.
                self._drop(next(iter(self._pending.values())))
                continue
            self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        if is_another_user(connection):
            connection.close()
            return
        self._make_room(has_claimed=False)
        connection.setblocking(False)
        doors = (door(connection.getsockname()), *self._doors)
        sealed = self.address.is_sealed
        others = () if is_from_here(connection) else self.near
        greeting = IncomingGreeting(self._token, self._rank, self.awaited, doors, sealed, others)
        pending = _Connection(connection, greeting)
        self._pending[connection] = pending
        self._selector.register(connection, selectors.EVENT_READ, pending)
        # What it says may have come with it.
        self._go_on(pending)

    def _go_on(self, pending: _Connection) -> None:
        if pending.socket not in self._pending:
            # Dropped for another, which was handled before.
            return
        had_claimed = pending.greeting.has_claimed
        try:
            pending.go_on()
        except (Closed, OSError):
            self._drop(pending)
            return
        if pending.greeting.has_claimed and not had_claimed:
            # Last come, last dropped: in the order in which they have claimed.
            self._pending[pending.socket] = self._pending.pop(pending.socket)
            self._make_room(has_claimed=True)
        if pending.greeting.proven:
            self._forget(pending)
            pending.socket.setblocking(True)
            hello = pending.greeting.hello
            if hello.rank >= 0:
                self.awaited.discard(hello.guest)
            self._admitted.append((Channel(pending.socket, pending.greeting.seal), hello))

    def _make_room(self, has_claimed: bool) -> None:
        """Drops the oldest of those that have said who they are, or of those that have not, where
        these are too many. Each kind has a room of its own: nobody has proven anything yet, and a
        guest passes through both faster than strangers can fill one."""
        same = [each for each in self._pending.values() if each.greeting.has_claimed is has_claimed]
        if len(same) >= _MOST_PENDING + len(self.awaited):
            self._drop(same[0])

    def _drop(self, pending: _Connection) -> None:
        self._forget(pending)
        pending.socket.close()

    def _forget(self, pending: _Connection) -> None:
        del self._pending[pending.socket]
        self._selector.unregister(pending.socket)


def _listen(reach: Reach) -> tuple[socket.socket, Address]:
    if reach == "unix":
        # Abstract: it leaves no name behind in the file system.
        name = f"halftrip-{secrets.token_hex(8)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(f"\0{name}")
        listener.listen(_BACKLOG)
        return listener, Address(unix=name)
    if reach == "loopback":
        listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        port = listener.getsockname()[1]
        return listener, Address(hosts=("127.0.0.1",), port=port, local=True)
    listener = _server(reach)
    return listener, Address(hosts=reach.addresses, port=listener.getsockname()[1])


def _server(network: Network) -> socket.socket:
    """A listening socket on one of the ports of `network`: at its address, if it has only one, or
    at all addresses of this host. Raises OSError if no port is free."""
    own = () if network.interface is None else own_addresses(network.interface)
    both = not own and socket.has_dualstack_ipv6()
    host = own[0] if len(own) == 1 else ""
    family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
    for port in network.port_range:
        try:
            return socket.create_server(
                place_of(host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
            )
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not port:
                raise
    raise network.no_port()


class BackgroundListener:
    """Lets `guests` in, in a thread of its own: a greeting needs answers, while this process may
    have to do something else before it waits for them."""

    def __init__(
        self,
        token: str,
        guests: Sequence[Guest],
        reach: Reach,
        rank: int,
        prepare: Prepare = as_it_is,
    ) -> None:
        self._guests = guests
        self._listener = Listener(token, guests, reach, rank, prepare)
        self.address = self._listener.address
        self._channels: dict[Guest, Channel] = {}
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._receive, name="listener", daemon=True)
        self._thread.start()

    def _receive(self) -> None:
        try:
            for _ in self._guests:
                channel, hello = self._listener.accept()
                self._channels[hello.guest] = channel
        except Closed:
            # `close` was called.
            return
        except OSError as error:
            self._failure = error

    def take(self, seconds: float) -> list[Channel]:
        """The guests' connections, in their order; nobody else can connect then. Raises
        TimeoutError if they are not there within `seconds`, and OSError where the system accepts
        none."""
        self._thread.join(seconds)
        channels = [self._channels.get(guest) for guest in self._guests]
        found = [channel for channel in channels if channel is not None]
        if len(found) == len(channels):
            self._channels = {}
        self.close()
        if self._failure is not None:
            raise self._failure
        if len(found) < len(channels):
            raise TimeoutError("the peer has not connected")
        return found

    def close(self) -> None:
        """Releases everything that `take` has not returned. It may be called twice."""
        if self._thread.is_alive():
            self._listener.stop()
            self._thread.join()
        self._listener.close()
        for channel in self._channels.values():
            channel.close()
        self._channels = {}
