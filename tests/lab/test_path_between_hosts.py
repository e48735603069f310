"""What a host knows of the path to another one, and what the frames on it carry."""

import subprocess
import sys

import msgspec
import pytest

from halftrip.results.network_path import NetworkPath
from lab.hosts import run

pytestmark = pytest.mark.extended

# To an address: the path of a TCP socket, after it has sent something, or of a UDP socket.
LOOK = """
import socket, sys, msgspec
from halftrip.telemetry.network_path import network_path
_, kind, host, *bound = sys.argv
family = socket.AF_INET6 if ":" in host else socket.AF_INET
with socket.socket(family, getattr(socket, kind)) as own:
    for name in bound:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode())
    own.settimeout(10)
    own.connect(socket.getaddrinfo(host, 7777, family)[0][4])
    if kind == "SOCK_STREAM":
        own.sendall(bytes(1000000))
        own.recv(1)
    sys.stdout.buffer.write(msgspec.json.encode(network_path(own)))
"""
SERVE = """
import socket
with socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
    print("ready", flush=True)
    while True:
        with listener.accept()[0] as own:
            left = 1000000
            while left:
                left -= len(own.recv(left))
            own.sendall(b"x")
            own.recv(1)
"""


def look(host, kind, address, *bound):
    said = run(*host.prefix(), sys.executable, "-c", LOOK, kind, address, *bound)
    return msgspec.json.decode(said, type=NetworkPath)


@pytest.fixture
def ends(lab):
    """Two hosts, with addresses of IPv6, too, of which the second accepts connections; beyond it
    are more addresses, which it has itself."""
    first, second = lab.hosts
    for number, host in enumerate(lab.hosts):
        host.ip("addr", "add", f"fd77::{number + 1}/64", "dev", host.device)
    for address in ("10.99.0.1/32", "10.98.0.1/32", "10.97.0.1/32", "fd99::1/128"):
        second.ip("addr", "add", address, "dev", "lo")
    first.ip("route", "add", "10.99.0.0/16", "via", second.address)
    first.ip("route", "add", "10.98.0.0/16", "via", "inet6", "fd77::2", "dev", first.device)
    first.ip("route", "add", "10.97.0.0/16", "via", second.address, "mtu", "1300")
    first.ip("route", "add", "fd99::/64", "via", "fd77::2")
    command = [*second.prefix(), sys.executable, "-c", SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout.readline() == "ready\n"
            yield lab.hosts
        finally:
            server.kill()


@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_the_way_to_a_peer_is_that_of_the_kernel(ends, kind):
    """On the link; beyond it, by a gateway; with an MTU of the route; and to an own address."""
    first, second = ends
    for address, local, gateway, mtu in (
        (second.address, first.address, None, None),
        (f"::ffff:{second.address}", first.address, None, None),
        ("fd77::2", "fd77::1", None, None),
        ("10.99.0.1", first.address, second.address, None),
        ("10.98.0.1", first.address, "fd77::2", None),
        ("10.97.0.1", first.address, second.address, 1300),
        ("fd99::1", "fd77::1", "fd77::2", None),
    ):
        path = look(first, kind, address)
        assert (path.local, path.peer) == (local, address.removeprefix("::ffff:"))
        assert (path.gateway, path.route_mtu) == (gateway, mtu)
        assert (path.interface.name, path.interface.driver) == (first.device, "veth")
        assert (path.interface.mtu, path.path_mtu) == (1500, mtu or 1500)
        assert (path.interface.hardware, path.interface.is_virtual) == (1, True)
    for address in (second.address, "10.99.0.1", "fd77::2"):
        path = look(second, "SOCK_STREAM", address)
        assert (path.interface.name, path.gateway) == ("lo", None)


def test_the_route_depends_on_the_device_that_a_socket_is_bound_to_and_on_its_port(ends):
    """Two ways to the same address, of which the better one is not always taken."""
    first, second = ends
    first.ip("link", "add", "other", "type", "bridge")
    first.ip("addr", "add", "10.55.0.1/24", "dev", "other")
    first.ip("link", "set", "other", "up")
    first.ip("rule", "add", "ipproto", "udp", "dport", "7777", "lookup", "77")
    first.ip("route", "add", "10.99.0.1/32", "dev", "other", "table", "77")
    assert look(first, "SOCK_DGRAM", "10.99.0.1").interface.name == "other"
    assert look(first, "SOCK_STREAM", "10.99.0.1").interface.name == first.device
    first.ip("rule", "del", "ipproto", "udp", "dport", "7777")
    first.ip("route", "add", "10.99.0.1/32", "dev", "other")
    assert look(first, "SOCK_DGRAM", "10.99.0.1").interface.name == "other"
    path = look(first, "SOCK_DGRAM", "10.99.0.1", first.device)
    assert (path.interface.name, path.gateway) == (first.device, second.address)
