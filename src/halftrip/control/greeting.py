"""How two processes prove to each other that they belong to one job, where a connection begins.

    caller   to listener    claim: a nonce, and a Hello: who calls and for what
    listener to caller      challenge: a nonce, and a proof that the listener knows the job's token
    caller   to listener    answer: a proof that the caller knows it
    listener to caller      welcome: it has been let in

Nonces and proofs are 32 bytes as they are, a Hello is MessagePack, and before each message goes its
length, as everywhere. A proof is an HMAC-SHA-256, keyed by the token, of which end proves, the
listener's nonce, and the claim as it was sent. So the token itself is never sent; what was said in
one connection proves nothing in another; and a proof is good for one purpose, one caller and one
listener. Who fails is told nothing but that the connection is closed.

Nothing here opens a socket: `IncomingGreeting` is the listener's end, for bytes as they arrive, and
`greet` the caller's.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import msgspec

from halftrip.control.protocol import LENGTH, Address, Channel, Closed, decoded, encoded

# The longest message of a greeting, in bytes: the other end may be a stranger. A claim has at most
# an Address, with all addresses of a host.
LONGEST_GREETING = 16384
_NONCE_BYTES = 32
_LISTENER, _CALLER, _PASSWORD = b"listener", b"caller", b"password"
_WELCOME = b"welcome"
_STRANGER = "the other end does not know the job's token"


class Stranger(Closed):
    """The other end does not know the token."""


class Guest(NamedTuple):
    """Who may call: thread number `thread` of this rank (-1: a rank that does not know its number),
    for ``control``, ``events``, ``group``, ``life`` or ``transport``. `connection` is the number of
    one of several connections."""

    purpose: str
    rank: int
    thread: int = 0
    connection: int = 0


class Hello(msgspec.Struct, frozen=True):
    """What a caller says of itself, and `to` which rank it talks (-1: the launcher). `group` is
    where this rank listens for others of its group, if that uses sockets."""

    purpose: str
    rank: int
    pid: int
    to: int = -1
    group: Address | None = None
    thread: int = 0
    connection: int = 0

    @property
    def guest(self) -> Guest:
        return Guest(self.purpose, self.rank, self.thread, self.connection)

    @property
    def name(self) -> str:
        """The rank's name in messages."""
        return f"rank {self.rank} (process {self.pid})"


def introduce(
    purpose: str,
    rank: int,
    to: int = -1,
    group: Address | None = None,
    thread: int = 0,
    connection: int = 0,
) -> Hello:
    """The Hello of this process."""
    return Hello(
        purpose=purpose,
        rank=rank,
        pid=os.getpid(),
        to=to,
        group=group,
        thread=thread,
        connection=connection,
    )


def new_nonce() -> bytes:
    return secrets.token_bytes(_NONCE_BYTES)


def password(token: str, guest: Guest, to: int, what: str, nonce: bytes) -> bytes:
    """A text with which a guest proves to rank `to` that it knows the token, where a library has a
    greeting of its own, with a password; `what` it connects to, and the listener's nonce, make it
    good for one connection."""
    return _proof(token, _PASSWORD, nonce, encoded((guest, to, what))).hex().encode()


def _proof(token: str, end: bytes, nonce: bytes, claim: bytes) -> bytes:
    """What only those can compute who know the token. The first part tells by its first letter how
    long it is, and all nonces are of one length, so no two sets of parts make the same text."""
    return hmac.digest(token.encode(), end + nonce + claim, "sha256")


def _check_proof(proof: bytes, token: str, end: bytes, nonce: bytes, claim: bytes) -> None:
    if not hmac.compare_digest(proof, _proof(token, end, nonce, claim)):
        raise Stranger(_STRANGER)


class IncomingGreeting:
    """The listener's side of one greeting. `missing` is how many bytes `feed` waits for. `rank` is
    the listener's own (-1: the launcher), and `awaited` has the guests that it may let in, which
    may change meanwhile. `hello` is the caller's, and means nothing until it has `proven` it."""

    def __init__(self, token: str, rank: int, awaited: AbstractSet[Guest]) -> None:
        self.missing = LENGTH.size
        self.proven = False
        self._token = token
        self._rank = rank
        self._awaited = awaited
        self._received = b""
        self._in_message = False
        self._claim: bytes | None = None
        self._nonce = new_nonce()

    def feed(self, received: bytes) -> bytes:
        """Takes at most `missing` bytes. Returns the bytes that are to be sent, mostly none. Raises
        Closed where the caller does not belong here."""
        self._received += received
        self.missing -= len(received)
        if self.missing:
            return b""
        whole, self._received = self._received, b""
        if self._in_message:
            self._in_message, self.missing = False, LENGTH.size
            return self._message(whole)
        (length,) = LENGTH.unpack(whole)
        if not 0 < length <= LONGEST_GREETING:
            raise Closed("a greeting of impossible length")
        self._in_message, self.missing = True, length
        return b""

    def _message(self, payload: bytes) -> bytes:
        if self._claim is None:
            self.hello = decoded(payload[_NONCE_BYTES:], Hello)
            self._check_awaited()
            self._claim = payload
            challenge = self._nonce + _proof(self._token, _LISTENER, self._nonce, payload)
            return LENGTH.pack(len(challenge)) + challenge
        _check_proof(payload, self._token, _CALLER, self._nonce, self._claim)
        # Once more: another connection may have proven the same since.
        self._check_awaited()
        self.missing, self.proven = 0, True
        return LENGTH.pack(len(_WELCOME)) + _WELCOME

    @property
    def has_claimed(self) -> bool:
        """Whether it has said who it is, with or without proof."""
        return self._claim is not None

    def _check_awaited(self) -> None:
        if self.hello.to != self._rank or self.hello.guest not in self._awaited:
            raise Closed("nobody waits for this caller")


def greet(channel: Channel, token: str, hello: Hello, deadline: float | None) -> None:
    """The caller's side. Raises Stranger where the listener does not know the token, Closed where
    it closes the connection or has not answered at `deadline` (by time.monotonic; None: it may take
    any time)."""
    claim = new_nonce() + encoded(hello)
    channel.send_bytes(claim)
    challenge = channel.receive_bytes(LONGEST_GREETING, deadline)
    # One that is too short has no nonce of the right length, and no proof.
    nonce, proof = challenge[:_NONCE_BYTES], challenge[_NONCE_BYTES:]
    _check_proof(proof, token, _LISTENER, nonce, claim)
    channel.send_bytes(_proof(token, _CALLER, nonce, claim))
    # A listener that many call may drop one of them until then.
    if channel.receive_bytes(LONGEST_GREETING, deadline) != _WELCOME:
        raise Stranger(_STRANGER)
    channel.socket.settimeout(None)
