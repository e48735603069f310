"""The path of a connected socket, as far as this end knows it, and what it leaves for payload."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import math
import os
import socket
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec
import psutil

from halftrip.errors import UsageError
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry.route import Interface, find_route, read_interface
from halftrip.telemetry.tcp_info import TcpInfo, read_tcp_info
from halftrip.texts import printable

# linux/in.h and linux/in6.h.
_IP_MTU = 14
_IPV6_MTU = 24
_PROTOCOLS: dict[int, Literal["tcp", "udp"]] = {
    socket.IPPROTO_TCP: "tcp",
    socket.IPPROTO_UDP: "udp",
}
_LOOPBACK = "lo"
# Of the longest list of addresses that is shown, so many interfaces.
_MOST_SHOWN = 12

# ARPHRD_ETHER (linux/if_arp.h).
_ETHERNET = 1
# Around the payload of an Ethernet frame: preamble and start delimiter 8, header 14, check sequence
# 4, gap 12 (IEEE 802.3, 3.1.1 and 4.4.2). Header, payload and check sequence are 64 or more.
_AROUND_FRAME = 8 + 12
_FRAME_HEADER = 14 + 4
_SHORTEST_FRAME = 64
# What kinds of interfaces add to the header: a tag (IEEE 802.1Q, clause 9). Kinds that are not
# here, such as vxlan, send something else than the frame.
_TAGS = {None: 0, "bond": 0, "bridge": 0, "dsa": 0, "macvlan": 0, "ipvlan": 0, "vlan": 4}
# Their speed is a constant that nothing keeps to (drivers/net/veth.c, drivers/net/tun.c).
_MADE_UP_SPEEDS = {"veth", "tun"}
# Headers without options: RFC 791, 3.1; RFC 8200, 3 and, of fragments, 4.5; RFC 9293, 3.1; RFC 768.
_IP_HEADER = {"ipv4": 20, "ipv6": 40}
_FRAGMENT_HEADER = {"ipv4": 0, "ipv6": 8}
_TCP_HEADER = 20
_UDP_HEADER = 8
# The option of 10 bytes (RFC 7323, 3.2), and two more so that the header ends at a word.
_TIMESTAMPS = 12
# What the field of 16 bits for a length allows (RFC 791, 3.1, where it counts the IP header, too;
# RFC 768).
_LONGEST_DATAGRAM = {"ipv4": 65535 - 20 - 8, "ipv6": 65535 - 8}


class NetworkPath(msgspec.Struct, frozen=True, kw_only=True):
    """The path from a connected socket to its peer at one moment, as this host knows it.

    `local` and `peer` are addresses without ports; an IPv4 address written as one of IPv6 counts
    as IPv4. `interface` is where packets to the peer leave this host, and `gateway` the address
    of the first hop; None: the peer is on the link, or the kernel does not tell. `route_mtu`,
    bytes, is what the route says; None: nothing, so that the interface's MTU holds. `path_mtu`,
    bytes, is the longest packet that goes to the peer in one piece, as far as the kernel knows.
    `send_buffer` and `receive_buffer` are bytes with the kernel's overhead: twice what was asked
    for, or what the kernel has come to by itself. `dscp` is the class of service (RFC 2474), 0 to
    63. `tcp`, `congestion` and `no_delay` are of TCP alone. None: unknown.
    """

    protocol: Literal["tcp", "udp"]
    family: Literal["ipv4", "ipv6"]
    local: str
    peer: str
    interface: Interface | None = None
    gateway: str | None = None
    route_mtu: int | None = None
    path_mtu: int | None = None
    send_buffer: int | None = None
    receive_buffer: int | None = None
    dscp: int | None = None
    tcp: TcpInfo | None = None
    congestion: str | None = None
    no_delay: bool | None = None


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
    local, peer = _plain(local_name[0]), _plain(peer_name[0])
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


def _plain(address: str) -> str:
    """An address without its zone, and as IPv4 if it is one in IPv6."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def _interface_with(local: str, peer: str, scope: int) -> str | None:
    """The interface that has the address `local`, or `lo` if `peer` is of this host, too; with
    `scope`, a number that is not 0, the interface of this number."""
    if scope:
        with contextlib.suppress(OSError):
            return socket.if_indextoname(scope)
    owners = {
        _plain(address): name for name, addresses in _addresses().items() for address in addresses
    }
    is_here = peer in owners or ipaddress.ip_address(peer).is_loopback
    return _LOOPBACK if is_here else owners.get(local)


