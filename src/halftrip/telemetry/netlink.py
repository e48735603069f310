"""Questions to the kernel about its network (rtnetlink(7)), by hand: the package pyroute2 adds
0.13 s to the start of a command."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Sequence

HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_REQUEST = 1
# The kernel answers before the request is sent.
_REPLY_SECONDS = 1.0
_REPLY_BYTES = 1 << 16


def request(kind: int, body: bytes, attributes: Sequence[tuple[int, bytes]] = ()) -> bytes:
    """A message of this kind; `attributes` are types and values."""
    for number, value in attributes:
        body += _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), number) + value
        body += bytes(-len(value) % 4)
    return HEADER.pack(HEADER.size + len(body), kind, _REQUEST, 1, 0) + body


def ask(message: bytes) -> bytes:
    """The kernel's answer to a request. Raises OSError."""
    with socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE
    ) as netlink:
        netlink.settimeout(_REPLY_SECONDS)
        netlink.sendto(message, (0, 0))
        return netlink.recv(_REPLY_BYTES)


def attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and value of each attribute."""
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        yield kind, data[_ATTRIBUTE.size : length]
        # Each begins at a multiple of four.
        data = data[length + -length % 4 :]
