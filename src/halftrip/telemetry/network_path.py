"""The path of a connected socket, as far as this end knows it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import struct
from typing import Literal, NamedTuple

from halftrip.control.network import addresses_by_interface, plain_address
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.network_path import NetworkPath, TcpInfo
from halftrip.telemetry.route import find_route, read_interface

# Where the members of struct tcp_info lie (linux/tcp.h). Newer kernels only add at its end, so an
# older one returns a shorter struct. All that are read are of 32 bits, but for the options.
_OFFSETS = {
    "snd_mss": 16,
    "rcv_mss": 20,
    "pmtu": 60,
    "rtt_us": 68,
    "rttvar_us": 72,
    "snd_cwnd": 80,
    "advmss": 84,
    "reordering": 88,
    "total_retrans": 100,
    "min_rtt_us": 148,
}
_NUMBER = struct.Struct("=I")
_OPTIONS_OFFSET = 5
_TIMESTAMPS_OPTION = 1
# What shows whether a connection moves, of 8, 32, 32, 64 and 64 bits; the last two since Linux 4.1.
_RETRANSMITS = struct.Struct("=2xB")
_SEGMENT = struct.Struct("=16xI")
_UNACKNOWLEDGED = struct.Struct("=24xI")
_MOVED = struct.Struct("=120xQQ")
# More than any kernel has: it writes as much as it knows.
_LONGEST = 1024
# What `min_rtt_us` is before a round trip has been timed.
_NO_MINIMUM = 2**32 - 1


def read_tcp_info(connection: socket.socket) -> TcpInfo | None:
    """The present state of a connection; None where the kernel does not tell."""
    try:
        return parse_tcp_info(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LONGEST))
    except OSError:
        return None


def parse_tcp_info(data: bytes) -> TcpInfo:
    """The value of a struct tcp_info of any length."""
    values: dict[str, int | None] = {
        name: _NUMBER.unpack_from(data, offset)[0]
        for name, offset in _OFFSETS.items()
        if offset + _NUMBER.size <= len(data)
    }
    if not values.get("rtt_us"):
        # The kernel has none below 1 us; `rttvar_us` is a guess until there is one.
        values["rtt_us"] = values["rttvar_us"] = None
    if values.get("min_rtt_us") == _NO_MINIMUM:
        values["min_rtt_us"] = None
    timestamps = None
    if len(data) > _OPTIONS_OFFSET:
        timestamps = bool(data[_OPTIONS_OFFSET] & _TIMESTAMPS_OPTION)
    return TcpInfo(timestamps=timestamps, **values)


class TcpProgress(NamedTuple):
    """How far a connection has come: `moved`, how many bytes of its own have been acknowledged, and
    how many have come. `unacknowledged` counts segments, and `resent` how often the first of these
    was sent again after a timeout; `segment` is the payload of a full one, bytes."""

    moved: tuple[int, int]
    unacknowledged: int
    resent: int
    segment: int


def read_progress(descriptor: int) -> TcpProgress:
    """The present state of a TCP connection. Raises OSError if it is none."""
    # A socket object closes its descriptor.
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        return parse_progress(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LONGEST))


def parse_progress(data: bytes) -> TcpProgress:
    """The progress in a struct tcp_info. Raises struct.error for that of a kernel before 4.1."""
    acknowledged, received = _MOVED.unpack_from(data)
    return TcpProgress(
        moved=(acknowledged, received),
        unacknowledged=_UNACKNOWLEDGED.unpack_from(data)[0],
        resent=_RETRANSMITS.unpack_from(data)[0],
        segment=_SEGMENT.unpack_from(data)[0],
    )


# linux/in.h and linux/in6.h.
_IP_MTU = 14
_IPV6_MTU = 24
_PROTOCOLS: dict[int, Literal["tcp", "udp"]] = {
    socket.IPPROTO_TCP: "tcp",
    socket.IPPROTO_UDP: "udp",
}
_LOOPBACK = "lo"


def network_path(connection: socket.socket | int, reader: Reader = HOST_FILES) -> NetworkPath:
    """The path of a connected TCP or UDP socket, or of the descriptor of one. The routes are those
    of this process's network namespace.

    Raises OSError if it is not connected, or is no such socket; all else that cannot be read is
    None.
    """
    if isinstance(connection, socket.socket):
        return _path(connection, reader)
    # A socket object closes its descriptor.
    with socket.socket(fileno=os.dup(connection)) as duplicate:
        return _path(duplicate, reader)


def _path(connection: socket.socket, reader: Reader) -> NetworkPath:
    # `connection.proto` is 0 where the protocol is the default of the type.
    protocol = _PROTOCOLS.get(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL))
    if protocol is None or connection.family not in (socket.AF_INET, socket.AF_INET6):
        raise OSError(errno.EPROTONOSUPPORT, "not a socket of TCP or UDP")
    peer_name = connection.getpeername()
    local_name = connection.getsockname()
    local, peer = plain_address(local_name[0]), plain_address(peer_name[0])
    is_ipv6 = ":" in peer
    scope = peer_name[3] if is_ipv6 else 0
    route = find_route(connection, (local, local_name[1]), (peer, peer_name[1]), scope)
    name = (route.interface if route else None) or _interface_with(local, peer, scope)
    level = socket.IPPROTO_IPV6 if is_ipv6 else socket.IPPROTO_IP
    traffic_class = _option(connection, socket.IPV6_TCLASS if is_ipv6 else socket.IP_TOS, level)
    path_mtu = _option(connection, _IPV6_MTU if is_ipv6 else _IP_MTU, level)
    is_tcp = protocol == "tcp"
    tcp = read_tcp_info(connection) if is_tcp else None
    no_delay = _option(connection, socket.TCP_NODELAY, socket.IPPROTO_TCP) if is_tcp else None
    return NetworkPath(
        protocol=protocol,
        family="ipv6" if is_ipv6 else "ipv4",
        local=local,
        peer=peer,
        interface=read_interface(name, connection, reader) if name else None,
        gateway=route.gateway if route else None,
        route_mtu=route.mtu if route else None,
        # The kernel forgets it when the class of service is set, until something is sent.
        path_mtu=path_mtu or (tcp.pmtu if tcp else None),
        send_buffer=_option(connection, socket.SO_SNDBUF),
        receive_buffer=_option(connection, socket.SO_RCVBUF),
        # Its two lowest bits are those of congestion notification (RFC 3168).
        dscp=None if traffic_class is None else traffic_class >> 2,
        tcp=tcp,
        congestion=_congestion(connection) if is_tcp else None,
        no_delay=None if no_delay is None else bool(no_delay),
    )


def _option(connection: socket.socket, name: int, level: int = socket.SOL_SOCKET) -> int | None:
    try:
        return connection.getsockopt(level, name)
    except OSError:
        return None


def _congestion(connection: socket.socket) -> str | None:
    with contextlib.suppress(OSError):
        name = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        return name.partition(b"\0")[0].decode("latin-1") or None
    return None


def _interface_with(local: str, peer: str, scope: int) -> str | None:
    """The interface that has the address `local`, or `lo` if `peer` is of this host, too; with
    `scope`, a number that is not 0, the interface of this number."""
    if scope:
        with contextlib.suppress(OSError):
            return socket.if_indextoname(scope)
    owners = {
        plain_address(address): name
        for name, addresses in addresses_by_interface().items()
        for address in addresses
    }
    is_here = peer in owners or ipaddress.ip_address(peer).is_loopback
    return _LOOPBACK if is_here else owners.get(local)
