"""Messages between the processes of one run: MessagePack, framed by a length, over sockets.

Every connection begins with a Hello that has the job's random token; a connection without it is
closed. Nothing that arrives is ever executed or unpickled.
"""

from __future__ import annotations

import errno
import hmac
import os
import secrets
import socket
import struct
import time
from collections.abc import Iterator
from typing import Literal

import msgspec

from halftrip.control.hosts import own_addresses
from halftrip.errors import HalftripError, UsageError, shortage, system_reason

_LENGTH = struct.Struct("!I")
# Longer than any message of a run: a peer that announces more is not halftrip.
_LONGEST = 1 << 30
# The limits of a Hello, in time and in bytes: before it the peer may be a stranger, and the process
# that accepts the connection has other work.
_GREETING_SECONDS = 1.0
_LONGEST_GREETING = 4096
# How much is received at once, at most: memory for it is made before it is there.
_MOST_AT_ONCE = 1 << 20
# How long another host may leave packets unanswered.
_SILENCE_SECONDS = 4


class Hello(msgspec.Struct, frozen=True, tag=True):
    """Who connects, and for what: ``control``, ``events``, ``group``, ``life`` or ``transport``.
    `rank` is -1 if it is unknown; `group` is where this rank listens for others of its group, if
    that uses sockets, and `thread` the number of the thread that talks."""

    token: str
    purpose: str
    rank: int
    pid: int
    group: Address | None = None
    thread: int = 0

    @property
    def name(self) -> str:
        """The rank's name in messages."""
        return f"rank {self.rank} (process {self.pid})"


def introduce(
    token: str, purpose: str, rank: int, group: Address | None = None, thread: int = 0
) -> Hello:
    """The Hello of this process."""
    return Hello(
        token=token, purpose=purpose, rank=rank, pid=os.getpid(), group=group, thread=thread
    )


class Address(msgspec.Struct, frozen=True, tag=True):
    """Where a listener is: the name of an abstract Unix socket, or TCP hosts to try and a port."""

    unix: str | None = None
    hosts: tuple[str, ...] = ()
    port: int = 0


class Assignment(msgspec.Struct, frozen=True, tag=True):
    """The task of a launched rank: a Plan in JSON, where rank 0 listens for the group, if that uses
    sockets, whether progress is shown, the number of the launch, the configurations that are left
    out, in JSON, and how long the launch may take, s: its share of what is left, and all of it."""

    plan: bytes
    group: Address | None
    progress: bool
    launch: int = 0
    done: bytes = b"[]"
    allowed: tuple[float, float] | None = None


class RecordLines(msgspec.Struct, frozen=True, tag=True):
    """Whole lines for the run file; `last` if they are the end record."""

    lines: bytes
    last: bool = False


class Progress(msgspec.Struct, frozen=True, tag=True):
    """The progress of a launch: slice `done` of `total`, of `what`, is being measured."""

    done: int
    total: int
    what: str


class Ack(msgspec.Struct, frozen=True, tag=True):
    """The last message in the other direction has been handled."""


class Abort(msgspec.Struct, frozen=True, tag=True):
    """The run is over, and why. `usage`: because of a mistake of the user's."""

    reason: str
    usage: bool = False

    @classmethod
    def of(cls, error: BaseException, rank: int) -> Abort:
        """The message of a rank whose work ended with this error. Its text names the rank and the
        error's type if the error is a defect of the program."""
        if isinstance(error, HalftripError):
            reason = str(error) or type(error).__name__
            return cls(reason, usage=isinstance(error, UsageError))
        if (short := shortage(error)) is not None:
            return cls(f"rank {rank}: {short}")
        return cls(f"rank {rank} failed: {type(error).__name__}: {error}")

    def error(self) -> HalftripError:
        """The error to raise at the receiver: a UsageError or a HalftripError."""
        return (UsageError if self.usage else HalftripError)(self.reason)


class Bye(msgspec.Struct, frozen=True, tag=True):
    """This end closes the connection because its work is done."""


Message = Hello | Assignment | RecordLines | Progress | Ack | Abort | Bye
_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(Message)


class Closed(Exception):
    """The other end of a channel has closed it, or has sent bytes that are not a message."""


