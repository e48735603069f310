"""How a process of a job connects to where another one listens."""

from __future__ import annotations

import errno
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import TypeAlias

from halftrip.control.greeting import Hello, Stranger, door, greet
from halftrip.control.network import ANY, Network, place_of, with_zones
from halftrip.control.protocol import Address, Channel, Closed
from halftrip.errors import system_reason
from halftrip.texts import printable

# Who is dropped calls again, so often, after such a pause, and not after this time, s.
_MOST_TRIES = 5
_PAUSE_SECONDS = 0.01
_AGAIN_SECONDS = 1.0
# 1280 bytes without the headers of IPv6 and TCP.
_SHORT_SEGMENT = 1280 - 40 - 20
# Process, user and group of the other end of a Unix socket (unix(7), SO_PEERCRED).
_CREDENTIALS = struct.Struct("3i")

# Sets a socket up before it listens or connects. Raises OSError or Unavailable.
Prepare: TypeAlias = Callable[[socket.socket], None]


def in_short_segments(end: socket.socket) -> None:
    """Sets a TCP socket up for what passes everywhere: packets of the least MTU that IPv6 allows
    (RFC 8200, 5), in both directions. So what the ranks say to each other arrives also where a hop
    drops larger packets in silence, and they can tell of it."""
    if end.family != socket.AF_UNIX:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SHORT_SEGMENT)


def as_it_is(_: socket.socket) -> None:
    """Leaves a socket as the kernel makes it."""


def connect(
    address: Address,
    token: str,
    hello: Hello,
    seconds: float | None = None,
    timeout: float = 10.0,
    network: Network = ANY,
    prepare: Prepare = in_short_segments,
) -> Channel:
    """Connects to the first host of `address` that knows the token, and says `hello` there. A host
    may take `seconds` to answer a greeting (None: any time, since it may be busy), and all together
    `timeout` to accept a connection. The `network` says at which address of this host it begins,
    and sockets connect as `prepare` sets them up.

    Raises OSError, with every address that was tried, if nothing can be connected to; Closed if
    whoever listens does not know the token, or does not wait for this guest.
    """
    began = time.monotonic()
    for left in reversed(range(_MOST_TRIES)):
        refusal = Closed("it has no address")
        for connection in _connections(address, timeout, network, prepare):
            channel = Channel(connection)
            try:
                deadline = None if seconds is None else time.monotonic() + seconds
                at = door(connection.getpeername())
                greet(channel, token, hello, deadline, at, address.is_sealed)
                return channel
            except (Closed, OSError) as error:
                channel.close()
                refusal = error if isinstance(error, Closed) else Closed(system_reason(error))
            except BaseException:
                channel.close()
                raise
        # A listener that strangers call in their thousands drops some, maybe this one.
        is_late = time.monotonic() - began > _AGAIN_SECONDS
        if isinstance(refusal, Stranger) or is_late or not left:
            raise refusal
        time.sleep(_PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def open_connection(
    address: Address, timeout: float = 10.0, network: Network = ANY
) -> socket.socket:
    """A connection to the first host of `address` that answers. Raises OSError, with every host
    that was tried, if none does."""
    return next(_connections(address, timeout, network, as_it_is))


def _connections(
    address: Address, timeout: float, network: Network, prepare: Prepare
) -> Iterator[socket.socket]:
    """A connection to each host that answers, which the caller closes. Raises OSError at the end if
    none did."""
    if address.unix is not None:
        yield _connect_unix(address.unix, prepare)
        return
    reasons = []
    hosts = [each for host in address.hosts for each in with_zones(host)]
    for host in hosts:
        if not network.may_call(host):
            reasons.append(f"{printable(host, 60)}: not the host that this run is with")
            continue
        own = network.bound_to(host)
        seconds = timeout / len(hosts)
        try:
            connection = _connect_tcp(host, address.port, own, seconds, prepare)
        except OSError as error:
            reasons.append(f"{host}: {system_reason(error)}")
        else:
            connection.settimeout(None)
            yield connection
    if len(reasons) == len(hosts):
        reason = f"no way to port {address.port}: {'; '.join(reasons)}"
        raise OSError(errno.EHOSTUNREACH, reason)


def _connect_tcp(
    host: str, port: int, own: str | None, seconds: float, prepare: Prepare
) -> socket.socket:
    """As socket.create_connection from the address `own`, with a socket that was set up before."""
    failure = OSError(errno.EADDRNOTAVAIL, "it has no address")
    for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        connection = socket.socket(family, kind, protocol)
        try:
            prepare(connection)
            if own is not None:
                connection.bind(place_of(own, 0))
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
        if is_another_user(connection):
            raise PermissionError(errno.EPERM, "another user listens there")
    except BaseException:
        connection.close()
        raise
    return connection


def is_another_user(connection: socket.socket) -> bool:
    """Whether the kernel knows that the other end is a process of another user."""
    if connection.family != socket.AF_UNIX:
        return False
    size = _CREDENTIALS.size
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return bool(user != os.geteuid())


def is_from_here(connection: socket.socket) -> bool:
    """Whether the other end is on this host: from there, who calls one of its addresses has the
    same."""
    if connection.family == socket.AF_UNIX:
        return True
    try:
        return bool(connection.getpeername()[0] == connection.getsockname()[0])
    except OSError:
        # It has been closed at the other end.
        return False
