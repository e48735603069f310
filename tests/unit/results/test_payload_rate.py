"""How much payload the speed of an interface leaves."""

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from halftrip.results.network_path import (
    Interface,
    NetworkPath,
    TcpInfo,
    datagram_rate,
    payload_rate,
)

GIGABIT = 10**9
HEADERS = {"ipv4": 20, "ipv6": 40}
FAMILIES = st.sampled_from(["ipv4", "ipv6"])
SPEEDS = st.sampled_from([10**8, GIGABIT, 25 * GIGABIT, 400 * GIGABIT])
MTUS = st.integers(1280, 9216)


def path(mtu=1500, family="ipv4", speed=GIGABIT, tcp=None, **changes):
    interface = Interface(name="eth1", speed=speed, mtu=mtu, driver="mlx5_core", hardware=1)
    interface = msgspec.structs.replace(interface, **changes)
    return NetworkPath(
        protocol="tcp" if tcp else "udp", family=family, local="10.0.0.1", peer="10.0.0.2",
        interface=interface, path_mtu=mtu, tcp=tcp,
    )  # fmt: skip


def stream(mtu=1500, family="ipv4", timestamps=True, speed=GIGABIT, **changes):
    mss = mtu - HEADERS[family] - 20 - 12 * timestamps
    tcp = TcpInfo(snd_mss=mss, pmtu=mtu, timestamps=timestamps)
    return path(mtu, family, speed, tcp, **changes)


def test_the_rates_of_gigabit_ethernet_are_those_of_the_books():
    """941.48 and 949.28 Mbit/s of TCP, 957.09 of UDP; 812,744 packets of UDP/s at the most."""
    assert payload_rate(stream()) * 8 / 1e6 == pytest.approx(941.48, abs=0.005)
    assert payload_rate(stream(timestamps=False)) * 8 / 1e6 == pytest.approx(949.28, abs=0.005)
    assert payload_rate(stream(family="ipv6")) * 8 / 1e6 == pytest.approx(928.48, abs=0.005)
    assert payload_rate(stream(9000)) * 8 / 1e6 == pytest.approx(990.04, abs=0.005)
    assert datagram_rate(path(), 1472) * 8 / 1e6 == pytest.approx(957.09, abs=0.005)
    # The shortest frame: 84 bytes on the wire.
    assert datagram_rate(path(), 18) / 18 == pytest.approx(1_488_095, abs=1)
    assert datagram_rate(path(), 1) == pytest.approx(1_488_095, abs=1)


def test_a_segment_that_something_else_limits_is_counted_as_it_is():
    """A tag of a VLAN; a peer with a smaller MTU, or a clamp on the way: the frame is not a full
    one."""
    assert payload_rate(stream(kind="vlan")) == pytest.approx(GIGABIT / 8 * 1448 / 1542)
    tcp = TcpInfo(snd_mss=1348, pmtu=1500, timestamps=True)
    assert payload_rate(path(tcp=tcp)) == pytest.approx(GIGABIT / 8 * 1348 / (1348 + 52 + 38))


@pytest.mark.parametrize(
    "changes",
    [{"hardware": 772}, {"hardware": 32}, {"hardware": None}, {"kind": "vxlan"}, {"kind": "wlan"},
     {"driver": "veth"}, {"driver": "tun"}, {"speed": None}],
)  # fmt: skip
def test_where_the_frame_or_the_speed_is_unknown_there_is_no_rate(changes):
    assert payload_rate(stream(**changes)) is None
    assert datagram_rate(path(**changes), 100) is None


def test_where_the_path_is_unknown_there_is_no_rate():
    nowhere = NetworkPath(protocol="udp", family="ipv4", local="10.0.0.1", peer="10.0.0.2")
    for unknown in (nowhere, path(), path(tcp=TcpInfo())):
        assert payload_rate(unknown) is None
    for unknown in (nowhere, path(mtu=None), path(mtu=24)):
        assert datagram_rate(unknown, 100) is None


@given(MTUS, FAMILIES, SPEEDS, st.integers(0, 65507))
# The last fragment takes one byte more than the others.
@example(1280, "ipv4", 10**8, 6273)
def test_datagrams_are_cut_up_as_the_standards_say(mtu, family, speed, size):
    """Against fragments that are made one by one."""
    rest, frames = size + 8, []
    header = HEADERS[family]
    if header + rest > mtu:
        header += 8 if family == "ipv6" else 0
    while rest > 0:
        taken = rest if header + rest <= mtu else (mtu - header) // 8 * 8
        assert header + taken <= mtu
        rest -= taken
        frames.append(max(64, 14 + header + taken + 4) + 20)
    rate = datagram_rate(path(mtu, family, speed), size)
    assert rate == pytest.approx(speed / 8 * size / sum(frames))
    assert 0 <= rate < speed / 8


@pytest.mark.parametrize(("family", "longest"), [("ipv4", 65507), ("ipv6", 65527)])
def test_no_datagram_is_longer_than_its_field_of_16_bits(family, longest):
    for size in (-1, 0, longest, longest + 1):
        assert (datagram_rate(path(family=family), size) is None) == (not 0 <= size <= longest)