def payload_rate(path: NetworkPath) -> float | None:
    """Payload bytes per second that the interface's speed leaves for a TCP stream of full segments
    in one direction. None for other protocols, and where the speed, the size of a segment or what
    is sent around it is unknown: all but Ethernet.

    Each segment is `snd_mss` bytes in a frame of its own, behind headers of IP and TCP without
    options but timestamps (RFC 9293, 3.1; RFC 791, 3.1; RFC 8200, 3; RFC 7323, 3.2). Where nothing
    else limits `snd_mss` this makes a packet of the path's MTU.
    """
    if path.tcp is None or not path.tcp.snd_mss:
        return None
    mss = path.tcp.snd_mss
    timestamps = _TIMESTAMPS if path.tcp.timestamps else 0
    packet = _IP_HEADER[path.family] + _TCP_HEADER + timestamps + mss
    return _rate(path, mss, {packet: 1})


def datagram_rate(path: NetworkPath, size: int) -> float | None:
    """Payload bytes per second that the interface's speed leaves for UDP datagrams of `size` bytes
    each in one direction. None where the speed, the path's MTU or what is sent around a packet is
    unknown, as in `payload_rate`, and for a size that no datagram has.

    One longer than the MTU goes in fragments; all but the last carry as many bytes as fit, in whole
    units of eight (RFC 791, 3.2; RFC 8200, 4.5).
    """
    mtu = _mtu(path)
    if mtu is None or not 0 <= size <= _LONGEST_DATAGRAM[path.family]:
        return None
    header = _IP_HEADER[path.family]
    content = _UDP_HEADER + size
    if header + content <= mtu:
        return _rate(path, size, {header + content: 1})
    header += _FRAGMENT_HEADER[path.family]
    most = (mtu - header) // 8 * 8
    if most <= 0:
        return None
    full = math.ceil(content / most) - 1
    # The last one may be as long as the others.
    packets = {header + most: full}
    last = header + content - full * most
    packets[last] = packets.get(last, 0) + 1
    return _rate(path, size, packets)


def _mtu(path: NetworkPath) -> int | None:
    """The longest packet that is not sent in fragments."""
    known = (
        path.path_mtu,
        path.route_mtu,
        path.interface.mtu if path.interface else None,
    )
    return next((mtu for mtu in known if mtu), None)


def _rate(path: NetworkPath, payload: int, packets: Mapping[int, int]) -> float | None:
    """Bytes of payload per second where so many packets of each length carry `payload` bytes."""
    interface = path.interface
    if (
        interface is None
        or interface.speed is None
        or interface.hardware != _ETHERNET
        or interface.kind not in _TAGS
        or interface.driver in _MADE_UP_SPEEDS
    ):
        return None
    header = _FRAME_HEADER + _TAGS[interface.kind]
    sent = sum(
        count * (_AROUND_FRAME + max(_SHORTEST_FRAME, header + length))
        for length, count in packets.items()
    )
    return interface.speed / 8 * payload / sent


def interface_addresses(spec: str) -> tuple[str, ...]:
    """The IP addresses of this host that fit `spec`: the name of an interface, an address, or a
    network as 10.1.0.0/16; those of IPv4 first. Link-local ones are left out unless no others fit;
    those of IPv6 have their zone, as fe80::1%eth1, without which they cannot be used.

    Raises UsageError if none fits.
    """
    owned = _addresses()
    fitting = [
        address
        for name, addresses in owned.items()
        for address in addresses
        if name == spec or _is_within(address, spec)
    ]
    usable = [each for each in fitting if not ipaddress.ip_address(each).is_link_local]
    if not fitting:
        there = [f"{name} {' '.join(each)}" for name, each in owned.items() if each]
        if len(there) > _MOST_SHOWN:
            there[_MOST_SHOWN:] = [f"{len(there) - _MOST_SHOWN} more"]
        what = (
            "has no IP address" if spec in owned else "is no interface, IP address or network here"
        )
        raise UsageError(
            f"'{printable(spec, 60)}' {what}; there are: {printable(', '.join(there)) or 'none'}"
        )
    return _ordered(usable or fitting)


def _addresses() -> dict[str, list[str]]:
    """The IP addresses of each interface."""
    found: dict[str, list[str]] = {}
    for label, addresses in psutil.net_if_addrs().items():
        # An address of IPv4 may have a label, as eth0:1, in place of the interface's name.
        own = found.setdefault(label.partition(":")[0], [])
        own.extend(
            each.address for each in addresses if each.family in (socket.AF_INET, socket.AF_INET6)
        )
    return found


def _is_within(address: str, spec: str) -> bool:
    """Whether `address` is `spec`, or belongs to the network `spec`."""
    try:
        if "%" in spec:
            # Two interfaces may have the same link-local address.
            return ipaddress.ip_address(address) == ipaddress.ip_address(spec)
        network = ipaddress.ip_network(spec if "/" in spec else _plain(spec), strict=False)
    except ValueError:
        return False
    return ipaddress.ip_address(address.partition("%")[0]) in network


def _ordered(addresses: Iterable[str]) -> tuple[str, ...]:
    """Each once, those of IPv4 first."""
    return tuple(sorted(dict.fromkeys(addresses), key=lambda address: ":" in address))
