"""How a host is reached from others: its addresses, and the ports that may be used."""

import contextlib
import socket

import pytest

from halftrip.control.calling import connect
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener
from halftrip.control.network import ANY, Network, own_addresses
from halftrip.control.protocol import Address
from halftrip.errors import UsageError
from harness.groups import TOKEN
from harness.threads import in_thread

GUEST = Guest("control", 1)


def free_port():
    with socket.create_server(("", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("interface", ["lo", "127.0.0.1", "127.0.0.0/8"])
def test_an_interface_is_a_name_an_address_or_a_network(interface):
    found = own_addresses(interface)
    assert "127.0.0.1" in found
    assert set(found) <= {"127.0.0.1", "::1"}
    assert Network(interface).bound_to("127.0.0.1") == "127.0.0.1"


def test_without_one_the_kernel_chooses():
    assert ANY.bound_to("127.0.0.1") is None
    assert ANY.addresses == own_addresses()


@pytest.mark.parametrize("interface", ["nope0", "203.0.113.7", "203.0.113.0/24", "", "\x1b[2J"])
def test_an_interface_that_is_not_there_is_named_with_those_that_are(interface):
    with pytest.raises(UsageError, match=r"lo 127\.0\.0\.1") as refused:
        own_addresses(interface)
    assert str(refused.value).isprintable()


def test_a_listener_keeps_to_the_ports():
    port = free_port()
    network = Network("lo", (port, port))
    with contextlib.closing(Listener(TOKEN, {GUEST}, network)) as first:
        assert first.address.port == port
        with pytest.raises(OSError, match="it is taken"):
            Listener(TOKEN, {GUEST}, network)
        with contextlib.closing(
            Listener(TOKEN, {GUEST}, Network("lo", (port, port + 20)))
        ) as next_:
            assert port < next_.address.port <= port + 20


def test_a_connection_begins_at_the_interface():
    with contextlib.closing(Listener(TOKEN, {GUEST}, ANY)) as listener:
        found = []
        finish = in_thread(lambda: found.append(listener.accept(10)))
        address = Address(hosts=("127.0.0.1",), port=listener.address.port)
        network = Network("127.0.0.2/8")
        with contextlib.closing(connect(address, TOKEN, introduce("control", 1), network=network)):
            assert finish() is None
            channel, _ = found[0]
            assert channel.socket.getpeername()[0].endswith("127.0.0.1")
            channel.close()


def test_another_host_may_know_better_at_which_address_it_reaches_this_one():
    with contextlib.closing(Listener(TOKEN, {GUEST}, Network(reached_at=("192.0.2.1",)))) as one:
        assert one.address.hosts == ("192.0.2.1",)
