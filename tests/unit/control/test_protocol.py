"""Messages between processes, and who may connect: only peers that know the token."""

import contextlib
import socket
import struct
import time

import pytest

from halftrip.control.protocol import (
    Abort,
    Ack,
    Address,
    Assignment,
    Bye,
    Channel,
    Closed,
    Hello,
    Listener,
    Progress,
    RecordLines,
    connect,
    introduce,
)
from halftrip.errors import HalftripError, Interrupted, UsageError
from harness.threads import in_thread

TOKEN = "right"


@pytest.fixture
def pair():
    ends = [Channel(end) for end in socket.socketpair()]
    yield ends
    for end in ends:
        end.close()


@pytest.mark.parametrize(
    "message",
    [
        Abort("reason", usage=True),
        Ack(),
        Bye(),
        RecordLines(b"{}\n", last=True),
        Progress(1, 2, "shm 8"),
        Assignment(b"{}", Address(hosts=("127.0.0.1",), port=1), progress=False),
        introduce(TOKEN, "control", 3, Address(unix="name")),
        introduce(TOKEN, "group", 3, thread=5),
    ],
)
def test_every_message_arrives_as_it_was(pair, message):
    pair[0].send(message)
    assert pair[1].receive() == message


@pytest.mark.parametrize(
    ("error", "abort"),
    [
        (HalftripError("no space left"), Abort("no space left")),
        (UsageError("--ranks: 1 is too few"), Abort("--ranks: 1 is too few", usage=True)),
        (Interrupted(""), Abort("Interrupted")),
        # A defect of the program, whose text alone says nothing.
        (KeyError("size"), Abort("rank 3 failed: KeyError: 'size'")),
    ],
)
def test_an_abort_says_why_a_rank_s_work_ended(error, abort):
    assert Abort.of(error, rank=3) == abort


def test_an_abort_is_raised_as_the_kind_of_error_that_it_was():
    assert type(Abort("no space left").error()) is HalftripError
    error = Abort("--ranks: 1 is too few", usage=True).error()
    assert (type(error), str(error)) == (UsageError, "--ranks: 1 is too few")


def test_messages_keep_their_order_and_boundaries(pair):
    for size in (0, 1, 5, 1000):
        pair[0].send_bytes(b"x" * size)
    assert [len(pair[1].receive_bytes()) for _ in range(4)] == [0, 1, 5, 1000]


def test_receiving_from_a_closed_channel_raises_closed(pair):
    pair[0].close()
    with pytest.raises(Closed):
        pair[1].receive()


@pytest.mark.parametrize("payload", [b"nonsense", b"", b"\x81\xa4type\xa4Evil"])
def test_bytes_that_are_no_message_raise_closed(pair, payload):
    pair[0].send_bytes(payload)
    with pytest.raises(Closed):
        pair[1].receive()


def test_a_message_of_impossible_length_is_not_waited_for(pair):
    pair[0].socket.sendall(struct.pack("!I", 0xFFFFFFFF))
    with pytest.raises(Closed, match="impossible"):
        pair[1].receive()


def accept_in_thread(listener):
    results = []
    return in_thread(lambda: results.append(listener.accept(10))), results


@pytest.mark.parametrize("reach", ["unix", "loopback", "network"])
def test_a_peer_with_the_token_is_accepted(reach):
    listener = Listener(TOKEN, reach)
    finish, results = accept_in_thread(listener)
    channel = connect(listener.address, introduce(TOKEN, "control", 1))
    assert finish() is None
    accepted, hello = results[0]
    assert hello.rank == 1
    channel.send(Bye())
    assert accepted.receive() == Bye()
    for end in (channel, accepted, listener):
        end.close()


def drip(stranger):
    """A greeting without end, a byte now and then."""
    with contextlib.suppress(ConnectionError):
        for byte in struct.pack("!I", 1000) + b"x" * 200:
            stranger.send(bytes([byte]))
            time.sleep(0.05)


def hello(token):
    return Hello(token=token, purpose="control", rank=1, pid=1)


GREETINGS = {
    "wrong token": lambda stranger: Channel(stranger).send(hello("wrong")),
    "token beyond ASCII": lambda stranger: Channel(stranger).send(hello("fälsch")),
    "no greeting": lambda stranger: Channel(stranger).send(Bye()),
    "garbage": lambda stranger: stranger.sendall(b"GET / HTTP/1.1\r\n\r\n"),
    "endless": lambda stranger: stranger.sendall(struct.pack("!I", 1 << 29) + b"x" * 5000),
    "dripping": drip,
    "silence": lambda stranger: None,
}


@pytest.mark.parametrize("greeting", GREETINGS)
def test_a_peer_without_the_token_is_turned_away(greeting, monkeypatch):
    monkeypatch.setattr("halftrip.control.protocol._GREETING_SECONDS", 0.2)
    began = time.monotonic()
    listener = Listener(TOKEN, "loopback")
    finish, results = accept_in_thread(listener)
    stranger = socket.create_connection(("127.0.0.1", listener.address.port))
    GREETINGS[greeting](stranger)
    assert finish() is None
    assert results == [None]
    assert time.monotonic() - began < 5
    stranger.close()
    listener.close()


def test_both_ends_notice_within_seconds_that_a_host_is_silent():
    listener = Listener(TOKEN, "loopback")
    finish, results = accept_in_thread(listener)
    channel = connect(listener.address, introduce(TOKEN, "control", 1))
    assert finish() is None
    for end in (channel, results[0][0]):
        assert 0 < end.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 5000
        assert end.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        end.close()
    listener.close()


def test_where_nobody_listens_the_error_names_the_port():
    with pytest.raises(OSError, match="no way to port 1"):
        connect(Address(hosts=("127.0.0.1",), port=1), introduce(TOKEN, "control", 1))


def test_a_peer_that_went_without_reading_ends_a_poll():
    """The kernel resets such a connection, which is an error of its own."""
    near, far = socket.socketpair()
    channel = Channel(near)
    channel.send(Bye())
    far.close()
    channel.poll(1.0)
    with pytest.raises(Closed):
        channel.receive()
    channel.close()
