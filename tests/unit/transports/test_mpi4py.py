"""mpi4py's calls: those of each mode, without a frame of halftrip's around them where there need be
none, and none left when an endpoint is closed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from halftrip.errors import Unavailable
from halftrip.mpi.library import timed_tag
from halftrip.registry import TRANSPORTS
from halftrip.results.patterns import SHAPES
from halftrip.transports.base import EndpointBuffers, PathSettings
from halftrip.transports.python import mpi4py, mpi4py_object, patterns
from halftrip.transports.python.endpoint import PythonEndpoint
from halftrip.transports.python.mpi4py import BufferCalls, Peer, PersistentRequests
from halftrip.transports.python.mpi4py_object import PeerObjectCalls
from harness.bench import pair, process
from harness.runs import configuration

PEER, TAG = 1, 99
NAMES = ("mpi4py", "mpi4py-object")
# Called with any arguments, and nothing of Python's own.
ANYTHING = "".format
CALLS = ("Send", "Ssend", "Recv", "Sendrecv", "send", "ssend", "recv", "sendrecv")


class Prequest:
    def __init__(self, buffer, peer, tag):
        self.buffer, self.address = buffer, (peer, tag)
        self.started = self.completed = self.freed = 0

    def Start(self):
        assert self.started == self.completed
        self.started += 1

    def Wait(self):
        assert self.started == self.completed + 1
        self.completed += 1

    def Free(self):
        assert self.started == self.completed
        self.freed += 1


class Communicator(SimpleNamespace):
    """Its calls do nothing; persistent requests count theirs."""

    def __init__(self):
        super().__init__(**dict.fromkeys(CALLS, ANYTHING))
        self.made = []

    def Send_init(self, *arguments):
        self.made.append(Prequest(*arguments))
        return self.made[-1]

    Recv_init = Send_init


@pytest.fixture
def peer():
    return Peer(Communicator(), PEER, TAG)


def buffers(count=3):
    return np.zeros((count, 8), np.uint8), np.zeros((count, 8), np.uint8)


def frames(work):
    """The functions of Python that `work` calls, itself left out."""
    called = []

    def note(frame, event, argument):
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return called[1:]


def object_calls(peer, **fields):
    return PeerObjectCalls(configuration("mpi4py-object", **({"object": "bytes"} | fields)), peer)


@pytest.mark.parametrize("initiates", [True, False])
@pytest.mark.parametrize("pattern", ["pingpong", "stream", "exchange", "bidirectional"])
@pytest.mark.parametrize("make", [BufferCalls, object_calls])
def test_a_blocking_call_is_mpi4py_s_own(peer, make, pattern, initiates):
    iterate = patterns.blocking(make(peer), pattern, initiates, *buffers(), 2)
    assert frames(lambda: iterate(10)) == ["iterate"]


def test_a_closed_endpoint_has_freed_its_requests(peer):
    ring = SimpleNamespace(slots=3, arrays=buffers()[0])
    requests = PersistentRequests(peer)
    persistent = configuration("mpi4py", mode="persistent")
    both = EndpointBuffers(out=ring, in_=ring, clock=None)
    endpoint = PythonEndpoint(requests, persistent, True, both)
    assert endpoint.run(1, 2, 3).times.shape == (3,)
    endpoint.close()
    endpoint.close()
    assert [request.freed for request in peer.communicator.made] == [1] * 6


def test_an_object_is_made_before_the_loop_unless_it_is_verified(peer):
    sent = []
    peer.communicator.send = lambda *arguments: sent.append(arguments)
    message = np.zeros(3, np.uint8)
    calls = [object_calls(peer, verify=verify).send(message) for verify in (False, True)]
    message[:] = 7
    for call in calls:
        call()
    assert sent == [(bytes(3), PEER, TAG), (b"\7\7\7", PEER, TAG)]
    # What is received is kept where it is verified.
    peer.communicator.recv = lambda *arguments: b"abc"
    for verify in (False, True):
        object_calls(peer, verify=verify).recv(message)()
        assert message.tobytes() == (b"abc" if verify else b"\7\7\7")


@pytest.mark.parametrize("name", NAMES)
def test_without_mpi_there_is_no_path_and_else_one_with_a_tag_for_each_thread(name):
    transport = TRANSPORTS.load(name)(process(no_mpi="no MPI here"))
    assert transport.missing(pair()) == "no MPI here"
    with pytest.raises(Unavailable, match="no MPI here"):
        transport.path(pair(), PathSettings("spin"))
    transport = TRANSPORTS.load(name)(process(communicator=Communicator()))
    tags = {
        transport.path(pair(thread=number), PathSettings("spin"))._peer.tag for number in range(3)
    }
    assert tags == {timed_tag(number) for number in range(3)}


SSEND = {"mode": "ssend"}
PERSISTENT = {"mode": "persistent"}


@pytest.mark.parametrize(
    ("name", "fields", "refusal"),
    [
        ("mpi4py", SSEND | {"pattern": "exchange"},
         "no ssend exchange, only blocking, nonblocking, persistent"),
        ("mpi4py", PERSISTENT | {"cache": "cold"},
         "--cache cold: a persistent request is bound to one buffer"),
        ("mpi4py", {"pattern": "put", "mode": "onesided"},
         "one-sided calls are measured with -t mpi only"),
        ("mpi4py-object", PERSISTENT | {"object": "bytes"},
         "mpi4py has no persistent calls for objects"),
        ("mpi4py-object", {"object": "bytes", "buffers": "same"},
         "--buffers same: an object that is received is a new one"),
    ],
)  # fmt: skip
def test_what_mpi4py_cannot_do_is_refused_with_the_reason(name, fields, refusal):
    transport = TRANSPORTS.load(name)(process())
    assert transport.refuses(configuration(name, **fields)) == refusal


def test_buffers_have_every_two_sided_pattern_in_every_mode():
    of_mode = TRANSPORTS.load("mpi4py").capabilities.patterns
    for pattern, shape in SHAPES.items():
        modes = {mode for mode, found in of_mode.items() if pattern in found}
        expected = set(shape.modes) - {"onesided"}
        assert modes == (expected if pattern in ("pingpong", "stream") else expected - {"ssend"})


def test_a_message_that_is_longer_than_counts_is_one_element_of_a_type(monkeypatch):
    monkeypatch.setattr(mpi4py, "contiguous", str)
    monkeypatch.setattr(mpi4py, "counts_to", lambda: 2**31 - 1)
    monkeypatch.setattr(mpi4py_object, "counts_to", lambda: 2**31 - 1)
    long = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31,), (0,))
    assert mpi4py.counted(long) == (long, 1, str(2**31))
    assert mpi4py.counted(long[1:]).nbytes == 2**31 - 1
    objects = configuration("mpi4py-object", size=2**31 - 10, object="bytes")
    transport = TRANSPORTS.load("mpi4py-object")(process())
    said = "mpi4py counts the bytes of an object, at most 2147483647 with this MPI"
    assert transport.obstacle(objects, pair()) == said
