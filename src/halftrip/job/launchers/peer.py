"""Ranks on this host and on another one, where ``halftrip serve`` starts them: all connections go
there, none comes from there."""

from __future__ import annotations

import contextlib
import getpass
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from halftrip import __version__
from halftrip.control.calling import connect
from halftrip.control.greeting import Hello, introduce
from halftrip.control.listener import Reach
from halftrip.control.network import Network, address_in
from halftrip.control.protocol import Abort, Address, Channel, Closed
from halftrip.errors import HalftripError, UsageError, system_reason
from halftrip.job.launchers.base import Launcher
from halftrip.job.launchers.local import start_rank
from halftrip.job.processes import Started
from halftrip.job.session import (
    ANSWER_SECONDS,
    OPEN,
    SECRET_VARIABLE,
    Busy,
    SessionRequest,
    Welcome,
    addresses_of,
    control_guest,
    given_secret,
    new_nonce,
    receive_answer,
    send,
    token_of,
)
from halftrip.job.spec import Job
from halftrip.plan.hosts import split_peer, with_port
from halftrip.plan.plan import Plan
from halftrip.plan.served import for_server
from halftrip.texts import printable

_DEFAULT_RANKS = 2
# The ranks there have their time to leave, and are seen to have gone.
_LEAVE_SECONDS = 3.0
# A server that still ends the session before is asked again, so often and so long, s.
_AGAIN_SECONDS = 0.2
_PATIENCE_SECONDS = 5.0
# What a run takes beyond --max-duration at most, s.
_MARGIN_SECONDS = 15.0
_NO_MPI = "--peer starts ranks without MPI"
_NO_SECRET = f"it wants a secret: --secret-file, or the variable {SECRET_VARIABLE}"


class PeerLauncher(Launcher):
    """The constructor asks the server, and has to be followed by `start`."""

    def __init__(self, plan: Plan) -> None:
        if plan.peer is None:
            raise UsageError("--launcher peer: --peer says which host")
        # It would refuse it later, and others need not wait for that.
        for_server(plan)
        self._plan = plan
        self._ranks = plan.ranks or _DEFAULT_RANKS
        self._here = self._ranks // 2
        self._network = Network(plan.interface, plan.data_ports)
        host, port = split_peer(plan.peer)
        self._name = with_port(host, port)
        self._address = Address(hosts=addresses_of(host), port=port)
        self._secret = given_secret(plan.secret_file)
        self._channel, self._welcome, self.token = self._ask()

    @property
    def reach(self) -> Reach:
        return "unix"

    @property
    def job_fields(self) -> Mapping[str, Any]:
        # The server says where its ranks are: no other host is called for it.
        network = msgspec.structs.replace(self._network, partners=self._address.hosts)
        return {"no_mpi": _NO_MPI, "network": network, "calls_upwards": True}

    def start(self, job: Job, started: Started) -> None:
        started.until_end.callback(self._channel.close)
        started.until_finished.callback(self._leave)
        started.leave_seconds = _LEAVE_SECONDS
        started.servers[self._channel] = self._name
        for rank in range(self._here, self._ranks):
            started.hosts[rank] = self._name
            guest = control_guest(self._welcome.session, rank)
            hello = introduce(guest.purpose, guest.rank, thread=guest.thread)
            started.dialled[rank] = channel = self._connect(self._known_secret, hello)
            # Half a message would keep the launcher waiting.
            channel.socket.settimeout(ANSWER_SECONDS)
        for rank in range(self._here):
            start_rank(job, rank, started)

    def _leave(self) -> None:
        """Tells the server that the session is over: its ranks have to end."""
        with contextlib.suppress(OSError):
            self._channel.socket.shutdown(1)

    # Asking.

    def _ask(self) -> tuple[Channel, Welcome, str]:
        """The connection of the request, what the server said, and the job's token. Raises
        HalftripError and UsageError."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            channel = self._greet()
            request = self._request(channel)
            answer = self._answer(channel, request)
            if isinstance(answer, Welcome):
                # The way that has proved to lead there, for what follows.
                self._address = Address(hosts=(request.reached_at,), port=self._address.port)
                token = token_of(self._known_secret, request.nonce, answer.nonce)
                return channel, answer, token
            channel.close()
            if isinstance(answer, Abort):
                raise HalftripError(f"{self._name}: {printable(answer.reason, 200)}")
            if time.monotonic() > deadline:
                raise HalftripError(
                    f"{self._name}: busy with another client for at most {answer.seconds:.0f} s; "
                    "try again then"
                )
            time.sleep(_AGAIN_SECONDS)

    def _greet(self) -> Channel:
        """A connection that has proved the secret: the one that was given, else that of an open
        server, else one that the user is asked for."""
        hello = introduce("client", -1)
        if self._secret is not None:
            return self._connect(self._secret, hello)
        try:
            channel = self._connect(OPEN, hello)
            self._secret = OPEN
            return channel
        except HalftripError as error:
            if not isinstance(error.__cause__, Closed):
                raise
        if not sys.stdin.isatty():
            raise HalftripError(f"{self._name}: {_NO_SECRET}")
        self._secret = getpass.getpass(f"secret of {self._name}: ").strip()
        return self._connect(self._secret, hello)

    @property
    def _known_secret(self) -> str:
        """The one that the server has accepted."""
        assert self._secret is not None
        return self._secret

    def _connect(self, secret: str, hello: Hello) -> Channel:
        try:
            return connect(self._address, secret, hello, ANSWER_SECONDS, network=self._network)
        except OSError as error:
            raise HalftripError(f"{self._name}: {system_reason(error)}") from error
        except Closed as error:
            said = (
                "it has another secret, version or address (serve --reached-at), or is not "
                "halftrip serve"
            )
            raise HalftripError(f"{self._name}: {said}") from error

    def _request(self, channel: Channel) -> SessionRequest:
        limit = self._plan.max_duration
        return SessionRequest(
            version=__version__,
            nonce=new_nonce(),
            ranks=self._ranks,
            numbers=tuple(range(self._here, self._ranks)),
            threads=self._plan.threads,
            seconds=None if limit is None else limit + _MARGIN_SECONDS,
            reached_at=address_in(channel.socket.getpeername()),
        )

    def _answer(self, channel: Channel, request: SessionRequest) -> Welcome | Busy | Abort:
        try:
            send(channel, request)
            return receive_answer(channel, time.monotonic() + ANSWER_SECONDS)
        except Closed as error:
            raise HalftripError(f"{self._name}: no answer: {error}") from None
        finally:
            channel.socket.settimeout(ANSWER_SECONDS)


def own_address(channel: Channel) -> str:
    """The address of this end; as IPv4 where it is an IPv4 address in IPv6 notation."""
    return address_in(channel.socket.getsockname())