class Channel:
    """A connected stream socket that carries whole messages."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _notice_dead_hosts(connection)

    def fileno(self) -> int:
        return self.socket.fileno()

    def detach(self) -> int:
        """Gives the descriptor to the caller, for messages of another kind. The kernel no longer
        sends anything by itself to notice that the other host has vanished."""
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
        return self.socket.detach()

    def send(self, message: Message) -> None:
        self.send_bytes(_encoder.encode(message))

    def receive(self, longest: int = _LONGEST, deadline: float | None = None) -> Message:
        """The next message, of no more than `longest` bytes. Raises Closed if there is
        none, or not before `deadline` (by time.monotonic)."""
        try:
            return _decoder.decode(self.receive_bytes(longest, deadline))
        except msgspec.DecodeError as error:
            raise Closed(f"malformed message: {error}") from None

    def send_bytes(self, payload: bytes) -> None:
        try:
            self.socket.sendall(_LENGTH.pack(len(payload)) + payload)
        except OSError as error:
            raise Closed(system_reason(error)) from None

    def poll(self, seconds: float) -> None:
        """Returns when there is something to receive, or after this time, s, without sleeping."""
        deadline = time.monotonic() + seconds
        peek = socket.MSG_PEEK | socket.MSG_DONTWAIT
        while time.monotonic() < deadline:
            try:
                self.socket.recv(1, peek)
            except (BlockingIOError, InterruptedError):
                continue
            except OSError:
                # The next receive says why.
                return
            return

    def receive_bytes(self, longest: int = _LONGEST, deadline: float | None = None) -> bytes:
        (length,) = _LENGTH.unpack(self._receive_exactly(_LENGTH.size, deadline))
        if length > longest:
            raise Closed("a message of impossible length")
        return self._receive_exactly(length, deadline)

    def _receive_exactly(self, size: int, deadline: float | None) -> bytes:
        parts = []
        while size:
            try:
                if deadline is not None:
                    self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
                parts.append(self.socket.recv(min(size, _MOST_AT_ONCE)))
            except OSError as error:
                raise Closed(system_reason(error)) from None
            if not parts[-1]:
                raise Closed("the connection was closed")
            size -= len(parts[-1])
        return b"".join(parts)

    def close(self) -> None:
        self.socket.close()


# From where a listener can be reached: this host, by an abstract Unix socket or by loopback, or any
# host.
Reach = Literal["unix", "loopback", "network"]


class Listener:
    """Accepts the connections of one job, whose random text is `token`."""

    def __init__(self, token: str, reach: Reach = "unix") -> None:
        self.token = token
        if reach == "unix":
            # Abstract: it leaves no name behind in the file system.
            name = f"halftrip-{secrets.token_hex(8)}"
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.bind(f"\0{name}")
            self._socket.listen(128)
            self.address = Address(unix=name)
        elif reach == "loopback":
            self._socket = socket.create_server(("127.0.0.1", 0))
            self.address = Address(hosts=("127.0.0.1",), port=self._socket.getsockname()[1])
        else:
            both = socket.has_dualstack_ipv6()
            family = socket.AF_INET6 if both else socket.AF_INET
            self._socket = socket.create_server(("", 0), family=family, dualstack_ipv6=both)
            self.address = Address(hosts=own_addresses(), port=self._socket.getsockname()[1])

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self, timeout: float | None = None) -> tuple[Channel, Hello] | None:
        """The next connection, or None if the peer did not know the token.

        Raises TimeoutError after `timeout` seconds (None: waits for ever).
        """
        self._socket.settimeout(timeout)
        connection, _ = self._socket.accept()
        channel = Channel(connection)
        try:
            hello = channel.receive(_LONGEST_GREETING, time.monotonic() + _GREETING_SECONDS)
        except Closed:
            hello = None
        if not isinstance(hello, Hello) or not self._knows(hello):
            channel.close()
            return None
        connection.settimeout(None)
        return channel, hello

    def connections(self, count: int, seconds: float) -> Iterator[tuple[Channel, Hello]]:
        """The next `count` connections from peers that know the token, each as soon as it is there.
        Raises TimeoutError if all of them together take longer than `seconds`."""
        deadline = time.monotonic() + seconds
        while count > 0:
            accepted = self.accept(max(deadline - time.monotonic(), 0.01))
            if accepted is not None:
                count -= 1
                yield accepted

    def _knows(self, hello: Hello) -> bool:
        """Whether it has the token. Compared as bytes: compare_digest refuses text beyond ASCII."""
        return hmac.compare_digest(hello.token.encode(), self.token.encode())

    def close(self) -> None:
        self._socket.close()


def connect(address: Address, hello: Hello, timeout: float = 10.0) -> Channel:
    """Connects and sends `hello`. Raises OSError, with every address that was tried, if nothing
    answers; Closed if the peer closes the connection at once."""
    channel = Channel(open_connection(address, timeout))
    try:
        channel.send(hello)
    except Closed:
        channel.close()
        raise
    return channel


def open_connection(address: Address, timeout: float = 10.0) -> socket.socket:
    """A connection to the first host of `address` that answers. Raises OSError, with every host
    that was tried, if none does."""
    if address.unix is not None:
        return _connect_unix(address.unix)
    return _connect_any(address, timeout)


def _connect_unix(name: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"\0{name}")
    except OSError:
        connection.close()
        raise
    return connection


def _connect_any(address: Address, timeout: float) -> socket.socket:
    reasons = []
    for host in address.hosts:
        try:
            connection = socket.create_connection(
                (host, address.port), timeout / len(address.hosts)
            )
        except OSError as error:
            reasons.append(f"{host}: {system_reason(error)}")
        else:
            connection.settimeout(None)
            return connection
    raise OSError(errno.EHOSTUNREACH, f"no way to port {address.port}: {'; '.join(reasons)}")


def _notice_dead_hosts(connection: socket.socket) -> None:
    """Makes the kernel notice within 5 s that the other host has vanished, whether this end waits
    for data or for an acknowledgement."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, 2),
        (socket.TCP_KEEPINTVL, 1),
        (socket.TCP_KEEPCNT, 2),
        (socket.TCP_USER_TIMEOUT, _SILENCE_SECONDS * 1000),
    ):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
