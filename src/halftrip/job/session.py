"""What a client of ``halftrip serve`` and the server say to each other, and what both derive from
the secret that they share.

    client to server    SessionRequest, on a connection whose greeting proved the secret
    server to client    Welcome, Busy or Abort
    client to server    for each rank of the server a connection, for its control messages
    server to client    Abort if its ranks end early

The connection of the request lasts as long as the session: when either end closes it, the server
ends its ranks.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
import secrets
import socket
import threading

import msgspec

from halftrip.control.greeting import Guest
from halftrip.control.network import address_in
from halftrip.control.protocol import Abort, Channel, Versioned, decoded, encoded
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.plan.cost import MOST_RANKS

DEFAULT_DATA_PORTS = (5202, 5299)
SECRET_VARIABLE = "HALFTRIP_SECRET"  # noqa: S105 (the name of a variable)
# The secret of a server that serves everybody.
OPEN = ""
# How long either end may take for an answer, s.
ANSWER_SECONDS = 10.0
_DNS_SECONDS = 10.0
# The longest message of a stranger who knows the secret, bytes.
_LONGEST = 4096
_LONGEST_SECRET = 1024
# Whoever connects once gets the listener's proof, and can try words on it for as long as he wants.
_LEAST_SERVED = 16


class SessionRequest(msgspec.Struct, frozen=True, tag=True):
    """What a client asks for: ranks with these `numbers`, of `ranks` in all, each with so many
    `threads`, for at most so many `seconds` (None: as long as it is allowed). `nonce` is random,
    and `reached_at` is the server's address as the client knows it."""

    version: str
    nonce: bytes
    ranks: int
    numbers: tuple[int, ...]
    threads: int
    seconds: float | None
    reached_at: str

    def check(self) -> None:
        """Raises UsageError if no client of this version says so."""
        count = len(self.numbers)
        fits = (
            0 < count < self.ranks <= MOST_RANKS
            and self.numbers == tuple(range(self.ranks - count, self.ranks))
            and self.threads > 0
            and (self.seconds is None or self.seconds > 0)
        )
        try:
            ipaddress.ip_address(self.reached_at)
        except ValueError:
            fits = False
        if not fits:
            raise UsageError("what was asked for makes no sense")


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """The server will do it, as its session of this number; `nonce` is random."""

    session: int
    nonce: bytes


class Busy(msgspec.Struct, frozen=True, tag=True):
    """Other clients are being served, for so many seconds at most."""

    seconds: float


def send(channel: Channel, message: SessionRequest | Welcome | Busy | Abort) -> None:
    """Raises Closed."""
    channel.send_bytes(encoded(message))


def receive_answer(channel: Channel, deadline: float | None) -> Welcome | Busy | Abort:
    """Raises Closed if there is none before `deadline`, by time.monotonic."""
    answer: Welcome | Busy | Abort = decoded(
        channel.receive_bytes(_LONGEST, deadline), Welcome | Busy | Abort
    )
    return answer


def receive_request(channel: Channel, version: str, deadline: float) -> SessionRequest:
    """Raises Closed if none comes, and UsageError for one that cannot be served, of another version
    above all."""
    payload = channel.receive_bytes(_LONGEST, deadline)
    theirs = decoded(payload, Versioned).version
    if theirs != version:
        raise UsageError(f"halftrip {version} serves, {theirs[:40]} asks; install the same")
    request: SessionRequest = decoded(payload, SessionRequest)
    request.check()
    return request


def new_nonce() -> bytes:
    return secrets.token_bytes(32)


def token_of(secret: str, client: bytes, server: bytes) -> str:
    """The token of a session's job, which both ends derive from the nonces of both, and nobody else
    can who does not know the secret."""
    return hmac.digest(secret.encode(), b"job" + client + server, "sha256").hex()[:32]


def control_guest(session: int, rank: int) -> Guest:
    """Who makes the connection for the control messages of a rank of the server."""
    return Guest("control", rank, session)


# The secret.


def new_secret() -> str:
    """A secret that a person can type: 80 random bits."""
    text = "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(16))
    return "-".join(text[at : at + 4] for at in range(0, 16, 4))


def read_secret(path: str) -> str:
    """The secret in a file. Raises UsageError if it has none."""
    try:
        with open(path, encoding="utf-8") as file:
            secret = file.read(_LONGEST_SECRET + 1).strip()
    except (OSError, ValueError) as error:
        said = system_reason(error).lower() if isinstance(error, OSError) else "not a text file"
        raise UsageError(f"--secret-file: {path}: {said}") from None
    if not 0 < len(secret) <= _LONGEST_SECRET:
        raise UsageError(f"--secret-file: {path}: a secret has 1 to {_LONGEST_SECRET} characters")
    return secret


def given_secret(path: str | None) -> str | None:
    """The secret that a file has or, without one, the environment; None if neither does."""
    if path is not None:
        return read_secret(path)
    return os.environ.get(SECRET_VARIABLE) or None


def served_secret(path: str | None) -> str | None:
    """The secret that a server is given; see `given_secret`. Raises UsageError for a short one."""
    secret = given_secret(path)
    if secret is not None and len(secret) < _LEAST_SERVED:
        place = f"--secret-file: {path}" if path is not None else SECRET_VARIABLE
        raise UsageError(
            f"{place}: a secret that others could guess; at least {_LEAST_SERVED} characters, "
            "at random, or none, to have one made"
        )
    return secret


# Where a server is.


def addresses_of(host: str) -> tuple[str, ...]:
    """The IP addresses of a host, in the order in which the system tries them. Raises HalftripError
    if it has none, or nobody says so in time."""
    found: list[str] = []
    problem = [f"{host}: no name server has answered in {_DNS_SECONDS:.0f} s"]

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            found.extend(dict.fromkeys(address_in(answer[4]) for answer in answers))
        except (OSError, UnicodeError) as error:
            said = system_reason(error) if isinstance(error, OSError) else "no name of a host"
            problem[0] = f"{host}: {said}"

    # The system's own patience with name servers is longer, and no signal ends it.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_DNS_SECONDS)
    if not found:
        raise HalftripError(problem[0])
    return tuple(found)
