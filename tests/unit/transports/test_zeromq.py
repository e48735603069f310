"""ZeroMQ sockets: who may connect, and by which address."""

import sys
from contextlib import contextmanager
from socket import has_dualstack_ipv6

import msgspec
import pytest
import zmq
from zmq.utils.monitor import recv_monitor_message

from halftrip.control import network
from halftrip.control.protocol import Address
from halftrip.interpreter import install_command
from halftrip.registry import TRANSPORTS
from halftrip.transports.python import zeromq
from harness import paths
from harness.bench import pair, process
from harness.groups import TOKEN
from harness.need import need, need_root
from harness.paths import exchange, made, opened
from harness.runs import configuration
from harness.strangers import as_nobody, is_dropped

NAMES = ("zmq", "zmq-ipc")


def of(name, size=8, **fields):
    return configuration(name, size, **({"wait": "block", "socket": "pair"} | fields))


def address_of(path, kind):
    return msgspec.convert(paths.sent(path.address[kind]), Address)


@contextmanager
def stranger(path, password, kind="pair"):
    """What becomes of a socket that connects to the initiator's: its events."""
    context = zmq.Context()
    try:
        end = context.socket(zmq.PAIR if kind == "pair" else zmq.REP)
        end.plain_username, end.plain_password = b"halftrip", password
        events = end.get_monitor_socket()
        end.connect(zeromq._answering(address_of(path, kind)))
        yield events
    finally:
        context.destroy(linger=0)


def outcome(events):
    """The first event after the connection has been made."""
    while events.poll(5000):
        event = recv_monitor_message(events)["event"]
        if event not in (zmq.EVENT_CONNECT_DELAYED, zmq.EVENT_CONNECTED):
            return event
    return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("password", [b"another token", TOKEN.encode()])
def test_only_a_peer_that_knows_the_token_is_let_in(name, password):
    """What arrives may be unpickled. A password is a proof for one socket of one path: the token
    itself opens nothing, and is not sent."""
    with made(name) as (initiator, responder):
        with stranger(initiator, password) as events:
            # It asks first.
            assert initiator._door.poll(5000)
            paths.connect((initiator, responder))
            assert outcome(events) == zmq.EVENT_HANDSHAKE_FAILED_AUTH
            result, _ = exchange((initiator, responder), of(name, verify=True))
            assert result.verified == result.messages
        sent = {socket.plain_password for socket in responder._sockets.values()}
        assert len(sent) == 2
        assert not any(TOKEN.encode() in each for each in sent)
        # A Unix socket has no name in the file system.
        kind = b"tcp://" if name == "zmq" else b"ipc://@halftrip-"
        assert all(socket.last_endpoint.startswith(kind) for socket in initiator._sockets.values())


def test_another_user_does_not_even_ask_to_be_let_in():
    need_root("to be another user")
    with made("zmq-ipc") as (initiator, responder):
        assert as_nobody(is_dropped, address_of(initiator, "pair"))
        assert not initiator._door.poll(0)
        paths.connect((initiator, responder))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["pair", "req"])
def test_nobody_is_let_in_once_the_peer_is(name, kind):
    with opened(name) as (initiator, _), stranger(initiator, TOKEN.encode(), kind) as events:
        assert outcome(events) == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL


@pytest.mark.parametrize("same_host", [True, False])
def test_on_one_host_it_listens_on_loopback_alone(same_host):
    with opened("zmq", same_host=same_host) as (initiator, responder):
        for socket in initiator._sockets.values():
            here = socket.last_endpoint.startswith(b"tcp://127.0.0.1:")
            assert here == same_host
        result, _ = exchange((initiator, responder), of("zmq", verify=True))
        assert result.verified == result.messages


@pytest.mark.parametrize("host", ["127.0.0.1", "::ffff:127.0.0.1"])
def test_the_peer_s_host_may_have_an_address_of_either_version(host, monkeypatch):
    need(":" not in host or has_dualstack_ipv6(), "this machine has no IPv6")
    monkeypatch.setattr(network, "own_addresses", lambda interface: (host,))
    with opened("zmq", same_host=False) as (initiator, responder):
        for socket in responder._sockets.values():
            assert socket.last_endpoint.startswith(b"tcp://127.0.0.1:")
        result, _ = exchange((initiator, responder), of("zmq", verify=True))
        assert result.verified == result.messages


@pytest.mark.parametrize("name", NAMES)
def test_without_pyzmq_the_reason_says_how_to_install_it(name, monkeypatch):
    transport = TRANSPORTS.load(name)(process())
    assert transport.missing(pair()) is None
    monkeypatch.setitem(sys.modules, "zmq", None)
    why = "import of zmq halted; None in sys.modules"
    said = f"no pyzmq ({why}); {install_command('zmq')}"
    assert transport.missing(pair()) == said
