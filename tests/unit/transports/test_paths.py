"""Paths of all transports that need only one process: they carry every pattern, and leave nothing
open, whichever end fails."""

import contextlib
import gc
import os
import socket
from contextlib import closing

import pytest

from halftrip.control.calling import connect, open_connection
from halftrip.control.greeting import introduce
from halftrip.control.protocol import Address, Closed
from halftrip.errors import Unavailable
from halftrip.registry import TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.transports.native import stream, udp
from halftrip.transports.native.pipe import PipePath
from halftrip.transports.python import zeromq
from harness import bench, paths
from harness.groups import TOKEN
from harness.need import need_root
from harness.paths import (
    IN_PROCESS,
    IN_PYTHON,
    NOTHING,
    added,
    exchange,
    held,
    made,
    make_paths,
    opened,
    usual,
)
from harness.runs import configuration
from harness.strangers import Greeting, as_nobody, is_dropped

# Where the initiator takes the first connection of a peer that knows the token.
LISTENING = ("unix", "tcp", "udp", "mp-pipe")
ZMQ = ("zmq", "zmq-ipc")
# What the responder says of itself.
PEER = introduce("transport", 1, to=0)


def capabilities(name):
    return TRANSPORTS.load(name).capabilities


CASES = [
    (name, wait, mode, pattern)
    for name in IN_PROCESS
    for wait in capabilities(name).waits
    for mode, patterns in capabilities(name).patterns.items()
    for pattern in patterns
]


@pytest.fixture(scope="module", autouse=True)
def _only_what_is_new_is_collected():
    """Collecting all objects of the process takes longer than most tests here."""
    paths.clock()
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _leaves_nothing():
    """Each test leaves as many file descriptors and threads as it found."""
    # What earlier tests left behind must not be collected in the course of this one.
    gc.collect()
    before = held()
    yield
    # A mapping of shared memory keeps a descriptor until it is collected.
    gc.collect()
    assert added(before) == NOTHING


@pytest.mark.parametrize(("name", "wait", "mode", "pattern"), CASES)
def test_every_declared_pattern_carries_every_message(name, wait, mode, pattern):
    shape = SHAPES[pattern]
    window = 4 if shape.window else 1
    kind = usual(name) | {"wait": wait, "pattern": pattern, "mode": mode, "window": window}
    the_configuration = configuration(name, 1001, **kind, verify=True)
    with opened(name, (wait, wait)) as ends:
        assert capabilities(name).refusal(the_configuration) is None
        initiator, responder = exchange(ends, the_configuration)
        assert initiator.verified == initiator.messages * shape.initiator
        assert responder.verified == responder.messages * shape.responder
        assert initiator.timed.times.size == 3
        assert (initiator.timed.times > 0).all()
        assert initiator.timed.start > 0
        # A responder takes times where that does not lengthen the initiator's.
        takes = pattern != "pingpong" and shape.responder and mode != "onesided"
        assert responder.timed.times.size == (3 if takes else 0)


SETTINGS = [
    {"name": name, "object": object_, "socket": socket}
    for name in IN_PYTHON
    for object_ in capabilities(name).settings.get("object", ("buffer",))
    for socket in capabilities(name).settings.get("socket", (None,))
]


@pytest.mark.parametrize(
    "setting", SETTINGS, ids=lambda setting: "-".join(map(str, setting.values()))
)
def test_every_object_and_socket_carries_every_byte(setting):
    name = setting["name"]
    (transport, _) = paths.transports(name)
    rest = {key: setting[key] for key in ("object", "socket")}
    verified = 0
    with opened(name) as ends:
        for pattern in ("pingpong", "stream", "pingping"):
            shape = SHAPES[pattern]
            kind = {"wait": "block", "pattern": pattern, "window": 3 if shape.window else 1}
            the_configuration = configuration(name, 5000, **kind, **rest, verify=True)
            if transport.refuses(the_configuration) is None:
                for end in exchange(ends, the_configuration):
                    verified += end.verified
    # Those of a pingpong at least, four each way.
    assert verified >= 2 * 4


@pytest.mark.parametrize("name", IN_PROCESS)
@pytest.mark.parametrize("same_host", [True, False])
def test_a_path_that_was_never_connected_is_closed(name, same_host):
    for path in make_paths(name, same_host=same_host):
        path.close()
        # Twice does no harm.
        path.close()


@pytest.mark.parametrize("name", ["pipe", *LISTENING, "mp-queue", *ZMQ])
def test_where_the_responder_cannot_connect_both_ends_are_closed(name):
    """The initiator has closed everything that its address names."""
    initiator, responder = make_paths(name)
    initiator.close()
    with pytest.raises(OSError, match=r".+"):
        responder.connect(paths.sent(initiator.address))
    responder.close()


@pytest.mark.parametrize("name", [*LISTENING, *ZMQ])
def test_an_initiator_whose_peer_never_connects_gives_up(name, monkeypatch):
    for module in (stream, udp, zeromq):
        monkeypatch.setattr(module, "ACCEPT_SECONDS", 0.02)
    with made(name) as (initiator, responder), pytest.raises(TimeoutError):
        initiator.connect(paths.sent(responder.address))


