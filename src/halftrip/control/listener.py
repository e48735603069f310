"""Where processes of a job wait for each other's connections, and how they connect.

Greetings go on at the same time, so whoever connects and is silent, or says something else, holds
up nobody; it is dropped, and takes nobody's place.
"""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

from halftrip.control.greeting import Guest, Hello, Visitor, greet
from halftrip.control.hosts import own_addresses
from halftrip.control.protocol import Address, Channel, Closed
from halftrip.errors import system_reason

# How long a caller may take for each of the two messages of its greeting.
_GREETING_SECONDS = 5.0
# How many greetings go on at the same time at most, beside those of the awaited guests. The oldest
# is dropped for another.
_MOST_VISITORS = 64
# How many connections are accepted before the greetings among them are looked at: the first ones
# shall not be dropped unheard because many come at once.
_MOST_AT_ONCE = 32
# What the kernel keeps of connections while nobody accepts them, where it allows so many.
_BACKLOG = 1024
# Process, user and group of the other end of a Unix socket (unix(7), SO_PEERCRED).
_CREDENTIALS = struct.Struct("3i")

# From where a listener can be reached: this host, by an abstract Unix socket or by loopback, or any
# host.
Reach = Literal["unix", "loopback", "network"]


# Sets a socket up before it listens or connects. Raises OSError or Unavailable.
Prepare: TypeAlias = Callable[[socket.socket], None]


def _as_it_is(_: socket.socket) -> None:
    """Leaves a socket as the kernel makes it."""


class _Connection:
    """A connection whose greeting goes on, and until when that may take."""

    def __init__(self, connection: socket.socket, visitor: Visitor) -> None:
        self.socket = connection
        self.visitor = visitor
        self.deadline = time.monotonic() + _GREETING_SECONDS

    def go_on(self) -> None:
        """Takes what there is, and answers. Raises Closed and OSError."""
        while self.visitor.missing:
            try:
                received = self.socket.recv(self.visitor.missing)
            except BlockingIOError:
                return
            if not received:
                raise Closed("the connection was closed")
            answer = self.visitor.feed(received)
            if answer:
                # There is room for it: nothing has been sent here before.
                self.socket.sendall(answer)
                self.deadline = time.monotonic() + _GREETING_SECONDS


class Listener:
    """Accepts connections of one job, whose random text is `token`. `rank` is the rank that listens
    (-1: the launcher). Only the `awaited` guests are let in, each once; a rank without a number as
    often as it comes. `awaited` may be changed at any time. Connections inherit most of what
    `prepare` sets."""

    def __init__(
        self,
        token: str,
        awaited: Iterable[Guest] = (),
        reach: Reach = "unix",
        rank: int = -1,
        prepare: Prepare = _as_it_is,
    ) -> None:
        self.awaited = set(awaited)
        self._token = token
        self._rank = rank
        self._socket, self.address = _listen(reach)
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
        self._visits: dict[socket.socket, _Connection] = {}
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
        for visit in list(self._visits.values()):
            self._drop(visit)
        for channel, _ in self._admitted:
            channel.close()
        self._selector.close()
        os.close(self._stop)
        self._socket.close()

    def _patience(self, deadline: float | None) -> float | None:
        """How long to wait for events, s; None: for ever."""
        ends = [visit.deadline for visit in self._visits.values()]
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
        for visit in [each for each in self._visits.values() if each.deadline < now]:
            self._drop(visit)

    def _accept_some(self) -> None:
        for _ in range(_MOST_AT_ONCE):
            try:
                connection, _ = self._socket.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._visits:
                    raise
                # A stranger must not use up the descriptors.
                self._drop_oldest()
                continue
            self._begin(connection)

    def _begin(self, connection: socket.socket) -> None:
        if _is_another_user(connection):
            connection.close()
            return
        if len(self._visits) >= _MOST_VISITORS + len(self.awaited):
            self._drop_oldest()
        connection.setblocking(False)
        visit = _Connection(connection, Visitor(self._token, self._rank, self.awaited))
        self._visits[connection] = visit
        self._selector.register(connection, selectors.EVENT_READ, visit)
        # What it says may have come with it.
        self._go_on(visit)

    def _go_on(self, visit: _Connection) -> None:
        if visit.socket not in self._visits:
            # Dropped for another, which was handled before.
            return
        try:
            visit.go_on()
        except (Closed, OSError):
            self._drop(visit)
            return
        if visit.visitor.proven:
            self._forget(visit)
            visit.socket.setblocking(True)
            hello = visit.visitor.hello
            if hello.rank >= 0:
                self.awaited.discard(hello.guest)
            self._admitted.append((Channel(visit.socket), hello))

    def _drop_oldest(self) -> None:
        """Drops the oldest of those that have not said anything yet, if there are any."""
        visits = self._visits.values()
        silent = (visit for visit in visits if not visit.visitor.has_claimed)
        self._drop(next(silent, None) or next(iter(visits)))

    def _drop(self, visit: _Connection) -> None:
        self._forget(visit)
        visit.socket.close()

    def _forget(self, visit: _Connection) -> None:
        del self._visits[visit.socket]
        self._selector.unregister(visit.socket)


