"""How two processes prove to each other that they belong to one job, where a connection begins.

    caller   to listener    claim: a nonce, and a Claim: who calls, for what, and where
    listener to caller      challenge: a nonce, and a proof that the listener knows the job's token
    caller   to listener    answer: a proof that the caller knows it
    listener to caller      welcome: it has been let in

Nonces and proofs are 32 bytes as they are, a Claim is MessagePack, and before each message goes its
length, as everywhere. A proof is an HMAC-SHA-256, keyed by the token, of which end proves, the
listener's nonce, and the claim as it was sent. So the token itself is never sent; what was said in
one connection proves nothing in another; and a proof is good for one purpose, one caller and one
listener, at the address that the caller has called: who passes a greeting on to another listener
that knows the same token gets nowhere. Who fails is told nothing but that the connection is closed.

Between hosts both nonces are public keys, and from the welcome on, all is sealed (`sealing`).
Whether that is so is no matter of negotiation: each end knows it, and a claim that says otherwise
is refused.

Nothing here opens a socket: `IncomingGreeting` is the listener's end, for bytes as they arrive, and
`greet` the caller's.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Collection, Container
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import msgspec

from halftrip.control.network import plain_address
from halftrip.control.protocol import LENGTH, Address, Channel, Closed, decoded, encoded, framed
from halftrip.control.sealing import CLEAR, Broken, KeyShare, Seal

# The longest message of a greeting, in bytes: the other end may be a stranger. A claim has at most
# an Address, with all addresses of a host.
LONGEST_GREETING = 16384
_NONCE_BYTES = 32
# With the version of the greeting: a proof of another one proves nothing here.
_LISTENER, _CALLER, _PASSWORD = b"listener 2", b"caller 2", b"password 2"
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


class Claim(msgspec.Struct, frozen=True):
    """What a caller claims: its `hello`, `at` which `door` it calls, and whether all that follows
    the greeting is to be `sealed`."""

    hello: Hello
    at: str
    sealed: bool


def door(address: Any) -> str:
    """The address of a socket, as Python has it, in the words of both ends: an IP address without
    its zone and a port, or the name of an abstract Unix socket."""
    if isinstance(address, tuple):
        return f"{plain_address(address[0])} {address[1]}"
    return address.decode() if isinstance(address, bytes) else str(address)


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


class _Nonce:
    """One end's nonce, which is a public key where what follows is `sealed`."""

    def __init__(self, sealed: bool) -> None:
        self._share = KeyShare() if sealed else None
        self.text = new_nonce() if self._share is None else self._share.public

    def seal(self, theirs: bytes, token: str, said: bytes, is_caller: bool) -> Seal:
        """What a channel has from then on. Raises Stranger."""
        if self._share is None:
            return CLEAR
        try:
            return self._share.sealing(theirs, token, said, is_caller)
        except Broken:
            raise Stranger(_STRANGER) from None


class IncomingGreeting:
    """The listener's side of one greeting, at one of the `doors` that this listener has. `missing`
    is how many bytes `feed` waits for. `rank` is the listener's own (-1: the launcher), and
    `awaited` has the guests that it may let in, which may change meanwhile, but no rank that is
    `absent`: one that cannot be at the other end. What follows is to be `sealed`, or not. `hello`
    is the caller's, and means nothing until it has `proven` it; then the channel has this `seal`.
    """

    def __init__(
        self,
        token: str,
        rank: int,
        awaited: AbstractSet[Guest],
        doors: Collection[str] = (),
        sealed: bool = False,
        absent: Container[int] = (),
    ) -> None:
        self.missing = LENGTH.size
        self.proven = False
        self._token = token
        self._rank = rank
        self._awaited = awaited
        self._received = b""
        self._in_message = False
        self._claim: bytes | None = None
        self._doors = doors
        self._sealed = sealed
        self._absent = absent
        self.seal: Seal = CLEAR

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
            claim: Claim = decoded(payload[_NONCE_BYTES:], Claim)
            self.hello = claim.hello
            if claim.at not in self._doors or claim.sealed is not self._sealed:
                raise Closed("this is not where the caller wants to be")
            self._check_awaited()
            self._claim = payload
            # A key costs something: only for who has said something sensible.
            self._nonce = _Nonce(self._sealed)
            nonce = self._nonce.text
            return framed(nonce + _proof(self._token, _LISTENER, nonce, payload))
        nonce = self._nonce.text
        _check_proof(payload, self._token, _CALLER, nonce, self._claim)
        # Once more: another connection may have proven the same since.
        self._check_awaited()
        theirs = self._claim[:_NONCE_BYTES]
        self.seal = self._nonce.seal(theirs, self._token, nonce + self._claim, is_caller=False)
        self.missing, self.proven = 0, True
        return framed(_WELCOME, self.seal)

    @property
    def has_claimed(self) -> bool:
        """Whether it has said who it is, with or without proof."""
        return self._claim is not None

    def _check_awaited(self) -> None:
        is_awaited = self.hello.guest in self._awaited and self.hello.rank not in self._absent
        if self.hello.to != self._rank or not is_awaited:
            raise Closed("nobody waits for this caller")


def greet(
    channel: Channel, token: str, hello: Hello, deadline: float | None, at: str, sealed: bool
) -> None:
    """The caller's side, at the door `at` that it has called; what follows is `sealed`, or not.
    Raises Stranger where the listener does not know the token, Closed where it closes the
    connection or has not answered at `deadline` (by time.monotonic; None: it may take any time)."""
    own = _Nonce(sealed)
    claim = own.text + encoded(Claim(hello, at, sealed))
    channel.send_bytes(claim)
    challenge = channel.receive_bytes(LONGEST_GREETING, deadline)
    # One that is too short has no nonce of the right length, and no proof.
    nonce, proof = challenge[:_NONCE_BYTES], challenge[_NONCE_BYTES:]
    _check_proof(proof, token, _LISTENER, nonce, claim)
    channel.send_bytes(_proof(token, _CALLER, nonce, claim))
    channel.seal = own.seal(nonce, token, nonce + claim, is_caller=True)
    # A listener that many call may drop one of them until then.
    if channel.receive_bytes(LONGEST_GREETING, deadline) != _WELCOME:
        raise Stranger(_STRANGER)
    channel.socket.settimeout(None)
