"""Sets sockets up as a configuration asks for it (socket(7), tcp(7), ip(7), ipv6(7)), and tells
what the kernel gave less of."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

from halftrip.errors import Unavailable, system_reason
from halftrip.results.configuration import Tuning
from halftrip.units import format_size

# asm-generic/socket.h has them; Python's module has no names for them.
SO_BUSY_POLL = 46
SO_ZEROCOPY = 60
_ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# The code point is above the two bits of ECN.
_DSCP_SHIFT = 2
# The largest TCP header has so many bytes of options, which a segment of TCP_MAXSEG includes.
_MOST_OPTION_BYTES = 40
_BUFFERS = (
    (socket.SO_SNDBUF, "net.core.wmem_max"),
    (socket.SO_RCVBUF, "net.core.rmem_max"),
)


def tune(end: socket.socket, tuning: Tuning) -> None:
    """Sets a socket up, before it listens or connects: the largest segment and the scale of the
    window are agreed on when TCP connects. To be called again for a connection that was accepted.
    Raises Unavailable, with the option's name, where the kernel refuses."""
    if tuning.socket_buffer:
        for option, _ in _BUFFERS:
            value = tuning.socket_buffer
            _set(end, socket.SOL_SOCKET, option, value, f"--socket-buffer {format_size(value)}")
    if tuning.mss:
        _set(end, socket.IPPROTO_TCP, socket.TCP_MAXSEG, tuning.mss, f"--mss {tuning.mss}")
    if tuning.congestion != "system":
        _set_congestion(end, tuning.congestion)
    if tuning.dscp:
        _set_dscp(end, tuning.dscp)
    if tuning.busy_poll:
        _set(end, socket.SOL_SOCKET, SO_BUSY_POLL, tuning.busy_poll, _busy_poll(tuning))
    # Some kernels refuse it where it is set already, once a connection is there.
    if tuning.zerocopy and not end.getsockopt(socket.SOL_SOCKET, SO_ZEROCOPY):
        _set(end, socket.SOL_SOCKET, SO_ZEROCOPY, 1, "--zerocopy")
    if not tuning.nodelay:
        _set(end, socket.IPPROTO_TCP, socket.TCP_NODELAY, 0, "--no-nodelay")


def shortfalls(end: socket.socket, tuning: Tuning, name: str) -> list[str]:
    """What the connected socket of the transport `name` has less of than was asked for, a line
    each."""
    found = []
    for option, sysctl in _BUFFERS if tuning.socket_buffer else ():
        # The kernel gives as much again for its own records, and reports the sum.
        given = end.getsockopt(socket.SOL_SOCKET, option) // 2
        if given < tuning.socket_buffer:
            asked = format_size(tuning.socket_buffer)
            found.append(f"{name}: --socket-buffer {asked}: {sysctl} allows {format_size(given)}")
    if tuning.mss:
        given = end.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
        if given < tuning.mss - _MOST_OPTION_BYTES:
            found.append(f"{name}: --mss {tuning.mss}: the path takes {given}")
    return found


def _set(end: socket.socket, level: int, option: int, value: int | bytes, what: str) -> None:
    try:
        end.setsockopt(level, option, value)
    except OSError as error:
        reason = system_reason(error)
        if error.errno == errno.EPERM:
            reason = f"{reason}; it needs CAP_NET_ADMIN"
        raise Unavailable(f"{what}: {reason}") from None


def _set_congestion(end: socket.socket, algorithm: str) -> None:
    try:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, algorithm.encode())
    except OSError as error:
        # A kernel loads a module of that name for root alone, and allows some to root alone.
        said = f"not in this kernel, which has {_algorithms()}"
        if error.errno == errno.EPERM:
            said = "for root alone; net.ipv4.tcp_allowed_congestion_control has the others"
        raise Unavailable(f"--congestion {algorithm}: {said}") from None


def _algorithms() -> str:
    try:
        return ", ".join(_ALGORITHMS.read_text().split())
    except OSError:
        return "none that it names"


def _set_dscp(end: socket.socket, code_point: int) -> None:
    value, what = code_point << _DSCP_SHIFT, f"--dscp {code_point}"
    if end.family == socket.AF_INET6:
        _set(end, socket.IPPROTO_IPV6, socket.IPV6_TCLASS, value, what)
    # A socket of IPv6 may carry IPv4, too.
    _set(end, socket.IPPROTO_IP, socket.IP_TOS, value, what)


def _busy_poll(tuning: Tuning) -> str:
    return f"--busy-poll {tuning.busy_poll}us"
