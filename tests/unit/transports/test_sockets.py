"""What is asked of sockets is set at both ends of a path, and refused or reported where the kernel
does not give it."""

import contextlib
import errno
import gc
import os
import signal
import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.results.configuration import TUNABLE, Tuning
from halftrip.results.patterns import SHAPES
from halftrip.transports.base import PathSettings
from halftrip.transports.native import sockets, stream
from halftrip.transports.native.stream import TcpTransport
from harness.bench import pair, process
from harness.ends import unread
from harness.limits import AMPLE_SECONDS
from harness.paths import NOTHING, added, connect, exchange, held, make_paths, opened
from harness.runs import configuration

SOCKETS = tuple(TUNABLE)
KERNEL = Path("/proc/sys/net")
# For everybody.
ALLOWED = (KERNEL / "ipv4/tcp_allowed_congestion_control").read_text().split()
ALGORITHMS = (KERNEL / "ipv4/tcp_available_congestion_control").read_text().split()
TCP_NODELAY = (socket.IPPROTO_TCP, socket.TCP_NODELAY)
TOS = (socket.IPPROTO_IP, socket.IP_TOS)
BUSY_POLL = (socket.SOL_SOCKET, sockets.SO_BUSY_POLL)


@contextlib.contextmanager
def ends_of(name, tuning, **fields):
    """The sockets of both ends of a path."""
    with opened(name, ("block", "block"), tuning, **fields) as paths, contextlib.ExitStack() as own:
        yield [
            own.enter_context(socket.socket(fileno=os.dup(descriptor)))
            for path in paths
            for descriptor in descriptors(path)
        ]


def descriptors(path):
    return [path._socket.fileno()] if hasattr(path, "_socket") else path.descriptors


def values(name, tuning, level, option, *size, **fields):
    with ends_of(name, tuning, **fields) as ends:
        return [end.getsockopt(level, option, *size) for end in ends]


@pytest.mark.parametrize("same_host", [True, False])
@pytest.mark.parametrize(
    ("name", "tuning", "option", "value"),
    [
        ("tcp", Tuning(nodelay=True), TCP_NODELAY, 1),
        ("tcp", Tuning(nodelay=False), TCP_NODELAY, 0),
        ("tcp", Tuning(dscp=46), TOS, 46 << 2),
        ("udp", Tuning(dscp=46), TOS, 46 << 2),
        ("tcp", Tuning(busy_poll=50), BUSY_POLL, 50),
        ("udp", Tuning(busy_poll=50), BUSY_POLL, 50),
        ("tcp", Tuning(zerocopy=True), (socket.SOL_SOCKET, sockets.SO_ZEROCOPY), 1),
        # Less the options of each header, as timestamps.
        ("tcp", Tuning(mss=1000), (socket.IPPROTO_TCP, socket.TCP_MAXSEG), range(960, 1001)),
    ],
)
def test_both_ends_have_what_was_asked_for(name, tuning, option, value, same_host):
    for found in values(name, tuning, *option, same_host=same_host):
        assert found in value if isinstance(value, range) else found == value


@pytest.mark.parametrize("algorithm", ALLOWED)
def test_both_ends_have_the_congestion_control_that_was_asked_for(algorithm):
    tuning = Tuning(congestion=algorithm)
    found = values("tcp", tuning, socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert [each.rstrip(b"\0").decode() for each in found] == [algorithm] * 2


def test_packets_over_ipv6_have_the_code_point():
    with ends_of("tcp", Tuning(dscp=46), same_host=False) as ends:
        for end in ends:
            if end.family == socket.AF_INET6:
                assert end.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS) == 46 << 2


@pytest.mark.parametrize("name", SOCKETS)
@pytest.mark.parametrize("same_host", [True, False])
def test_both_ends_have_the_buffers_that_were_asked_for(name, same_host):
    tuning = Tuning(socket_buffer=96 << 10)
    doubled = [192 << 10] * 2
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        # The kernel doubles what it is asked for.
        assert values(name, tuning, socket.SOL_SOCKET, option, same_host=same_host) == doubled


