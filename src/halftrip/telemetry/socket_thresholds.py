"""The sizes from which on a connected socket handles messages in another way."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from typing import NamedTuple

from halftrip.results.network_path import NetworkPath
from halftrip.results.threshold import Threshold
from halftrip.telemetry import netlink
from halftrip.telemetry.network_path import network_path

_GET_LINK, _NEW_LINK = 18, 16
# struct ifinfomsg: family, type, index, flags, change.
_LINK = struct.Struct("=BxHiII")
_NUMBER = struct.Struct("=I")
# linux/if_link.h: IFLA_GSO_MAX_SIZE and IFLA_GRO_MAX_SIZE; since 6.3 IPv4 has sizes of its own.
_SENT, _RECEIVED = 41, 58
_SENT_IPV4, _RECEIVED_IPV4 = 63, 64


class LinkSizes(NamedTuple):
    """The longest packet that TCP hands to the interface, which cuts it into segments (GSO), and
    the longest that it puts together from segments (GRO), with headers, bytes; None: the kernel
    does not say."""

    sent: int | None = None
    received: int | None = None


def link_sizes(interface: str, family: str) -> LinkSizes:
    """The sizes of an interface for packets of a `family`, ``ipv4`` or ``ipv6``."""
    with contextlib.suppress(OSError):
        index = socket.if_nametoindex(interface)
        return parse_link(
            netlink.ask(netlink.request(_GET_LINK, _LINK.pack(0, 0, index, 0, 0))), family
        )
    return LinkSizes()


def parse_link(reply: bytes, family: str) -> LinkSizes:
    """The sizes in the kernel's answer to RTM_GETLINK; none if it is an error or malformed."""
    try:
        length, kind = netlink.HEADER.unpack_from(reply)[:2]
        if kind != _NEW_LINK:
            return LinkSizes()
        found = dict(netlink.attributes(reply[netlink.HEADER.size + _LINK.size : length]))
        sent, received = found.get(_SENT), found.get(_RECEIVED)
        if family == "ipv4":
            sent, received = found.get(_SENT_IPV4, sent), found.get(_RECEIVED_IPV4, received)
        return LinkSizes(_number(sent), _number(received))
    except (struct.error, ValueError):
        return LinkSizes()


def _number(value: bytes | None) -> int | None:
    return None if value is None else _NUMBER.unpack(value)[0] or None


# The headers of IP and UDP (RFC 791, 3.1; RFC 8200, 3; RFC 768).
_UDP_HEADERS = {"ipv4": 28, "ipv6": 48}
# Of IP and TCP, with all options.
_MOST_TCP_HEADERS = 40 + 60
# What Linux leaves for headers of all layers in a packet that is to be cut into segments:
# MAX_TCP_HEADER (include/net/tcp.h), at most.
_MOST_HEADERS = 320
# Of a socket's buffer, the kernel counts its own records beside the payload; of a small message
# they take three quarters (docs of SO_SNDBUF in socket(7), `truesize` in linux/skbuff.h).
_OVERHEAD = 0.75
_BUFFERS = (
    ("the sender's socket buffer", "SO_SNDBUF", socket.SO_SNDBUF),
    ("the receiver's socket buffer", "SO_RCVBUF", socket.SO_RCVBUF),
)
_BUFFER_SETTING = "--socket-buffer"


def socket_thresholds(descriptor: int) -> list[Threshold]:
    """Those of a connected socket, as this end knows them. Raises OSError if it is not
    connected."""
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        found = [
            Threshold(
                name=name,
                value=value,
                acts="capacity",
                header=round(_OVERHEAD * value),
                source=source,
                setting=_BUFFER_SETTING,
                # The kernel doubles what it is asked for.
                scale=0.5,
            )
            for name, source, option in _BUFFERS
            if (value := connection.getsockopt(socket.SOL_SOCKET, option)) > 0
        ]
        if connection.family == socket.AF_UNIX:
            return found
        return [*_of_packets(network_path(connection)), *found]


def _of_packets(path: NetworkPath) -> list[Threshold]:
    """What a message is cut into on its way over a network, or over loopback."""
    name = path.interface.name if path.interface is not None else "the interface"
    mtu = path.path_mtu or (path.interface.mtu if path.interface is not None else None)
    if not mtu:
        return []
    setting = f"the MTU of {name} at both ends"
    if path.tcp is None or not path.tcp.snd_mss:
        headers = _UDP_HEADERS[path.family]
        return [_pieces(f"the MTU of {name}", mtu, headers, "IP_MTU", setting)]
    segment = path.tcp.snd_mss
    headers = mtu - segment
    if 0 <= headers <= _MOST_TCP_HEADERS:
        found = [_pieces(f"the MTU of {name}", mtu, headers, "TCP_INFO", f"{setting}, or --mss")]
    else:
        # Something else limits it: --mss, or a small buffer of the peer's.
        found = [_pieces("the TCP segment", segment, 0, "TCP_INFO", "--mss")]
    if path.interface is not None:
        sizes = link_sizes(name, path.family)
        # It takes a whole number of segments.
        headers = _MOST_HEADERS + segment
        for what, value, attribute in (
            ("cuts into segments (GSO)", sizes.sent, "gso_max_size"),
            ("puts together from segments (GRO)", sizes.received, "gro_max_size"),
        ):
            if value is not None:
                setting = f"{attribute} of {name}: ip link set {name} {attribute} N"
                found.append(_pieces(f"what {name} {what}", value, headers, attribute, setting))
    return found


def _pieces(name: str, value: int, header: int, source: str, setting: str) -> Threshold:
    return Threshold(
        name=name, value=value, acts="pieces", header=min(header, value), source=source,
        setting=setting,
    )  # fmt: skip
