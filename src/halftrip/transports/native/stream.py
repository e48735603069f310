"""A byte stream over file descriptors: the common part of pipes, Unix sockets and TCP."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import socket
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from halftrip import _native
from halftrip.control.calling import connect
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import BackgroundListener, Reach
from halftrip.control.network import PORTS_ADVICE, plain_address
from halftrip.control.protocol import Address, Channel
from halftrip.errors import Unavailable, system_reason
from halftrip.results.configuration import TUNABLE, UNTUNED, Configuration, Tuning
from halftrip.results.network_path import NetworkPath
from halftrip.results.threshold import Threshold
from halftrip.telemetry.network_path import network_path, read_progress
from halftrip.telemetry.socket_thresholds import socket_thresholds
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Problem,
    ProcessContext,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, delayed_of, patterns_of
from halftrip.transports.native.sockets import shortfalls, tune
from halftrip.transports.native.stall_guard import (
    StallGuard,
    Watch,
    shut_down,
    unacknowledged,
)

# How long an end waits for the other's greeting. More than enough: it has been let in before the
# listener waits for it.
ACCEPT_SECONDS = 5.0
# What the kernel says of packets that nobody answers.
_SILENT = (errno.ETIMEDOUT, errno.EHOSTUNREACH)


def receive_peer(
    process: ProcessContext, pair: PairContext, reach: Reach, tuning: Tuning = UNTUNED
) -> BackgroundListener:
    """Lets the peer's thread of the same number in, as soon as it connects, with all its
    connections. Raises OSError or Unavailable."""
    guests = [_guest(pair.peer, pair, number) for number in range(tuning.streams)]
    return BackgroundListener(
        process.token, guests, reach, process.rank, partial(tune, tuning=tuning)
    )


def connect_peer(
    process: ProcessContext,
    pair: PairContext,
    address: Address,
    tuning: Tuning = UNTUNED,
    number: int = 0,
) -> Channel:
    """Makes the connection of that number to where `receive_peer` was called at the peer. Raises
    OSError, Closed or Unavailable."""
    guest = _guest(process.rank, pair, number)
    hello = introduce(
        guest.purpose, guest.rank, to=pair.peer, thread=guest.thread, connection=number
    )
    prepare = partial(tune, tuning=tuning)
    try:
        return connect(
            address, process.token, hello, ACCEPT_SECONDS, network=process.network, prepare=prepare
        )
    except OSError as error:
        if pair.same_host:
            raise
        raise Unavailable(f"{system_reason(error)}; {PORTS_ADVICE}") from None


def _guest(rank: int, pair: PairContext, number: int) -> Guest:
    return Guest("transport", rank, pair.thread, number)


def known_path(descriptor: int) -> NetworkPath | None:
    """What this host knows of the path of a socket to another one; None if it is nothing."""
    try:
        return network_path(descriptor)
    except OSError:
        # It has been closed at the other end.
        return None


def known_thresholds(descriptor: int) -> Sequence[Threshold]:
    """The thresholds of a connected socket; none where it has been closed at the other end."""
    try:
        return socket_thresholds(descriptor)
    except OSError:
        return ()


def peer_name(descriptor: int) -> str:
    """Where the other end of a connected socket is, as messages name it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as end:
        if end.family != socket.AF_UNIX:
            host, port, *_ = end.getpeername()
            return f"{plain_address(host)} port {port}"
    # It has been closed at the other end, or is of no host.
    return ""


class StreamTransport(Transport):
    """A transport whose endpoint reads and writes descriptors."""

    capabilities = Capabilities(
        patterns={"blocking": patterns_of("PollingStream")},
        no_mode={"onesided": "a byte stream has no memory to reach into"},
        waits=("block", "spin"),
        staging=("staged",),
        delayed=delayed_of("PollingStream"),
        byte_stream=True,
    )


class StreamPath(Path):
    """A path that, once connected, reads from `in_fd` and writes to `out_fd`, which may be the same
    descriptor; `close` closes them. `kind` is the end of the native types' names: "Stream" for any
    descriptors, "Socket" for sockets, which have faster calls of their own."""

    kind = "Stream"

    def __init__(self, pair: PairContext) -> None:
        # All that it reads from or writes to, each once.
        self.descriptors: list[int] = []
        self.pair = pair
        self.resources = contextlib.ExitStack()

    def take(self, in_fd: int, out_fd: int) -> None:
        """Takes over two descriptors."""
        self.descriptors = [in_fd, out_fd]
        for descriptor in self.descriptors:
            self.resources.callback(os.close, descriptor)

    @property
    def in_fd(self) -> int:
        return self.descriptors[0]

    @property
    def out_fd(self) -> int:
        return self.descriptors[-1]

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        if self.pair.end_of(configuration).wait == "spin":
            wait = "Spinning"
        elif configuration.directions == 2:
            # Two ranks that both block in a write, with full buffers, would wait for ever.
            wait = "Polling"
        else:
            wait = "Blocking"
        end = self.native_end(wait, buffers)
        return StreamEndpoint(self, wait == "Blocking", end, configuration, buffers)

    def native_end(self, wait: str, buffers: EndpointBuffers) -> Any:
        """The native endpoint that waits in this way and has these buffers."""
        kind = getattr(_native, wait + self.kind)
        return kind(self.in_fd, self.out_fd, self.pair.shares_core)

    def set_blocking(self, blocks: bool) -> None:
        """Puts all descriptors into blocking or non-blocking mode."""
        for descriptor in self.descriptors:
            os.set_blocking(descriptor, blocks)

    def watched(self) -> contextlib.AbstractContextManager[object]:
        """Entered for a batch: ends it where nothing moves any more."""
        return contextlib.nullcontext()

    def close(self) -> None:
        self.resources.close()


