"""ZeroMQ sockets, by pyzmq: over TCP, on one host by loopback, else by the first of the peer's
addresses that answers; or over a Unix socket within one host (ipc)."""

from __future__ import annotations

import hmac
import os
import secrets
import time
from abc import abstractmethod
from errno import EADDRINUSE
from socket import AF_UNIX, has_dualstack_ipv6
from typing import Any

import msgspec

from halftrip.control.calling import open_connection
from halftrip.control.greeting import Guest, new_nonce, password
from halftrip.control.listener import Reach
from halftrip.control.network import ANY, Network, address_in
from halftrip.control.protocol import Address
from halftrip.interpreter import install_command
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ROUND_TRIP
from halftrip.transports.base import PairContext, PathSettings, ProcessContext
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.stream import ACCEPT_SECONDS
from halftrip.transports.python.endpoint import (
    BoundMessages,
    MessageCalls,
    ObjectCalls,
    PythonPath,
    PythonTransport,
)
from halftrip.transports.python.patterns import PATTERNS, Calls

# The name of the user whose password is the proof that the peer knows the job's token.
_USER = b"halftrip"
# Where libzmq asks who may connect (https://rfc.zeromq.org/spec/27).
_DOOR = "inproc://zeromq.zap.01"


class ZmqTransport(PythonTransport):
    """Subclasses say from where the peer connects."""

    capabilities = Capabilities(
        # Without a limit on its queue, a send never waits for the peer.
        patterns={"blocking": PATTERNS},
        waits=("block",),
        no_other_wait="a thread of ZeroMQ wakes up whoever waits for a message",
        settings={
            "object": ("buffer", "bytes", "array", "dict"),
            "socket": ("pair", "req"),
        },
    )

    @abstractmethod
    def reach(self, pair: PairContext) -> Reach:
        """From where the peer has to be able to connect."""

    def missing(self, pair: PairContext) -> str | None:
        try:
            import zmq  # noqa: F401 (whether it is there)
        except ImportError as error:
            return f"no pyzmq ({error}); {install_command('zmq')}"
        return None

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.socket == "req" and not configuration.shape.replies:
            return (
                f"--socket req: a request has to be answered before the next, as in a {ROUND_TRIP}"
            )
        return super().refuses(configuration)

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return ZmqPath(self.process, self.reach(pair), pair)


class ZmqTcpTransport(ZmqTransport):
    def reach(self, pair: PairContext) -> Reach:
        return "loopback" if pair.same_host else self.process.network


class ZmqIpcTransport(ZmqTransport):
    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts or super().missing(pair)

    def reach(self, pair: PairContext) -> Reach:
        return "unix"