@pytest.mark.parametrize("name", SOCKETS)
def test_what_the_kernel_gives_less_of_is_reported(name):
    most = [int((KERNEL / f"core/{kind}mem_max").read_text()) for kind in "wr"]
    with opened(name, ("block", "block"), Tuning(socket_buffer=1 << 30)) as paths:
        for path in paths:
            lines = list(path.shortfalls)
            assert [line.split(" allows ")[0] for line in lines] == [
                f"{name}: --socket-buffer 1G: net.core.{kind}mem_max" for kind in "wr"
            ]
            assert [line.split(" allows ")[1] for line in lines] == [
                sockets.format_size(each) for each in most
            ]
    with opened(name, ("block", "block"), Tuning(socket_buffer=64 << 10)) as paths:
        assert [list(path.shortfalls) for path in paths] == [[], []]


def test_an_unknown_congestion_control_is_refused_with_those_that_there_are():
    before = held()
    with pytest.raises(Unavailable) as refused:
        TcpTransport(process()).path(pair(), PathSettings("block", Tuning(congestion="nosuch")))
    assert str(refused.value) == (
        f"--congestion nosuch: not in this kernel, which has {', '.join(ALGORITHMS)}"
    )
    assert added(before) == NOTHING


class WithoutPrivileges(socket.socket):
    """Of a user without privileges, where the kernel wants some."""

    def setsockopt(self, level, option, value):
        raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize(
    ("tuning", "reason"),
    [
        (Tuning(busy_poll=50), "--busy-poll 50us: Operation not permitted; it needs CAP_NET_ADMIN"),
        (Tuning(congestion="bbr"), ("--congestion bbr: for root alone; "
                                    "net.ipv4.tcp_allowed_congestion_control has the others")),
    ],
)  # fmt: skip
def test_what_takes_a_privilege_is_refused_with_its_name(tuning, reason):
    with WithoutPrivileges() as end, pytest.raises(Unavailable) as refused:
        sockets.tune(end, tuning)
    assert str(refused.value) == reason


@pytest.mark.parametrize("same_host", [True, False])
def test_every_connection_is_set_up(same_host):
    tuning = Tuning(streams=5, socket_buffer=96 << 10, nodelay=False)
    with ends_of("tcp", tuning, same_host=same_host) as ends:
        assert len(ends) == 2 * 5
        peers = [(end.getsockname()[1], end.getpeername()[1]) for end in ends]
        # In the same order at both ends.
        assert [(there, here) for here, there in peers[:5]] == peers[5:]
        for end in ends:
            assert end.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) == 192 << 10
            assert not end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_messages_go_over_the_connections_in_turn():
    tuning = Tuning(streams=3)
    with opened("tcp", ("block", "block"), tuning) as paths:
        first, second = (path.native_end("Blocking", None) for path in paths)
        for number in range(5):
            first.send(np.full(100 + number, number, dtype=np.uint8))
        waiting = [unread(descriptor) for descriptor in paths[1].descriptors]
        assert waiting == [100 + 103, 101 + 104, 102]
        for number in range(5):
            into = np.zeros(100 + number, dtype=np.uint8)
            second.recv(into)
            assert (into == number).all()


@pytest.mark.parametrize("tuning", [Tuning(streams=3), Tuning(zerocopy=True)], ids=repr)
@pytest.mark.parametrize("pattern", ["pingpong", "stream", "bidirectional", "exchange", "pingping"])
@pytest.mark.parametrize("wait", ["block", "spin"])
def test_several_connections_and_sends_in_place_carry_every_byte(tuning, pattern, wait):
    """Of two configurations that share a path, in two batches each."""
    shape = SHAPES[pattern]
    with opened("tcp", (wait, wait), tuning) as paths:
        for size in (1, 1001):
            window = 4 if shape.window else 1
            kind = {"pattern": pattern, "window": window, "tuning": tuning}
            the_configuration = configuration("tcp", size, wait, **kind, verify=True)
            for _ in range(2):
                initiator, responder = exchange(paths, the_configuration, (1, 2, 3))
                assert initiator.verified == initiator.messages * shape.initiator
                assert responder.verified == responder.messages * shape.responder