class StreamEndpoint(NativeEndpoint):
    """`blocks`: its calls sleep in the kernel."""

    def __init__(
        self,
        path: StreamPath,
        blocks: bool,
        end: Any,
        configuration: Configuration,
        buffers: EndpointBuffers,
    ) -> None:
        super().__init__(end, configuration, path.pair.initiates, buffers)
        self._path = path
        self._blocks = blocks

    def resume(self) -> None:
        self._path.set_blocking(self._blocks)

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        with self._path.watched():
            timed = super().run(untimed, iterations, samples)
        if self._configuration.tuning.zerocopy and self._configuration.verify:
            # They are filled anew, while the peer may acknowledge the last message late.
            self._end.finish()
        return timed


class SocketTransport(StreamTransport):
    """A transport over a connected socket; subclasses say of what kind, and its name."""

    name: str

    @abstractmethod
    def reach(self, pair: PairContext) -> Reach:
        """From where the peer has to be able to connect: this host, or another."""

    @functools.cached_property
    def guard(self) -> StallGuard:
        """Watches the connections to other hosts."""
        return StallGuard()

    def missing(self, pair: PairContext) -> str | None:
        return None

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return SocketPath(self, pair, settings.tuning)


class SocketPath(StreamPath):
    """The listener lets the other end in, which connects."""

    kind = "Socket"

    def __init__(
        self, transport: SocketTransport, pair: PairContext, tuning: Tuning = UNTUNED
    ) -> None:
        super().__init__(pair)
        self._process = transport.process
        self._name = transport.name
        self._tuning = tuning
        self._guard = transport.guard
        self._watch: Watch | None = None
        if pair.is_listener:
            self._listener = receive_peer(self._process, pair, transport.reach(pair), tuning)
            self.resources.callback(self._listener.close)
            self.address = msgspec.structs.asdict(self._listener.address)

    def connect(self, address: Any) -> None:
        if self.pair.is_listener:
            channels = self._listener.take(ACCEPT_SECONDS)
        else:
            channels = self._connect(Address(**address))
        with contextlib.ExitStack() as undo:
            for channel in channels:
                undo.callback(channel.close)
            for channel in channels:
                # Again: an accepted socket does not inherit all, and a channel sets TCP_NODELAY.
                tune(channel.socket, self._tuning)
            self.shortfalls = shortfalls(channels[0].socket, self._tuning, self._name)
            undo.pop_all()
        self.descriptors = [channel.detach() for channel in channels]
        for descriptor in self.descriptors:
            self.resources.callback(os.close, descriptor)
        if not self.pair.same_host:
            # On one host the kernel loses nothing, and tells of the other end's death.
            self._watch = self._guard.watch(self.descriptors, self.pair.allowed_cores)
            self.peer = peer_name(self.descriptors[0])
        if self._tuning.zerocopy:
            self._notifications = _native.Notifications(self.descriptors[0])

    def _connect(self, address: Address) -> list[Channel]:
        with contextlib.ExitStack() as undo:
            channels = []
            for number in range(self._tuning.streams):
                channel = connect_peer(self._process, self.pair, address, self._tuning, number)
                undo.callback(channel.close)
                channels.append(channel)
            undo.pop_all()
        return channels

    def watched(self) -> contextlib.AbstractContextManager[object]:
        return super().watched() if self._watch is None else self._watch

    def give_up(self, error: Exception) -> Problem | None:
        if self._watch is None:
            return None
        stalled = self._watch.stalled
        worst = unacknowledged(stalled or [read_progress(each) for each in self.descriptors])
        shut_down(self.descriptors)
        if worst is not None:
            times = "once" if worst.resent == 1 else f"{worst.resent} times"
            said = f"not acknowledged, in segments of up to {worst.segment} B sent again {times}"
            return Problem(said, silent=True, segment=worst.segment)
        if stalled:
            return Problem(f"nothing came for {self._watch.patience:.0f} s", silent=True)
        if isinstance(error, OSError):
            return Problem(system_reason(error), silent=error.errno in _SILENT)
        return Problem(str(error))

    def network_path(self) -> NetworkPath | None:
        return None if self.pair.same_host else known_path(self.descriptors[0])

    def thresholds(self) -> Sequence[Threshold]:
        return known_thresholds(self.descriptors[0])

    def native_end(self, wait: str, buffers: EndpointBuffers) -> Any:
        yields = self.pair.shares_core
        if self._tuning.zerocopy:
            kind = getattr(_native, f"{wait}ZerocopySocket")
            return kind(self._notifications, yields, buffers.out.slots)
        if len(self.descriptors) > 1:
            return getattr(_native, f"{wait}Sockets")(self.descriptors, yields)
        return super().native_end(wait, buffers)


class TcpTransport(SocketTransport):
    name = "tcp"
    capabilities = StreamTransport.capabilities._replace(settings=dict.fromkeys(TUNABLE[name], ()))

    def refuses(self, configuration: Configuration) -> str | None:
        tuning = configuration.tuning
        if tuning.zerocopy and tuning.streams > 1:
            return "--zerocopy: over one connection alone, not over several --streams"
        if tuning.zerocopy and configuration.buffers == "same":
            return "--zerocopy: with --buffers same, a reply would change what is still to be sent"
        return super().refuses(configuration)

    def reach(self, pair: PairContext) -> Reach:
        return "loopback" if pair.same_host else self.process.network


class UnixTransport(SocketTransport):
    name = "unix"
    capabilities = StreamTransport.capabilities._replace(settings=dict.fromkeys(TUNABLE[name], ()))

    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def reach(self, pair: PairContext) -> Reach:
        return "unix"