class Reception:
    """Lets `guests` in, in a thread of its own: a greeting needs answers, while this process may
    have to do something else before it waits for them."""

    def __init__(
        self,
        token: str,
        guests: Sequence[Guest],
        reach: Reach,
        rank: int,
        prepare: Prepare = _as_it_is,
    ) -> None:
        self._guests = guests
        self._listener = Listener(token, guests, reach, rank, prepare)
        self.address = self._listener.address
        self._channels: dict[Guest, Channel] = {}
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._receive, name="reception", daemon=True)
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


def connect(
    address: Address,
    token: str,
    hello: Hello,
    seconds: float | None = None,
    timeout: float = 10.0,
    prepare: Prepare = _as_it_is,
) -> Channel:
    """Connects to the first host of `address` that knows the token, and says `hello` there. A host
    may take `seconds` to answer a greeting (None: any time, since it may be busy), and all together
    `timeout` to accept a connection. Sockets connect as `prepare` sets them up.

    Raises OSError, with every address that was tried, if nothing can be connected to; Closed if
    whoever listens does not know the token, or does not wait for this guest.
    """
    refusal = Closed("it has no address")
    for connection in _connections(address, timeout, prepare):
        channel = Channel(connection)
        try:
            greet(channel, token, hello, None if seconds is None else time.monotonic() + seconds)
            return channel
        except Closed as error:
            channel.close()
            refusal = error
        except BaseException:
            channel.close()
            raise
    raise refusal


def open_connection(address: Address, timeout: float = 10.0) -> socket.socket:
    """A connection to the first host of `address` that answers. Raises OSError, with every host
    that was tried, if none does."""
    return next(_connections(address, timeout, _as_it_is))


def _connections(address: Address, timeout: float, prepare: Prepare) -> Iterator[socket.socket]:
    """A connection to each host that answers, which the caller closes. Raises OSError at the end if
    none did."""
    if address.unix is not None:
        yield _connect_unix(address.unix, prepare)
        return
    reasons = []
    for host in address.hosts:
        try:
            seconds = timeout / len(address.hosts)
            connection = _connect_tcp(host, address.port, seconds, prepare)
        except OSError as error:
            reasons.append(f"{host}: {system_reason(error)}")
        else:
            connection.settimeout(None)
            yield connection
    if len(reasons) == len(address.hosts):
        reason = f"no way to port {address.port}: {'; '.join(reasons)}"
        raise OSError(errno.EHOSTUNREACH, reason)


def _connect_tcp(host: str, port: int, seconds: float, prepare: Prepare) -> socket.socket:
    """As socket.create_connection, with a socket that was set up before."""
    failure = OSError(errno.EADDRNOTAVAIL, "it has no address")
    for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            prepare(connection)
            connection.settimeout(seconds)
            connection.connect(place)
        except OSError as error:
            connection.close()
            failure = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise failure


def _connect_unix(name: str, prepare: Prepare) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        prepare(connection)
        connection.connect(f"\0{name}")
        if _is_another_user(connection):
            raise PermissionError(errno.EPERM, "another user listens there")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_another_user(connection: socket.socket) -> bool:
    """Whether the kernel knows that the other end is a process of another user."""
    if connection.family != socket.AF_UNIX:
        return False
    size = _CREDENTIALS.size
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user != os.geteuid())


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
        return listener, Address(hosts=("127.0.0.1",), port=listener.getsockname()[1])
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    listener = socket.create_server(("", 0), family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    return listener, Address(hosts=own_addresses(), port=listener.getsockname()[1])
