"""How messages between hosts are sealed once a greeting has been made, so that who is on the way
can neither read nor change, drop, double, reorder or turn them back without being noticed.

Both ends derive a key for each direction (HKDF-SHA-256, RFC 5869) from the token, the secret that
their X25519 keys share (RFC 7748), and all that was said in the greeting. What is sealed is
AES-256-GCM under its direction's key, and its nonce is how many have gone that way. The X25519 keys
are made for one connection: who learns the token later cannot read what was recorded.

`cryptography` is imported where the first connection to another host is made, and nowhere else.
Each process of a run does that while others wait for it, so of the library only the compiled part
is imported, which takes a quarter of the time of the Python modules around it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import x25519
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_KEY_BYTES = 32
_COUNT_BYTES = 8
# A nonce of AES-GCM has 12 bytes.
_PADDING = bytes(4)
_INFO = b"halftrip sealing 1"


class Primitives(NamedTuple):
    """What of the library is used: a new X25519 key, a public one of 32 bytes, and AES-GCM."""

    new_key: Callable[[], x25519.X25519PrivateKey]
    public_key: Callable[[bytes], x25519.X25519PublicKey]
    aes_gcm: Callable[[bytes], AESGCM]


def documented() -> Primitives:
    """By the names that the library promises to keep."""
    from cryptography.hazmat.primitives.asymmetric import x25519
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    private, public = x25519.X25519PrivateKey, x25519.X25519PublicKey
    return Primitives(private.generate, public.from_public_bytes, AESGCM)


@cache
def primitives() -> Primitives:
    """The same without the modules that give these their names, where they are as in version 43,
    the oldest that is taken."""
    try:
        from cryptography.hazmat.bindings._rust import openssl

        keys = openssl.x25519
        return Primitives(keys.generate_key, keys.from_public_bytes, openssl.aead.AESGCM)
    except (ImportError, AttributeError):
        return documented()


def prepare() -> None:
    """Imports the library, and makes a first key: some milliseconds, for which the other end would
    wait otherwise."""
    primitives().new_key()


class Broken(Exception):
    """What was to be opened was not sealed by the other end, or not as the next."""


class Seal(Protocol):
    """What each message of a channel goes through. A sealed text is `tag` bytes longer."""

    tag: int

    def seal(self, text: bytes) -> bytes: ...

    def open(self, sealed: bytes) -> bytes:
        """Raises Broken."""


class Clear:
    """Leaves everything as it is: for sockets of one host, which the kernel keeps from others."""

    tag = 0

    def seal(self, text: bytes) -> bytes:
        return text

    def open(self, sealed: bytes) -> bytes:
        return sealed


CLEAR = Clear()


class Sealing:
    """Seals what this end sends under one key, and opens what comes under another; so many have
    been `sent` and `received`."""

    tag = 16

    def __init__(self, outgoing: bytes, incoming: bytes, sent: int = 0, received: int = 0) -> None:
        self._keys = outgoing, incoming
        self._outgoing, self._incoming = map(primitives().aes_gcm, self._keys)
        self._sent, self._received = sent, received

    def seal(self, text: bytes) -> bytes:
        self._sent += 1
        return self._outgoing.encrypt(_nonce(self._sent), text, None)

    def open(self, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        # Also if it fails: nothing is tried twice.
        self._received += 1
        try:
            return self._incoming.decrypt(_nonce(self._received), sealed, None)
        except InvalidTag:
            raise Broken from None

    def written(self) -> str:
        """All of it as a text, for the process that the connection is handed to."""
        counts = (each.to_bytes(_COUNT_BYTES, "big") for each in (self._sent, self._received))
        return b"".join((*self._keys, *counts)).hex()

    @staticmethod
    def from_text(text: str) -> Sealing:
        parts = bytes.fromhex(text)
        keys, counts = parts[: 2 * _KEY_BYTES], parts[2 * _KEY_BYTES :]
        sent, received = counts[:_COUNT_BYTES], counts[_COUNT_BYTES:]
        return Sealing(
            keys[:_KEY_BYTES],
            keys[_KEY_BYTES:],
            int.from_bytes(sent, "big"),
            int.from_bytes(received, "big"),
        )


def _nonce(count: int) -> bytes:
    return _PADDING + count.to_bytes(_COUNT_BYTES, "big")


class KeyShare:
    """A new X25519 key of this end; `public` is what the other one gets, 32 bytes."""

    def __init__(self) -> None:
        self._private = primitives().new_key()
        self.public: bytes = self._private.public_key().public_bytes_raw()

    def sealing(self, theirs: bytes, token: str, said: bytes, is_caller: bool) -> Sealing:
        """What both ends of a greeting make of it: the other one's public key, and all that was
        `said`. Raises Broken for a key with which there is no secret."""
        try:
            shared = self._private.exchange(primitives().public_key(theirs))
        except ValueError:
            raise Broken from None
        info = _INFO + hashlib.sha256(said).digest()
        derived = hkdf(shared, 2 * _KEY_BYTES, token.encode(), info)
        of_caller, of_listener = derived[:_KEY_BYTES], derived[_KEY_BYTES:]
        return Sealing(*((of_caller, of_listener) if is_caller else (of_listener, of_caller)))


def hkdf(secret: bytes, size: int, salt: bytes, info: bytes) -> bytes:
    """So many bytes made of a secret by HKDF-SHA-256 (RFC 5869, 2)."""
    key = hmac.digest(salt, secret, "sha256")
    made = block = b""
    for count in range(1, -(-size // hashlib.sha256().digest_size) + 1):
        block = hmac.digest(key, block + info + bytes([count]), "sha256")
        made += block
    return made[:size]
