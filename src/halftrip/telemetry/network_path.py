"""The path of a connected socket, as far as this end knows it."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
from typing import Literal

from halftrip.control.network import addresses_by_interface, plain_address
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.network_path import NetworkPath
from halftrip.telemetry.route import find_route, read_interface
from halftrip.telemetry.tcp_info import read_tcp_info

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
