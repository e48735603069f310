"""How much a network interface takes at once from the layer above it, and gives to it."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import NamedTuple

from halftrip.telemetry import netlink

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
