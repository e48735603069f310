"""UDP: datagrams, each of which can be lost. Over loopback on one host, else by the first of the
peer's addresses that answers."""

from __future__ import annotations

import contextlib
import errno
import socket
import struct
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from halftrip import _native
from halftrip.control.listener import Reach
from halftrip.control.network import Network, address_in, place_of
from halftrip.control.protocol import Address, Channel, Closed
from halftrip.errors import Unavailable
from halftrip.results.configuration import TUNABLE, Configuration
from halftrip.results.counts import Delivery
from halftrip.results.network_path import NetworkPath
from halftrip.results.patterns import STREAM
from halftrip.results.threshold import Threshold
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Timed,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import patterns_of, touched
from halftrip.transports.native.sockets import shortfalls, tune
from halftrip.transports.native.stream import (
    ACCEPT_SECONDS,
    connect_peer,
    known_path,
    known_thresholds,
    peer_name,
    receive_peer,
)

# The length field of IPv4 is 16 bits; its header takes 20 bytes, UDP's 8. A datagram may be larger
# than a frame: IP makes fragments, and all of them have to arrive.
_LARGEST = 65535 - 20 - 8
_PORT = struct.Struct("!H")
# What the kernel needs for a datagram beside its payload, at most.
_OVERHEAD = 1024
# The option SO_RCVBUF is an int.
_LARGEST_BUFFER = 2**31 - 1
# A batch that has waited this long for lost replies ends early: the sampler decides how to go on.
_MOST_TIMED_OUT_NS = 1_000_000_000


class UdpTransport(Transport):
    capabilities = Capabilities(
        patterns={"blocking": patterns_of("DatagramSocket")},
        no_mode={"onesided": "a datagram has no memory to reach into"},
        waits=("block", "spin"),
        rated=(STREAM,),
        smallest=1,
        too_small="an empty datagram has no room for its number",
        largest=_LARGEST,
        too_large=f"a datagram holds at most {_LARGEST} bytes",
        lossy=True,
        settings=dict.fromkeys(TUNABLE["udp"], ()),
    )

    def missing(self, pair: PairContext) -> str | None:
        return None

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return UdpPath(self.process, pair, settings)


