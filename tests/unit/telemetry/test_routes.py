"""Routes, interfaces and connections as the kernel shows them."""

import socket
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halftrip.results.network_path import Interface, TcpInfo
from halftrip.telemetry.network_path import parse_tcp_info
from halftrip.telemetry.route import Route, parse_route, read_interface

V6 = socket.AF_INET6


def test_an_interface_is_read_from_files(kernel):
    """A device, with a driver that ethtool does not name, as this host has no such interface."""
    devices = kernel.root / "sys/devices/pci0/net/made1"
    kernel("sys/devices/pci0/net/made1/speed", "25000\n")
    kernel("sys/devices/pci0/net/made1/mtu", "9000\n")
    kernel("sys/devices/pci0/net/made1/type", "1\n")
    kernel("sys/devices/pci0/net/made1/uevent", "INTERFACE=made1\nIFINDEX=2\n")
    (kernel.root / "sys/class/net/made1").symlink_to("../../devices/pci0/net/made1")
    (kernel.root / "sys/drivers/mlx5_core").mkdir(parents=True)
    (devices / "device").symlink_to("../..")
    (devices.parent.parent / "driver").symlink_to("../../drivers/mlx5_core")
    with socket.socket() as any_socket:
        assert read_interface("made1", any_socket, kernel.reader) == Interface(
            name="made1", speed=25 * 10**9, mtu=9000, driver="mlx5_core", is_virtual=False,
            hardware=1,
        )  # fmt: skip


@pytest.mark.parametrize("speed", ["-1", "0", "65535", "4294967295", "", "fast"])
def test_an_unknown_speed_is_none(kernel, speed):
    kernel("sys/devices/virtual/net/made1/speed", speed + "\n")
    kernel("sys/devices/virtual/net/made1/uevent", "DEVTYPE=bond\nINTERFACE=made1\n")
    (kernel.root / "sys/class/net/made1").symlink_to("../../devices/virtual/net/made1")
    with socket.socket() as any_socket:
        assert read_interface("made1", any_socket, kernel.reader) == Interface(
            name="made1", kind="bond", is_virtual=True
        )


# A struct tcp_info (linux/tcp.h) whose members are numbered in their order from the first number of
# 32 bits, with timestamps among its options.
INFO = struct.pack("=8B24I4Q6IQ", *(0, 0, 0, 0, 0, 1, 0, 0), *range(24), *range(24, 28),
                   *range(28, 34), 34)  # fmt: skip


def test_tcp_info_is_that_of_the_kernels_struct():
    assert parse_tcp_info(INFO + bytes(100)) == TcpInfo(
        snd_mss=2, rcv_mss=3, pmtu=13, rtt_us=15, rttvar_us=16, snd_cwnd=18, advmss=19,
        reordering=20, total_retrans=23, min_rtt_us=31, timestamps=True,
    )  # fmt: skip
    assert parse_tcp_info(bytes(len(INFO))).timestamps is False


@given(st.integers(0, len(INFO)))
def test_tcp_info_may_be_short(length):
    """What there is is the same as in the whole struct."""
    whole = msgspec.structs.asdict(parse_tcp_info(INFO))
    for name, value in msgspec.structs.asdict(parse_tcp_info(INFO[:length])).items():
        assert value in (None, whole[name])
    assert (parse_tcp_info(INFO[:length]).total_retrans is None) == (length < 104)


def test_without_a_round_trip_there_are_no_times():
    info = bytearray(INFO)
    struct.pack_into("=I", info, 68, 0)
    struct.pack_into("=I", info, 148, 2**32 - 1)
    parsed = parse_tcp_info(bytes(info))
    assert (parsed.rtt_us, parsed.rttvar_us, parsed.min_rtt_us) == (None, None, None)


def route_reply(*attributes, kind=24, route_type=1):
    body = struct.pack("=8BI", 2, 32, 32, 0, 0, 0, 0, route_type, 0)
    for number, value in attributes:
        body += struct.pack("=HH", 4 + len(value), number) + value + bytes(-len(value) % 4)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 1, 0) + body


def test_a_route_is_read_from_the_kernels_reply():
    mtu = struct.pack("=HHI", 8, 2, 1300)
    out = (4, struct.pack("=I", socket.if_nametoindex("lo")))
    reply = route_reply((5, bytes([10, 0, 0, 1])), out, (8, mtu))
    assert parse_route(reply) == Route(interface="lo", gateway="10.0.0.1", mtu=1300)
    # The gateway of another family; no MTU; an interface that is gone.
    via = (18, struct.pack("=H", V6) + socket.inet_pton(V6, "fd00::1"))
    reply = route_reply(via, (8, b""), (4, struct.pack("=I", 2**31 - 1)))
    assert parse_route(reply) == Route(gateway="fd00::1")
    assert parse_route(route_reply(route_type=2)) == Route(interface="lo")
    # An error in place of a route.
    assert parse_route(route_reply(kind=2)) is None


@pytest.mark.parametrize("route_type", [0, 6, 7, 8, 9])
def test_a_route_that_leads_nowhere_is_none(route_type):
    assert parse_route(route_reply(route_type=route_type)) is None


@given(st.lists(st.tuples(st.integers(0, 30), st.binary(max_size=24))), st.integers(0, 400))
def test_a_malformed_reply_is_never_an_error(attributes, length):
    assert isinstance(parse_route(route_reply(*attributes)[:length]), Route | None)
