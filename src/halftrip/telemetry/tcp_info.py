"""What the kernel knows of a TCP connection (tcp(7), TCP_INFO)."""

from __future__ import annotations

import os
import socket
import struct
from typing import NamedTuple

from halftrip.results.network_path import TcpInfo

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
