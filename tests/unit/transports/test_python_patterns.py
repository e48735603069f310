"""The patterns in Python: they send the same messages as the native ones, and a transport needs
nothing else."""

import resource
import socket
import threading
from functools import partial
from unittest import mock

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import best_source
from halftrip.results.patterns import SHAPES
from halftrip.transports.python import patterns
from halftrip.transports.python.endpoint import MessageCalls, clock_figures, timestamps
from harness.ends import messages
from harness.threads import in_thread

CLOCK = best_source()


class Recorder:
    """A path whose messages keep their boundaries, and which records what goes each way."""

    def __init__(self):
        self.pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
        self.ends = [pair[0] for pair in self.pairs]
        self.sent = ([], [])
        self.threads = [
            threading.Thread(target=self.carry, args=(side,), daemon=True) for side in (0, 1)
        ]
        for thread in self.threads:
            thread.start()

    def carry(self, side):
        source, target = self.pairs[side][1], self.pairs[1 - side][1]
        while packet := source.recv(1 << 20):
            self.sent[side].append(packet)
            target.send(packet)

    def close(self):
        for end in self.ends:
            end.close()
        for thread in self.threads:
            thread.join(timeout=10)
            assert not thread.is_alive()
        for pair in self.pairs:
            pair[1].close()


class PythonMessages:
    """The messages of a Python transport, over a socket."""

    def __init__(self, connection):
        self.connection = connection

    def send(self, out):
        self.connection.send(out)

    def recv(self, into):
        assert self.connection.recv_into(into) == len(into)


def native_part(connection, pattern, initiates, out, in_):
    end = _native.PollingStream(connection.fileno(), connection.fileno(), True)
    connection.setblocking(False)
    call = _native.initiate if initiates else _native.respond
    call(end, pattern, _native.Ring(out), _native.Ring(in_), 4, 1, 2, np.zeros(3, np.int64), CLOCK)


def python_part(connection, pattern, initiates, out, in_):
    calls = MessageCalls(PythonMessages(connection))
    iterate = patterns.blocking(calls, pattern, initiates, out, in_, 4)
    timestamps(iterate, 1, 2, 2)


def sequence(pattern, first, second):
    """The messages each way when `first` initiates and `second` responds."""
    recorder = Recorder()
    buffers = [(messages(3, 100, end), np.zeros((3, 100), np.uint8)) for end in (1, 2)]
    finish = in_thread(lambda: second(recorder.ends[1], pattern, False, *buffers[1]))
    first(recorder.ends[0], pattern, True, *buffers[0])
    assert finish() is None
    recorder.close()
    return recorder.sent


@pytest.mark.parametrize("pattern", patterns.PATTERNS)
def test_python_and_native_patterns_send_the_same_messages(pattern):
    native = sequence(pattern, native_part, native_part)
    assert sum(map(len, native)) > 0
    assert "blocking" in SHAPES[pattern].modes
    assert sequence(pattern, python_part, python_part) == native
    assert sequence(pattern, native_part, python_part) == native
    assert sequence(pattern, python_part, native_part) == native


class Named(patterns.Requests):
    """Requests by the names of their buffers: each call of a window is its names."""

    def __init__(self, in_turn):
        self.in_turn = in_turn
        self.blocking = self

    def send(self, message):
        return f"send {message[0]}"

    def recv(self, into):
        return f"recv {into[0]}"

    def window(self, requests):
        return [partial(self.made.append, tuple(requests))]

    def names(self, pattern, initiates, out=(1, 2), in_=(3, 4), window=1):
        """The windows of the first three iterations."""
        self.made = []
        columns = (np.array(buffers, np.uint8)[:, None] for buffers in (out, in_))
        patterns.nonblocking(self, pattern, initiates, *columns, window)(3)
        return self.made


@pytest.mark.parametrize(
    ("pattern", "in_turn", "initiates", "windows"),
    [
        ("pingpong", True, True, [("send 1",), ("recv 3",), ("send 2",), ("recv 4",)]),
        ("pingpong", True, False, [("recv 3",), ("send 1",), ("recv 4",), ("send 2",)]),
        ("pingpong", False, True, [("recv 3", "send 1"), ("recv 4", "send 2")]),
        ("pingpong", False, False, [("recv 3", "send 1"), ("recv 4", "send 2")]),
        ("exchange", True, True, [("recv 3", "send 1"), ("recv 4", "send 2")]),
        ("pingping", True, False, [("send 1", "recv 3"), ("send 2", "recv 4")]),
    ],
)
def test_a_ping_pong_of_requests_is_in_turn_where_they_are(pattern, in_turn, initiates, windows):
    requests = Named(in_turn)
    assert requests.names(pattern, initiates) == [*windows, *windows[: len(windows) // 2]]
    # A window of one buffer has a request for each message.
    requests.blocking = MessageCalls(mock.Mock())
    found = requests.names("stream", initiates, [7], [7], 3)
    assert found == [("send 7" if initiates else "recv 7",) * 3] * 3


def test_memory_for_timestamps_is_there_before_the_first():
    faults = []

    def iterate(count):
        if count == 7:
            faults.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt)

    timestamps(iterate, 7, 1, 50_000)
    after = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    # An object for each would be more than 390 pages.
    assert after - faults[0] < 100


def test_timestamps_are_taken_after_each_batch_of_iterations():
    counts = []
    moments = list(timestamps(counts.append, 2, 5, 3))
    assert counts == [2, 5, 5, 5]
    assert len(moments) == 4
    assert moments == sorted(moments)
    assert all(figure > 0 for figure in clock_figures())
