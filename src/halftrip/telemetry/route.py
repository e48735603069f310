"""Where packets to a peer leave this host: the route, and the interface that it leads to."""

from __future__ import annotations

import array
import contextlib
import fcntl
import os
import socket
import struct

import msgspec

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.network_path import Interface
from halftrip.telemetry import netlink

_ROUTE = struct.Struct("=8BI")
_NUMBER = struct.Struct("=I")
_GET_ROUTE = 26
_NEW_ROUTE = 24
# linux/rtnetlink.h: the attributes of a route, and of RTA_METRICS.
_DESTINATION, _SOURCE, _OUT, _GATEWAY, _METRICS = 1, 2, 4, 5, 8
_MARK, _VIA, _IP_PROTOCOL, _SOURCE_PORT, _DESTINATION_PORT = 16, 18, 27, 28, 29
_METRIC_MTU = 2
# Types of routes: RTN_LOCAL, and the others from RTN_UNICAST to RTN_MULTICAST, by which packets go
# somewhere. What follows are ways to refuse them.
_LOCAL = 2
_LEADING = range(1, 6)

_SOCKET_MARK = 36
_NAME_BYTES = 16
_LOOPBACK = "lo"
_INTERFACES = "/sys/class/net"
# linux/sockios.h and linux/ethtool.h: SIOCETHTOOL, ETHTOOL_GDRVINFO, struct ethtool_drvinfo and
# struct ifreq.
_ETHTOOL = 0x8946
_GET_DRIVER = 3
_DRIVER_INFO = struct.Struct("=I32s160x")
_INTERFACE_REQUEST = struct.Struct("@16sP16x")
# How drivers say that they do not know the speed: as -1, which is not read, or as the largest
# number of 16 or 32 bits.
_NO_SPEEDS = {0, 2**16 - 1, 2**32 - 1}


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """The way to a peer. `interface` is the name of the one that it begins with, `lo` for a peer
    on this host; None: unknown. `gateway` is the address of the first hop; None: the peer is on the
    link. `mtu`, bytes, is that which an administrator or the path-MTU discovery has set; None:
    none, so the interface's holds."""

    interface: str | None = None
    gateway: str | None = None
    mtu: int | None = None


def find_route(
    connection: socket.socket, local: tuple[str, int], peer: tuple[str, int], scope: int = 0
) -> Route | None:
    """The route that the kernel has for packets of a socket; None where it does not tell, or has
    none.

    `local` and `peer` are addresses of the same family, with their ports, which may decide between
    equal routes. `scope` is the number of the interface that a link-local peer belongs to. The mark
    of the socket and an interface that it is bound to count, too.
    """
    family = socket.AF_INET6 if ":" in peer[0] else socket.AF_INET
    attributes = [
        (_DESTINATION, socket.inet_pton(family, peer[0])),
        (_SOURCE, socket.inet_pton(family, local[0])),
        (_SOURCE_PORT, local[1].to_bytes(2, "big")),
        (_DESTINATION_PORT, peer[1].to_bytes(2, "big")),
    ]
    # What the kernel does not tell does not count.
    with contextlib.suppress(OSError):
        protocol = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PROTOCOL)
        attributes.append((_IP_PROTOCOL, bytes([protocol])))
        mark = connection.getsockopt(socket.SOL_SOCKET, _SOCKET_MARK)
        attributes.append((_MARK, struct.pack("=i", mark)))
        bound = connection.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _NAME_BYTES)
        if bound := bound.rstrip(b"\0"):
            scope = socket.if_nametoindex(os.fsdecode(bound))
    if scope:
        attributes.append((_OUT, _NUMBER.pack(scope)))
    try:
        reply = netlink.ask(_request(family, attributes))
    except OSError:
        return None
    return parse_route(reply)


def _request(family: int, attributes: list[tuple[int, bytes]]) -> bytes:
    bits = 128 if family == socket.AF_INET6 else 32
    return netlink.request(
        _GET_ROUTE, _ROUTE.pack(family, bits, bits, 0, 0, 0, 0, 0, 0), attributes
    )


def parse_route(reply: bytes) -> Route | None:
    """The route in the kernel's answer to RTM_GETROUTE; None if it is an error or malformed, or if
    the route leads nowhere."""
    try:
        length, kind = netlink.HEADER.unpack_from(reply)[:2]
        if kind != _NEW_ROUTE:
            return None
        route_type = _ROUTE.unpack_from(reply, netlink.HEADER.size)[7]
        if route_type not in _LEADING:
            return None
        found = dict(netlink.attributes(reply[netlink.HEADER.size + _ROUTE.size : length]))
        mtu = dict(netlink.attributes(found.get(_METRICS, b""))).get(_METRIC_MTU)
        return Route(
            interface=_LOOPBACK if route_type == _LOCAL else _name(found.get(_OUT)),
            gateway=_gateway(found),
            mtu=_NUMBER.unpack(mtu)[0] or None if mtu is not None else None,
        )
    except (struct.error, ValueError):
        return None


def _name(number: bytes | None) -> str | None:
    if number is None:
        return None
    try:
        return socket.if_indextoname(_NUMBER.unpack(number)[0])
    except OSError:
        return None


def _gateway(found: dict[int, bytes]) -> str | None:
    address = found.get(_GATEWAY)
    if address is None and _VIA in found:
        # A gateway of the other family, which is written in front of it (struct rtvia).
        address = found[_VIA][2:]
    if address is None:
        return None
    return socket.inet_ntop(socket.AF_INET if len(address) == 4 else socket.AF_INET6, address)


def read_interface(name: str, connection: socket.socket, reader: Reader = HOST_FILES) -> Interface:
    """What the kernel tells of an interface. Any socket serves as `connection`."""
    directory = f"{_INTERFACES}/{name}"
    # In 10^6 bits per second.
    speed = reader.number(f"{directory}/speed")
    kinds = [
        line.removeprefix("DEVTYPE=")
        for line in (reader.text(f"{directory}/uevent") or "").splitlines()
        if line.startswith("DEVTYPE=")
    ]
    target = os.path.realpath(reader.root / directory.lstrip("/"))
    is_there = os.path.isdir(target)
    return Interface(
        name=name,
        speed=None if speed is None or speed in _NO_SPEEDS else speed * 10**6,
        mtu=reader.number(f"{directory}/mtu"),
        driver=_driver(name, connection) or _listed_driver(target),
        kind=kinds[0] if kinds else None,
        is_virtual="/devices/virtual/" in target if is_there else None,
        hardware=reader.number(f"{directory}/type"),
    )


def _driver(name: str, connection: socket.socket) -> str | None:
    """The driver as ethtool(8) has it, which also names those of virtual interfaces."""
    info = array.array("B", _DRIVER_INFO.pack(_GET_DRIVER, b""))
    try:
        request = _INTERFACE_REQUEST.pack(os.fsencode(name), info.buffer_info()[0])
        fcntl.ioctl(connection, _ETHTOOL, request)
    except OSError:
        return None
    return _DRIVER_INFO.unpack(info)[1].partition(b"\0")[0].decode("latin-1") or None


def _listed_driver(directory: str) -> str | None:
    link = f"{directory}/device/driver"
    return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else None
