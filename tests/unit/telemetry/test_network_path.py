"""What this end knows of the path of a socket; rates of payload have tests of their own."""

import contextlib
import errno
import os
import socket

import psutil
import pytest

from halftrip.kernel_files import Reader
from halftrip.results.network_path import Interface, NetworkPath
from halftrip.telemetry.network_path import network_path
from harness.need import need

V4, V6 = socket.AF_INET, socket.AF_INET6
ENDS = {
    "v4": (V4, "127.0.0.1", "ipv4", "127.0.0.1"),
    "v6": (V6, "::1", "ipv6", "::1"),
    "mapped": (V6, "::ffff:127.0.0.1", "ipv4", "127.0.0.1"),
}


def connect(stack, family, address, kind=socket.SOCK_STREAM):
    """A socket that is connected to another one of this process."""
    try:
        other = stack.enter_context(socket.socket(family, kind))
        own = stack.enter_context(socket.socket(family, kind))
        other.bind((address, 0))
    except OSError:
        need(False, f"this host has no address {address}")
    if kind == socket.SOCK_STREAM:
        other.listen()
    own.connect(other.getsockname())
    return own


@pytest.fixture
def stack():
    with contextlib.ExitStack() as entered:
        yield entered


@pytest.mark.parametrize("ends", ENDS)
def test_tcp_and_udp_over_loopback(stack, ends):
    family, address, expected_family, expected = ENDS[ends]
    own = connect(stack, family, address)
    own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 100_000)
    if expected_family == "ipv6":
        own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, 0xB8)
    else:
        own.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, 0xB8)
    path = network_path(own)
    assert (path.protocol, path.family) == ("tcp", expected_family)
    assert (path.local, path.peer) == (expected, expected)
    assert path.interface.name == "lo"
    assert path.interface.speed is None
    assert path.interface.is_virtual
    assert path.interface.hardware == 772
    assert path.interface.mtu == psutil.net_if_stats()["lo"].mtu
    assert path.gateway is None
    assert path.dscp == 46
    assert path.no_delay is True
    assert path.send_buffer == 200_000
    assert path.receive_buffer == own.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    with open("/proc/sys/net/ipv4/tcp_congestion_control") as file:
        assert path.congestion == file.read().strip()
    assert path.path_mtu == path.tcp.pmtu
    assert 0 < path.tcp.snd_mss < path.tcp.pmtu
    assert path.tcp.snd_mss == own.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG)
    assert 0 < path.tcp.min_rtt_us <= path.tcp.rtt_us < 10_000_000
    assert path.tcp.total_retrans == 0
    assert path.tcp.snd_cwnd > 0
    path = network_path(connect(stack, family, address, socket.SOCK_DGRAM))
    assert (path.protocol, path.family) == ("udp", expected_family)
    assert (path.local, path.peer) == (expected, expected)
    assert path.path_mtu == pytest.approx(path.interface.mtu, abs=1)
    assert (path.tcp, path.congestion, path.no_delay) == (None, None, None)


def test_the_descriptor_of_a_socket_serves_and_stays_as_it_is(stack):
    own = connect(stack, V4, "127.0.0.1", socket.SOCK_DGRAM)
    own.setblocking(False)
    assert network_path(own.fileno()) == network_path(own)
    assert not os.get_blocking(own.fileno())
    assert own.send(b"x") == 1


def test_what_is_no_internet_socket_has_no_path():
    one, other = socket.socketpair()
    with one, other, pytest.raises(OSError, match="not a socket of TCP or UDP"):
        network_path(one)
    with open("/dev/null") as file, pytest.raises(OSError, match="Socket operation on non-socket"):
        network_path(file.fileno())
    with pytest.raises(OSError, match="Bad file descriptor"):
        network_path(one)
    with socket.socket() as alone, pytest.raises(OSError, match="not connected"):
        network_path(alone)


def test_a_kernel_that_tells_nothing_gives_nothing(stack, tmp_path, monkeypatch):
    """No netlink, no options, no files: the interface is found by the address."""
    own = connect(stack, V4, "127.0.0.1")

    def refuse(*arguments):
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr("halftrip.telemetry.netlink.ask", refuse)
    monkeypatch.setattr("fcntl.ioctl", refuse)

    class Silent(socket.socket):
        def getsockopt(self, level, name, *rest):
            if name == socket.SO_PROTOCOL and level == socket.SOL_SOCKET:
                return super().getsockopt(level, name)
            raise OSError(errno.ENOPROTOOPT, "no")

    with Silent(fileno=os.dup(own.fileno())) as silent:
        path = network_path(silent, Reader(tmp_path))
    assert path == NetworkPath(
        protocol="tcp", family="ipv4", local="127.0.0.1", peer="127.0.0.1",
        interface=Interface(name="lo"),
    )  # fmt: skip