class ZmqPath(PythonPath):
    """A connection for each type of socket, in a context of its own, whose thread runs on the core
    of its rank. The initiator binds, the responder connects."""

    def __init__(self, process: ProcessContext, reach: Reach, pair: PairContext) -> None:
        super().__init__(pair)
        import zmq

        self._process = process
        self._context: Any = zmq.Context()
        try:
            self._sockets = {
                "pair": self._socket(zmq.PAIR),
                "req": self._socket(zmq.REQ if pair.initiates else zmq.REP),
            }
            if pair.initiates:
                self._door = self._context.socket(zmq.REP)
                self._door.bind(_DOOR)
                self._nonce = new_nonce()
                self.address = {"nonce": self._nonce} | {
                    kind: msgspec.to_builtins(self._listen(socket, kind, reach))
                    for kind, socket in self._sockets.items()
                }
        except zmq.ZMQError as error:
            self.close()
            raise OSError(error.errno, error.strerror) from None

    def _socket(self, kind: int) -> Any:
        socket = self._context.socket(kind)
        socket.linger = 0
        # Without limits: a window never waits.
        socket.set_hwm(0)
        return socket

    def _listen(self, socket: Any, kind: str, reach: Reach) -> Address:
        """Binds a socket to an address that only the peer can connect to, which knows the token:
        whatever arrives may be unpickled."""
        import zmq

        socket.plain_server = True
        socket.zap_domain = kind.encode()
        # Also when the door has been closed.
        socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)
        if reach == "unix":
            # Of no other user.
            socket.setsockopt(zmq.IPC_FILTER_UID, os.geteuid())
            # Abstract: it leaves no name behind in the file system.
            name = f"halftrip-{secrets.token_hex(8)}"
            socket.bind(f"ipc://@{name}")
            return Address(unix=name)
        if isinstance(reach, Network):
            socket.ipv6 = has_dualstack_ipv6()
            _bind(socket, reach)
        else:
            socket.bind("tcp://127.0.0.1:*")
        port = int(socket.last_endpoint.rpartition(b":")[2])
        hosts = reach.addresses if isinstance(reach, Network) else ("127.0.0.1",)
        return Address(hosts=hosts, port=port)

    def connect(self, address: Any) -> None:
        if self.pair.initiates:
            self._admit()
            return
        for kind, socket in self._sockets.items():
            socket.plain_username = _USER
            socket.plain_password = self._password(kind, address["nonce"])
            endpoint = _answering(msgspec.convert(address[kind], Address), self._process.network)
            socket.ipv6 = "[" in endpoint
            socket.connect(endpoint)

    def _password(self, kind: str, nonce: bytes) -> bytes:
        """The responder's for a socket of this kind."""
        ranks = (self._process.rank, self.pair.peer)
        initiator, responder = ranks if self.pair.initiates else ranks[::-1]
        guest = Guest("transport", responder, self.pair.thread)
        return password(self._process.token, guest, initiator, kind, nonce)

    def _admit(self) -> None:
        """Lets the peer in, once for each socket, and then nobody. Raises TimeoutError if it does
        not come."""
        deadline = time.monotonic() + ACCEPT_SECONDS
        awaited = {kind.encode(): self._password(kind, self._nonce) for kind in self._sockets}
        while awaited:
            left = max(deadline - time.monotonic(), 0)
            if not self._door.poll(round(left * 1000)):
                raise TimeoutError("the peer has not connected")
            version, number, domain, *_, given = self._door.recv_multipart()
            knows = domain in awaited and hmac.compare_digest(given, awaited[domain])
            status = b"200" if knows else b"400"
            self._door.send_multipart([version, number, status, b"", b"", b""])
            if knows:
                del awaited[domain]
        # At once: a socket closes some time later, and whoever still asked would get no answer.
        self._door.unbind(_DOOR)
        self._door.close()

    def calls(self, configuration: Configuration) -> Calls:
        socket = self._sockets[configuration.socket or "pair"]
        if configuration.object == "buffer":
            # A buffer that is to be used again has to be copied by send() (copy=True, its default),
            # or waited for; recv_into() is what spares the receiver an object for each message.
            return MessageCalls(BoundMessages(socket.send, socket.recv_into))
        if configuration.object == "bytes":
            return ObjectCalls(configuration, socket.send, socket.recv)
        return ObjectCalls(configuration, socket.send_pyobj, socket.recv_pyobj)

    def close(self) -> None:
        self._context.destroy(linger=0)


def _bind(socket: Any, network: Network) -> None:
    """Binds a socket to one of the ports of `network`. Raises OSError if none is free."""
    import zmq

    for port in network.port_range:
        try:
            socket.bind(f"tcp://*:{port or '*'}")
            return
        except zmq.ZMQError as error:
            if error.errno != EADDRINUSE or not port:
                raise
    raise network.no_port()


def _answering(address: Address, network: Network = ANY) -> str:
    """The endpoint of a peer in ZeroMQ's words, at the first of its hosts that answers: ZeroMQ
    itself would try for ever. Raises OSError."""
    with open_connection(address, network=network) as found:
        if found.family == AF_UNIX:
            return f"ipc://@{address.unix}"
        host = address_in(found.getpeername())
        return f"tcp://{f'[{host}]' if ':' in host else host}:{address.port}"
