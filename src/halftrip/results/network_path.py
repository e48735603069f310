"""The path of a connected socket, as one end of it knows it, and what it leaves for payload."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from halftrip.results.bounds import Count, Name, Number, Rank, Text

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
MADE_UP_SPEEDS = {"veth", "tun"}
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


class Interface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network interface. `speed` is in bits per second, as the driver has it, in one direction;
    `mtu` in bytes. `kind` is what the kernel calls it if it is one of several kinds: ``bond``,
    ``bridge``, ``vlan``, ``vxlan``, ``wlan``, ... `is_virtual`: no device of its own is behind it.
    `hardware` is the kernel's number for the link layer (ARPHRD, linux/if_arp.h): 1 is Ethernet, 32
    InfiniBand, 772 loopback. None: unknown."""

    name: Text
    speed: Count | None = None
    mtu: Count | None = None
    driver: Text | None = None
    kind: Text | None = None
    is_virtual: bool | None = None
    hardware: Count | None = None


class TcpInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A TCP connection at one moment. The names are those of struct tcp_info.

    Bytes: `snd_mss`, the payload of a full segment to the peer; `rcv_mss`, the same of what comes,
    guessed from what has come; `advmss`, what the peer was told that it may send, which also has to
    hold the options; `pmtu`, the MTU of the path. Microseconds: `rtt_us`, the smoothed round trip;
    `rttvar_us`, how much it varies; `min_rtt_us`, the shortest of late. Segments: `snd_cwnd`, how
    many may be on their way; `total_retrans`, how many were sent again so far; `reordering`, by how
    many places one may come late before it counts as lost. `timestamps`: each segment has them
    among its options.

    None: the kernel does not say, or has timed no round trip.
    """

    snd_mss: Count | None = None
    rcv_mss: Count | None = None
    advmss: Count | None = None
    pmtu: Count | None = None
    rtt_us: Count | None = None
    rttvar_us: Count | None = None
    min_rtt_us: Count | None = None
    snd_cwnd: Count | None = None
    total_retrans: Count | None = None
    reordering: Count | None = None
    timestamps: bool | None = None


class NetworkPath(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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
    local: Text
    peer: Text
    interface: Interface | None = None
    gateway: Text | None = None
    route_mtu: Count | None = None
    path_mtu: Count | None = None
    send_buffer: Count | None = None
    receive_buffer: Count | None = None
    dscp: Count | None = None
    tcp: TcpInfo | None = None
    congestion: Text | None = None
    no_delay: bool | None = None


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
    # The last one may be as long as fits: it has no need of whole units.
    full = math.ceil((content - (mtu - header)) / most)
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
        or interface.driver in MADE_UP_SPEEDS
    ):
        return None
    header = _FRAME_HEADER + _TAGS[interface.kind]
    sent = sum(
        count * (_AROUND_FRAME + max(_SHORTEST_FRAME, header + length))
        for length, count in packets.items()
    )
    return interface.speed / 8 * payload / sent


class Connection(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="connection"):
    """The path of a transport between two hosts as thread number `thread` of `rank` knows it, after
    its first slice with `peer`."""

    transport: Name
    rank: Rank
    peer: Rank
    path: NetworkPath
    thread: Number = 0
    launch: Number = 0
