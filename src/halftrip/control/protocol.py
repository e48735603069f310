"""Messages between the processes of one run: MessagePack, framed by a length, over sockets.

Every connection begins with a greeting (`greeting`), and all that follows between hosts is sealed
(`sealing`): the length and the message each, so that no length is believed that the other end has
not sent. Nothing that arrives is ever executed or unpickled.
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from functools import cache
from typing import Any

import msgspec

from halftrip.control.sealing import CLEAR, Broken, Seal
from halftrip.errors import HalftripError, UsageError, shortage, system_reason
from halftrip.texts import printable_lines

# Goes before every message: how many bytes it has.
LENGTH = struct.Struct("!I")
# Longer than any message of a run: a peer that announces more is not halftrip.
_LONGEST = 1 << 30
# How much is received at once, at most: memory for it is made before it is there.
_MOST_AT_ONCE = 1 << 20
# How long another host may leave packets unanswered.
_SILENCE_SECONDS = 4


class Address(msgspec.Struct, frozen=True, tag=True):
    """Where a listener is: the name of an abstract Unix socket, or TCP hosts to try and a port.
    `local`: it is for this host alone."""

    unix: str | None = None
    hosts: tuple[str, ...] = ()
    port: int = 0
    local: bool = False

    @property
    def is_sealed(self) -> bool:
        """Whether what is said there is sealed: on one host, the kernel keeps it from others."""
        return self.unix is None and not self.local


class Assignment(msgspec.Struct, frozen=True, tag=True):
    """The task of a launched rank: a Plan in JSON, where rank 0 listens for the group, if that uses
    sockets, whether progress is shown, the number of the launch, the configurations that are left
    out, in JSON, where each rank has said that it listens, how long the launch may take, s: its
    share of what is left, and all of it, whether each slice waits for the launcher, and what
    earlier launches have found, in JSON."""

    plan: bytes
    group: Address | None
    progress: bool
    launch: int = 0
    done: bytes = b"[]"
    groups: tuple[Address | None, ...] = ()
    allowed: tuple[float, float] | None = None
    paced: bool = False
    earlier: bytes = b"[]"


class RecordLines(msgspec.Struct, frozen=True, tag=True):
    """Whole lines for the run file; `last` if they are the end record."""

    lines: bytes
    last: bool = False


class Progress(msgspec.Struct, frozen=True, tag=True):
    """The progress of a launch: slice `done` of `total`, of `what`, is being measured."""

    done: int
    total: int
    what: str


class BeforeSlice(msgspec.Struct, frozen=True, tag=True):
    """A slice of this setting, a Configuration in JSON, begins when this has been handled."""

    setting: bytes


class Ack(msgspec.Struct, frozen=True, tag=True):
    """The last message in the other direction has been handled."""


class Versioned(msgspec.Struct, frozen=True):
    """What is in a message of every version of halftrip's: which it is."""

    version: str


class Abort(msgspec.Struct, frozen=True, tag=True):
    """The run is over, and why. `usage`: because of a mistake of the user's."""

    reason: str
    usage: bool = False

    @classmethod
    def from_error(cls, error: BaseException, rank: int) -> Abort:
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
        return (UsageError if self.usage else HalftripError)(printable_lines(self.reason))


class Bye(msgspec.Struct, frozen=True, tag=True):
    """This end closes the connection because its work is done."""


class Ping(msgspec.Struct, frozen=True, tag=True):
    """Asks the other end for a Pong."""


class Pong(msgspec.Struct, frozen=True, tag=True):
    """This end is alive."""


Message = Ping | Pong | Assignment | RecordLines | Progress | BeforeSlice | Ack | Abort | Bye
_making = threading.Lock()
# What decoders raise: errors of their own and of texts are ValueErrors; where values are nested too
# deep, it is the interpreter's.
_MALFORMED = (ValueError, RecursionError)


class Closed(Exception):
    """The other end of a channel has closed it, or has sent bytes that are not a message."""

    def of(self, name: str) -> str:
        """What this says of the other end, by its name in messages."""
        return f"{name} died"


class Malformed(Closed):
    """What the other end has sent is no message, or none that it may send."""

    def of(self, name: str) -> str:
        return f"{name}: {self}"


class Tampered(Closed):
    """What came was not sent by the other end, or not as its next message."""

    def __init__(self) -> None:
        super().__init__("what came from there was changed, dropped or repeated on the way")

    def of(self, name: str) -> str:
        return f"{name}: {self}"


def _array_to_bytes(array: Any) -> bytes:
    """msgspec's hook for writing an array of whole numbers: a list would be read one by one."""
    return bytes(array.tobytes())


def _array_from_bytes(_: type, payload: Any) -> Any:
    """Its hook for reading one. Raises TypeError for anything else."""
    import numpy as np

    if not isinstance(payload, bytes):
        raise TypeError("expected an array")
    return np.frombuffer(payload, dtype=np.int64)


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    # msgspec 0.22 crashes where two threads are the first to use a type with a Literal in it.
    with _making:
        return msgspec.msgpack.Decoder(kind, dec_hook=_array_from_bytes)


def encoded(value: Any) -> bytes:
    """A value as MessagePack, for `decoded`."""
    return msgspec.msgpack.encode(value, enc_hook=_array_to_bytes)


def decoded(payload: bytes, kind: Any) -> Any:
    """The value of type `kind` that these bytes of MessagePack are. Raises Closed if they are
    none."""
    try:
        return _decoder(kind).decode(payload)
    except _MALFORMED as error:
        raise Malformed(f"malformed message: {error}") from None


def framed(payload: bytes, seal: Seal = CLEAR) -> bytes:
    """A message as it is sent."""
    return seal.seal(LENGTH.pack(len(payload))) + seal.seal(payload)


class Channel:
    """A connected stream socket that carries whole messages, each through its `seal`. One thread
    sends at a time, and one receives."""

    def __init__(self, connection: socket.socket, seal: Seal = CLEAR) -> None:
        self.socket = connection
        self.seal = seal
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _notice_dead_hosts(connection)

    def fileno(self) -> int:
        return self.socket.fileno()

    def detach(self) -> int:
        """Gives the descriptor to the caller, for messages of another kind. The kernel no longer
        sends anything by itself to notice that the other host has vanished, nor gives the
        connection up soon."""
        if self.socket.family != socket.AF_UNIX:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 0)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 0)
        return self.socket.detach()

    def send(self, message: Message) -> None:
        self.send_bytes(encoded(message))

    def receive(self, longest: int = _LONGEST, deadline: float | None = None) -> Message:
        """The next message, of no more than `longest` bytes. Raises Closed if there is
        none, or not before `deadline` (by time.monotonic)."""
        message: Message = decoded(self.receive_bytes(longest, deadline), Message)
        return message

    def send_bytes(self, payload: bytes) -> None:
        try:
            self.socket.sendall(framed(payload, self.seal))
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
        """As `receive`. The socket's timeout is for all of a message: who sends it byte by byte has
        no more time."""
        patience = self.socket.gettimeout()
        if deadline is None and patience is not None:
            deadline = time.monotonic() + patience
        try:
            (length,) = LENGTH.unpack(self._opened(LENGTH.size, deadline))
            if length > longest:
                raise Malformed("a message of impossible length")
            return self._opened(length, deadline)
        finally:
            # Closed meanwhile, it has none.
            if deadline is not None and self.socket.fileno() >= 0:
                self.socket.settimeout(patience)

    def _opened(self, size: int, deadline: float | None) -> bytes:
        try:
            return self.seal.open(self._receive_exactly(size + self.seal.tag, deadline))
        except Broken:
            raise Tampered from None

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