def listener_of(path):
    address = dict(path.address)
    address.pop("datagrams", None)
    return Address(**address | {"hosts": tuple(address["hosts"])})


@pytest.mark.parametrize("name", LISTENING)
def test_only_the_peer_is_let_in(name):
    """Nobody with another token, nor another rank of the job, nor the peer for another purpose;
    and however many say nothing at all."""
    with made(name) as (initiator, responder), contextlib.ExitStack() as silent:
        for _ in range(100):
            silent.enter_context(open_connection(listener_of(initiator)))
        for token, hello in (
            ("another token", PEER),
            (TOKEN, introduce("transport", 2, to=0)),
            (TOKEN, introduce("group", 1, to=0)),
        ):
            with pytest.raises(Closed):
                connect(listener_of(initiator), token, hello)
        paths.connect((initiator, responder))
        end, _ = exchange((initiator, responder), configuration(name, **usual(name), verify=True))
        assert end.verified == end.messages


@pytest.mark.parametrize("name", ["unix", "mp-pipe"])
def test_another_user_does_not_keep_the_peer_out(name):
    need_root("to be another user")
    with made(name) as ends:
        claim = Greeting(TOKEN, PEER, f"\0{listener_of(ends[0]).unix}").claim
        assert as_nobody(is_dropped, listener_of(ends[0]), claim)
        paths.connect(ends)


def test_an_initiator_of_datagrams_whose_peer_has_gone_gives_up():
    """The peer connected, and closed before it sent the port of its datagrams."""
    with made("udp") as (initiator, responder):
        connect(listener_of(initiator), TOKEN, PEER).close()
        with pytest.raises(Unavailable, match="the peer has gone"):
            initiator.connect(paths.sent(responder.address))


def test_an_initiator_that_can_make_one_pipe_alone_closes_it(monkeypatch):
    made = iter([os.pipe()])

    def pipe():
        for ends in made:
            return ends
        raise OSError("too many open files")

    monkeypatch.setattr(os, "pipe", pipe)
    with pytest.raises(OSError, match="too many"):
        PipePath(bench.pair(0))


@pytest.mark.parametrize("missing", ["read", "write"])
def test_a_responder_that_can_open_one_pipe_alone_closes_it(missing):
    with made("pipe") as (initiator, responder), pytest.raises(OSError, match=r".+"):
        responder.connect(initiator.address | {missing: 10**6})


@pytest.mark.parametrize("name", [name for name in IN_PROCESS if name not in ZMQ])
@pytest.mark.parametrize("rank", [0, 1])
def test_an_end_that_is_closed_first_closes_only_its_own_part(name, rank):
    ends = make_paths(name)
    paths.connect(ends)
    before, _ = held()
    ends[rank].close()
    between, _ = held()
    ends[1 - rank].close()
    after, _ = held()
    assert before - between == between - after


# Which address, and whose socket.


def test_datagrams_of_strangers_are_not_taken():
    """Neither those that were there before the peer, nor later ones."""
    with (
        made("udp", ("block", "block")) as (initiator, responder),
        closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as stranger,
    ):
        port, bound = initiator.address["datagrams"], udp._bound

        def bind_and_hear(*arguments):
            end = bound(*arguments)
            stranger.sendto(b"early", ("127.0.0.1", end.getsockname()[1]))
            return end

        udp._bound = bind_and_hear
        try:
            paths.connect((initiator, responder))
        finally:
            udp._bound = bound
        stranger.sendto(b"late", ("127.0.0.1", port))
        for path, peer in ((initiator, responder), (responder, initiator)):
            peer._socket.send(b"x")
            assert path._socket.recv(10) == b"x"


@pytest.mark.parametrize("same_host", [True, False])
def test_nobody_shares_the_ports_of_datagrams(same_host):
    """Else another user could speak for an end, or hear what is sent to it."""
    initiator, responder = make_paths("udp", same_host=same_host)
    # On one host they go to loopback alone.
    assert not same_host or initiator._reserved.getsockname()[0] == "127.0.0.1"
    with pytest.raises(OSError, match="in use"):
        udp._bound(socket.AF_INET, "127.0.0.1", initiator.address["datagrams"])
    paths.connect((initiator, responder))
    for path in (initiator, responder):
        host, port, *_ = path._socket.getsockname()
        with pytest.raises(OSError, match="in use"):
            udp._bound(path._socket.family, host, port)
        path.close()


@pytest.mark.parametrize("name", ["tcp", "unix"])
def test_nobody_can_connect_to_an_open_path(name):
    with opened(name, same_host=True) as ends:
        # On one host TCP listens on loopback alone.
        assert name == "unix" or ends[0].address["hosts"] == ("127.0.0.1",)
        with pytest.raises(OSError, match="refused"):
            connect(listener_of(ends[0]), TOKEN, PEER)