class UdpPath(Path):
    """A connected socket. The listener listens on TCP and the other end connects, which finds out
    which of the listener's addresses works; the datagrams then go between the same two."""

    def __init__(self, process: ProcessContext, pair: PairContext, settings: PathSettings) -> None:
        self._process = process
        self._pair = pair
        self._spins = settings.wait == "spin"
        self._tuning = settings.tuning
        self._resources = contextlib.ExitStack()
        if not pair.is_listener:
            return
        reach: Reach = "loopback" if pair.same_host else process.network
        self._listener = receive_peer(process, pair, reach)
        self._resources.callback(self._listener.close)
        # The address to use is known only when the peer has connected.
        try:
            self._reserved = self._resources.enter_context(_reserve_port(reach))
        except OSError:
            self.close()
            raise
        port = self._reserved.getsockname()[1]
        self.address = {**msgspec.structs.asdict(self._listener.address), "datagrams": port}

    def connect(self, address: Any) -> None:
        try:
            self._socket = self._accept() if self._pair.is_listener else self._connect(address)
        except (Closed, struct.error) as error:
            raise Unavailable(f"the peer has gone: {error}") from None
        self._resources.callback(self._socket.close)
        self.peer = "" if self._pair.same_host else peer_name(self._socket.fileno())
        tune(self._socket, self._tuning)
        self.shortfalls = shortfalls(self._socket, self._tuning, "udp")
        self._socket.setblocking(not self._spins)
        # A call that sleeps wakes up this often, to see whether to stop or to give up.
        tick = struct.pack("@ll", 0, _native.DatagramSocket.tick_ns // 1000)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            self._socket.setsockopt(socket.SOL_SOCKET, option, tick)
        self._default_buffer = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        timeout_ns = round(self._process.timeout * 1e9)
        self._end = _native.DatagramSocket(
            self._socket.fileno(), self._spins, self._pair.shares_core, timeout_ns
        )

    def _connect(self, address: Any) -> socket.socket:
        listener = Address(**{each: address[each] for each in Address.__struct_fields__})
        with contextlib.closing(connect_peer(self._process, self._pair, listener)) as channel:
            return _connected(
                channel,
                port=0,
                peer_port=lambda: int(address["datagrams"]),
                then=lambda end: channel.send_bytes(_PORT.pack(end.getsockname()[1])),
            )

    def _accept(self) -> socket.socket:
        (first,) = self._listener.take(ACCEPT_SECONDS)
        with contextlib.closing(first) as channel:
            deadline = time.monotonic() + ACCEPT_SECONDS
            _share_port(self._reserved, True)
            end = _connected(
                channel,
                port=self._reserved.getsockname()[1],
                peer_port=lambda: _PORT.unpack(channel.receive_bytes(_PORT.size, deadline))[0],
            )
        # The reserved port is no longer needed.
        self._resources.close()
        return end

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        return UdpEndpoint(self, self._end, configuration, self._pair.initiates, buffers)

    def resume(self, configuration: Configuration, before: int) -> None:
        """Sets the socket up for a configuration, which had `before` messages so far."""
        if not self._tuning.socket_buffer:
            # Room for a window, if net.core.rmem_max allows it; never less than the default. The
            # kernel doubles what it is asked for.
            room = max(
                configuration.window * (configuration.size + _OVERHEAD), self._default_buffer // 2
            )
            room = min(room, _LARGEST_BUFFER)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self._end.restart(before)

    def network_path(self) -> NetworkPath | None:
        return None if self._pair.same_host else known_path(self._socket.fileno())

    def thresholds(self) -> Sequence[Threshold]:
        return known_thresholds(self._socket.fileno())

    def close(self) -> None:
        self._resources.close()


class UdpEndpoint(Endpoint):
    def __init__(
        self,
        path: UdpPath,
        end: _native.DatagramSocket,
        configuration: Configuration,
        initiates: bool,
        buffers: EndpointBuffers,
    ) -> None:
        self._path = path
        self._end = end
        self._configuration = configuration
        self._initiates = initiates
        self._buffers = buffers
        # How many there were in all batches so far.
        self._messages = 0
        # Jitter means something only where messages are sent at a given rate.
        self._jitter = configuration.rate is not None
        timestamped = self._jitter and configuration.size >= end.timestamped_size
        header_size = end.timestamped_size if timestamped else end.number_size
        self.header_size = min(configuration.size, header_size)

    def resume(self) -> None:
        self._path.resume(self._configuration, self._messages)

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        if iterations != 1:
            raise ValueError("an iteration of datagrams is a sample by itself")
        configuration, clock = self._configuration, self._buffers.clock
        self._messages += configuration.messages_in(untimed + samples)
        timestamps = touched(samples + 1)
        source_slots = np.zeros(
            self._buffers.in_.slots if configuration.verify else 0, dtype=np.int64
        )
        call = _native.initiate_datagrams if self._initiates else _native.respond_datagrams
        exchange = partial(
            call,
            self._end,
            configuration.pattern,
            self._buffers.out.native,
            self._buffers.in_.native,
            configuration.window,
            configuration.rate or 0.0,
            untimed,
            _MOST_TIMED_OUT_NS,
            timestamps,
            source_slots,
            clock.source,
            clock.hertz,
            self._jitter,
        )
        result = self.spending(exchange)
        taken = timestamps[: result.timestamps]
        return Timed(
            times=np.delete(clock.intervals(taken), result.unanswered),
            start=clock.raw_ns(int(taken[0])) if self._initiates else 0,
            timed_out=int(result.timed_out_ticks * 1e9 / clock.hertz),
            delivery=_delivery(result) if self._initiates else None,
            source_slots=source_slots if configuration.verify else None,
        )


def _delivery(result: _native.DatagramResult) -> Delivery:
    return Delivery(
        sent=result.sent,
        lost=result.lost,
        reordered=result.reordered,
        jitter=float(result.jitter) if result.jitter >= 0 else None,
    )


def _reserve_port(reach: Reach) -> socket.socket:
    """A socket which keeps a free port for `_bound`: on loopback, or on any address where the peer
    is on another host. Raises OSError if none is free."""
    if not isinstance(reach, Network):
        return _bound(socket.AF_INET, "127.0.0.1", 0)
    family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
    for port in reach.port_range:
        try:
            return _bound(family, "", port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not port:
                raise
    raise reach.no_port()


def _bound(family: socket.AddressFamily, own: str, port: int) -> socket.socket:
    """A socket on one of this host's addresses or, where `own` is empty, on all of both kinds, and
    on a port that may be reserved (0: any)."""
    end = socket.socket(family, socket.SOCK_DGRAM)
    try:
        _share_port(end, True)
        if family == socket.AF_INET6 and not own:
            end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        end.bind(place_of(own, port))
        # Another user who shares the port could speak for this end.
        _share_port(end, False)
    except OSError:
        end.close()
        raise
    return end


def _share_port(end: socket.socket, shares: bool) -> None:
    """Whether another socket may be bound to the same port, if it says the same of itself."""
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, shares)


def _connected(
    channel: Channel,
    port: int,
    peer_port: Callable[[], int],
    then: Callable[[socket.socket], None] = lambda _: None,
) -> socket.socket:
    """A datagram socket between the two hosts of `channel`, bound to `port` (0: any) and connected
    to the peer's port; `then` is called with the socket. It is closed if any of this fails."""
    own, peer = _addresses(channel)
    with contextlib.ExitStack() as undo:
        end = _bound(socket.AF_INET6 if ":" in own else socket.AF_INET, own, port)
        undo.callback(end.close)
        end.connect(place_of(peer, peer_port()))
        _empty(end)
        then(end)
        undo.pop_all()
    return end


def _empty(end: socket.socket) -> None:
    """Drops what strangers have sent before the socket was connected: from then on the kernel takes
    datagrams from the peer alone, which does not send any yet."""
    end.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            end.recv(1)


def _addresses(channel: Channel) -> tuple[str, str]:
    """The addresses of a connection: this host's, and the peer's."""
    return address_in(channel.socket.getsockname()), address_in(channel.socket.getpeername())
