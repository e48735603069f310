"""UDP: datagrams, each of which can be lost. Over loopback on one host, else by whichever of the
peer's addresses answers."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec
import numpy as np

from halftrip import _native
from halftrip.control.protocol import Address, Channel, Closed, Listener, connect, introduce
from halftrip.errors import Unavailable
from halftrip.memory.ring import Ring
from halftrip.results.case import Case, Wait
from halftrip.results.delivery import Delivery
from halftrip.transports.base import Opened, Task, Timed, touched
from halftrip.transports.base import Transport as Base

# The length field of IPv4 is 16 bits; its header takes 20 bytes, UDP's 8. Larger than a frame is
# allowed: IP makes fragments, and all of them have to come.
_LARGEST = 65535 - 20 - 8
# A peer that has connected has said so already.
_ACCEPT_SECONDS = 5.0
_PORT = struct.Struct("!H")


# What the kernel needs for a datagram beside its payload, at most.
_OVERHEAD = 1024
# The option is an int.
_MOST_ROOM = 2**31 - 1
# A batch that has waited so long in vain ends early: the sampler learns of it, and may stop.
_MOST_WAITED_NS = 1_000_000_000


@dataclass
class Datagrams(Opened):
    """A connected socket, and the room in bytes that its receiver has by default."""

    socket: socket.socket = field(kw_only=True)
    room: int = field(kw_only=True)


class Transport(Base):
    waits = ("block", "spin")
    patterns: ClassVar = {"blocking": _native.DatagramSocket.patterns}
    lossy = True

    _listener: Listener
    _reserved: socket.socket

    def missing(self) -> str | None:
        return None

    def refuses(self, case: Case) -> str | None:
        if case.mode == "onesided":
            return "a datagram has no memory to reach into"
        if case.rate is not None and case.pattern != "stream":
            return "--rate: only a stream of udp has one"
        reason = super().refuses(msgspec.structs.replace(case, rate=None))
        if reason is None and case.size == 0:
            return "an empty datagram has no room for its number"
        if reason is None and case.size > _LARGEST:
            return f"a datagram holds at most {_LARGEST} bytes"
        return reason

    # A connection over TCP finds which of the peer's addresses works; the datagrams then go between
    # the same two.

    def listen(self, wait: Wait) -> Any:
        self._listener = Listener(
            self.scene.token, "loopback" if self.scene.same_host else "network"
        )
        self.prepared.callback(self._listener.close)
        # On any address at first: which one it will be is known when the peer has connected.
        self._reserved = self.prepared.enter_context(_any_address())
        address = self._listener.address
        return {
            "hosts": address.hosts,
            "port": address.port,
            "datagrams": self._reserved.getsockname()[1],
        }

    def connect(self, offer: Any, wait: Wait) -> Opened:
        hello = introduce(self.scene.token, "transport", self.scene.rank)
        hosts = tuple(offer["hosts"])
        with contextlib.closing(connect(Address(hosts=hosts, port=offer["port"]), hello)) as way:
            own, other = _ends(way)
            end = _bound(own, 0)
            try:
                end.connect((other, offer["datagrams"]))
                way.send_bytes(_PORT.pack(end.getsockname()[1]))
            except Closed as error:
                end.close()
                raise Unavailable(f"the peer has gone: {error}") from None
            except OSError:
                end.close()
                raise
        return self._opened(end, wait)

    def accept(self, wait: Wait) -> Opened:
        with self.prepared:
            accepted = self._listener.accept(_ACCEPT_SECONDS)
            if accepted is None:
                raise Unavailable("a stranger connected in place of the peer")
            with contextlib.closing(accepted[0]) as way:
                own, other = _ends(way)
                end = _bound(own, self._reserved.getsockname()[1])
                try:
                    (port,) = _PORT.unpack(way.receive_bytes())
                    end.connect((other, port))
                except (Closed, struct.error) as error:
                    end.close()
                    raise Unavailable(f"the peer has gone: {error}") from None
                except OSError:
                    end.close()
                    raise
        return self._opened(end, wait)

    def _opened(self, end: socket.socket, wait: Wait) -> Opened:
        """Takes over a connected socket."""
        spins = wait == "spin"
        end.setblocking(not spins)
        # A call that sleeps looks up so often, to see whether it is to stop or its time is over.
        tick = struct.pack("@ll", 0, _native.DatagramSocket.tick_ns // 1000)
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            end.setsockopt(socket.SOL_SOCKET, option, tick)
        timeout_ns = round(self.scene.timeout * 1e9)
        opened = Datagrams(
            endpoint=_native.DatagramSocket(end.fileno(), spins, self.scene.yields, timeout_ns),
            socket=end,
            room=end.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        )
        opened.resources.callback(end.close)
        return opened

    def endpoint(self, opened: Opened, case: Case, out: Ring, in_: Ring) -> Any:
        if not isinstance(opened, Datagrams):
            raise TypeError("datagrams are opened by their socket")
        # Room for a window, if net.core.rmem_max has so much; never less than there was.
        room = max(case.window * (case.size + _OVERHEAD), opened.room // 2)
        room = min(room, _MOST_ROOM)
        opened.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        opened.endpoint.restart()
        return opened.endpoint

    def header(self, case: Case) -> int:
        kind = _native.DatagramSocket
        stamped = case.rate is not None and case.size >= kind.timestamped_size
        return min(case.size, kind.timestamped_size if stamped else kind.number_size)

    def take_part(self, task: Task) -> Timed:
        if task.exchanges != 1:
            raise ValueError("an exchange of datagrams is a sample by itself")
        ticks = touched(task.samples)
        held = np.zeros(task.in_.slots if task.verify else 0, dtype=np.int64)
        call = _native.initiate_datagrams if task.initiates else _native.respond_datagrams
        tally = call(
            task.endpoint,
            task.case.pattern,
            task.out.native,
            task.in_.native,
            task.case.window,
            task.case.rate or 0.0,
            task.lead,
            _MOST_WAITED_NS,
            ticks,
            held,
            task.clock.source,
            task.clock.hertz,
            # A rate is what makes jitter mean something.
            task.case.rate is not None,
        )
        return Timed(
            times=task.clock.durations(ticks[: tally.samples]),
            start=task.clock.raw_ns(tally.start) if tally.start else 0,
            waited=int(tally.timed_out_ticks * 1e9 / task.clock.hertz),
            delivery=_delivery(tally) if task.initiates else None,
            held=held if task.verify else None,
        )


def _delivery(tally: _native.DatagramResult) -> Delivery:
    return Delivery(
        sent=tally.sent,
        lost=tally.lost,
        late=tally.late,
        jitter=float(tally.jitter) if tally.jitter >= 0 else None,
    )


def _any_address() -> socket.socket:
    both = socket.has_dualstack_ipv6()
    end = socket.socket(socket.AF_INET6 if both else socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if both:
        end.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    end.bind(("", 0))
    return end


def _bound(own: str, port: int) -> socket.socket:
    """A socket on one of this host's addresses; the port may be one that is reserved."""
    family = socket.AF_INET6 if ":" in own else socket.AF_INET
    end = socket.socket(family, socket.SOCK_DGRAM)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        end.bind((own, port))
    except OSError:
        end.close()
        raise
    return end


def _ends(way: Channel) -> tuple[str, str]:
    """The addresses of a connection: this host's, and the peer's."""
    return _plain(way.socket.getsockname()[0]), _plain(way.socket.getpeername()[0])


def _plain(host: str) -> str:
    """An IPv4 address as such, where it comes as one of IPv6."""
    address = ipaddress.ip_address(host)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
