"""Which addresses of this host an interface, an address or a network stands for."""

import socket
from types import SimpleNamespace

import psutil
import pytest

from halftrip.control.network import (
    address_in,
    interface_addresses,
    own_addresses,
    place_of,
    with_zones,
)
from halftrip.errors import UsageError
from halftrip.telemetry import network_path

V4, V6 = socket.AF_INET, socket.AF_INET6


@pytest.fixture
def addresses(monkeypatch):
    """The addresses of a host that is made up."""

    def of(family, *texts):
        return [SimpleNamespace(family=family, address=text) for text in texts]

    made_up = {
        "lo": [*of(V4, "127.0.0.1"), *of(V6, "::1")],
        "eth1": [*of(V6, "fd00::1", "fe80::5%eth1"), *of(V4, "10.0.0.1")],
        "eth1:old": of(V4, "10.0.0.2"),
        "eth2": [*of(V6, "fe80::1%eth2"), *of(V4, "169.254.0.7")],
        "eth3": of(socket.AF_PACKET, "02:00:00:00:00:01"),
        "eth4": of(V6, "fe80::1%eth4"),
    }
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: made_up)
    return made_up


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("eth1", ("10.0.0.1", "10.0.0.2", "fd00::1")),
        ("eth2", ("169.254.0.7", "fe80::1%eth2")),
        ("10.0.0.2", ("10.0.0.2",)),
        ("::ffff:10.0.0.2", ("10.0.0.2",)),
        ("10.0.0.0/8", ("10.0.0.1", "10.0.0.2")),
        ("10.0.0.77/31", None),
        ("fd00::/8", ("fd00::1",)),
        ("0.0.0.0/0", ("127.0.0.1", "10.0.0.1", "10.0.0.2")),
        ("fe80::1", ("fe80::1%eth2", "fe80::1%eth4")),
        ("fe80::/10", ("fe80::5%eth1", "fe80::1%eth2", "fe80::1%eth4")),
        ("fe80::1%eth1", None),
        ("[fe80::1%eth2]", ("fe80::1%eth2",)),
        ("eth", None),
        ("", None),
        ("10.0.0.2/33", None),
    ],
)
def test_addresses_are_chosen(addresses, spec, expected):
    if expected is not None:
        assert interface_addresses(spec) == expected
        return
    with pytest.raises(UsageError) as caught:
        interface_addresses(spec)
    assert str(caught.value) == (
        f"'{spec}' is no interface, IP address or network here; there are: lo 127.0.0.1 ::1, "
        "eth1 fd00::1 fe80::5%eth1 10.0.0.1 10.0.0.2, eth2 fe80::1%eth2 169.254.0.7, "
        "eth4 fe80::1%eth4"
    )


def test_link_local_addresses_are_told_where_there_are_no_others(addresses):
    assert own_addresses() == ("10.0.0.1", "10.0.0.2", "169.254.0.7", "fd00::1")
    for name in ("eth1", "eth1:old", "eth2"):
        del addresses[name]
    assert own_addresses() == ("fe80::1%eth4", "127.0.0.1", "::1")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        # Its zone first, where it is one of this host.
        ("fe80::9%eth2", ("fe80::9%eth2", "fe80::9%eth1", "fe80::9%eth4")),
        ("fe80::9%ib0", ("fe80::9%eth1", "fe80::9%eth2", "fe80::9%eth4")),
        ("fd00::9", ("fd00::9",)),
        ("10.0.0.9", ("10.0.0.9",)),
        ("node", ("node",)),
    ],
)
def test_a_link_local_address_of_another_host_is_tried_on_each_link(addresses, address, expected):
    assert with_zones(address) == expected


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "fe80::9%lo", "::ffff:127.0.0.1"])
def test_the_place_of_an_address_has_its_zone(address):
    place = place_of(address, 5201)
    assert place[1] == 5201
    assert address_in(place) == address.removeprefix("::ffff:")


def test_messages_about_addresses_are_one_line_that_can_be_printed(addresses):
    with pytest.raises(UsageError, match=r"^'eth3' has no IP address; there are: lo"):
        interface_addresses("eth3")
    with pytest.raises(UsageError) as caught:
        interface_addresses("\x1b[2J\n" + "x" * 1000)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
    for number in range(100):
        addresses[f"veth{number}"] = addresses["eth4"]
    with pytest.raises(UsageError, match=r", 92 more$"):
        interface_addresses("eth9")


@pytest.mark.parametrize(
    ("local", "peer", "name"),
    [
        ("10.0.0.1", "10.0.0.9", "eth1"),
        ("10.0.0.1", "10.0.0.2", "lo"),
        ("fd00::1", "fd00::9", "eth1"),
        ("10.0.0.8", "10.0.0.9", None),
        ("127.0.0.1", "127.5.5.5", "lo"),
    ],
)
def test_without_a_route_the_interface_is_that_of_the_address(addresses, local, peer, name):
    assert network_path._interface_with(local, peer, 0) == name
    assert network_path._interface_with(local, peer, socket.if_nametoindex("lo")) == "lo"