@contextlib.contextmanager
def in_place(slots, wait):
    """A native end that sends in place, and its peer's socket, which has little room."""
    with opened("tcp", ("block", "block"), Tuning(zerocopy=True)) as paths:
        for path in paths:
            path.set_blocking(wait == "Blocking")
        with socket.socket(fileno=os.dup(paths[1].descriptors[0])) as peer:
            peer.setblocking(True)
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            out = SimpleNamespace(out=SimpleNamespace(slots=slots))
            yield paths[0].native_end(wait, out), peer


class Call(threading.Thread):
    """A native call in a thread of its own, which `work` makes; what it has raised."""

    def __init__(self, work):
        super().__init__(daemon=True)
        self._work = work
        self.error = None
        self.start()
        time.sleep(0.05)
        assert self.is_alive()

    def run(self):
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            self.error = error


LITTLE = np.zeros(40 << 10, dtype=np.uint8)


@pytest.mark.parametrize("wait", ["Blocking", "Spinning", "Polling"])
def test_a_buffer_is_used_again_when_the_kernel_no_longer_reads_it(wait):
    """The second message has a buffer of its own, and room in the socket; the third has not."""
    with in_place(2, wait) as (sender, peer):
        for _ in range(2):
            sender.send(LITTLE)
        third = Call(lambda: sender.send(LITTLE))
        for _ in range(3):
            assert len(peer.recv(LITTLE.size, socket.MSG_WAITALL)) == LITTLE.size
        third.join(AMPLE_SECONDS)
        assert (third.error, third.is_alive()) == (None, False)
        sender.finish()


@pytest.mark.parametrize("wait", ["Blocking", "Spinning", "Polling"])
@pytest.mark.parametrize("name", ["send", "finish"])
def test_a_wait_for_a_buffer_ends_with_the_run(wait, name):
    with in_place(1, wait) as (sender, _):
        sender.send(LITTLE)
        call = Call(lambda: getattr(sender, name)(*[LITTLE] * (name == "send")))
        _native.request_stop()
        # Ends a sleep in the kernel, as the watchdog does.
        before = signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.pthread_kill(call.ident, signal.SIGUSR1)
        call.join(AMPLE_SECONDS)
        signal.signal(signal.SIGUSR1, before)
        _native.request_stop(False)
        assert isinstance(call.error, _native.Stopped)


@pytest.mark.parametrize("rank", [0, 1])
def test_where_one_of_several_connections_fails_none_is_left(rank, monkeypatch):
    gc.collect()
    before = held()
    paths = make_paths("tcp", tuning=Tuning(streams=4))
    calls = []

    def fail(end, tuning):
        calls.append(end)
        # The responder's are set up before and after they connect.
        if len(calls) == (7 if rank else 11):
            raise Unavailable("no more")

    monkeypatch.setattr(stream, "tune", fail)
    with pytest.raises(Unavailable, match="no more"):
        connect(paths)
    for path in paths:
        path.close()
    # A mapping of shared memory keeps a descriptor until it is collected.
    del path, paths
    gc.collect()
    assert added(before) == NOTHING


@pytest.mark.parametrize("name", SOCKETS)
def test_a_tuned_path_carries_every_byte(name):
    wished = {"socket_buffer": 32 << 10, "nodelay": False, "mss": 500, "dscp": 10}
    tuning = Tuning(**{key: wished[key] for key in TUNABLE[name] if key in wished})
    with opened(name, ("block", "block"), tuning) as paths:
        for pattern, window in (("pingpong", 1), ("stream", 4)):
            kind = {"pattern": pattern, "window": window, "tuning": tuning}
            the_configuration = configuration(name, 5000, "block", **kind, verify=True)
            verified = sum(end.verified for end in exchange(paths, the_configuration))
            assert verified > 0
        # A window would have the buffer of datagrams set to something else.
        if hasattr(paths[0], "_socket"):
            for path in paths:
                found = path._socket.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
                assert found == 64 << 10
