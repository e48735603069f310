"""How a host is reached from others: its addresses, and the ports that may be used."""

import contextlib

import pytest

from halftrip.control.calling import connect
from halftrip.control.greeting import Guest, introduce
from halftrip.control.listener import Listener
from halftrip.control.network import ANY, Network
from halftrip.control.protocol import Address
from harness.groups import TOKEN
from harness.served import free_port
from harness.threads import in_thread

GUEST = Guest("control", 1)


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
