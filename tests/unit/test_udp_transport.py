"""The udp transport and what times it, both ranks in one process."""

import pytest

from halftrip.memory.ring import Ring
from halftrip.results.case import Case
from halftrip.transports.native import udp
from harness.bench import measure, scene


def case(pattern="pingpong", size=64, window=1, **changes):
    return Case(transport="udp", pattern=pattern, size=size, window=window, wait="spin", **changes)


@pytest.mark.parametrize(("pattern", "window"), [("pingpong", 1), ("stream", 8)])
@pytest.mark.parametrize("size", [8, 24, 1000])
def test_messages_that_are_as_they_were_sent_are_counted(pattern, window, size):
    outcome = measure(case(pattern, size, window, verify=True))
    assert outcome.problem is None
    assert outcome.verified > 0
    assert outcome.delivery.sent > 0
    assert outcome.samples.size > 0


@pytest.mark.parametrize(("pattern", "window"), [("pingpong", 1), ("stream", 8)])
@pytest.mark.parametrize("buffers", ["same", "separate"])
def test_a_wrong_byte_is_found(pattern, window, buffers, monkeypatch):
    fill = Ring.fill

    def spoilt(ring, slots, seeds):
        fill(ring, slots, seeds)
        ring.region[slots * 1024 + 500] ^= 0x10

    monkeypatch.setattr(Ring, "fill", spoilt)
    outcome = measure(case(pattern, 1024, window, buffers=buffers, verify=True))
    assert outcome.problem.startswith(("rank 0: byte 500 is 0x", "rank 1: byte 500 is 0x"))


@pytest.mark.parametrize(("pattern", "window"), [("pingpong", 1), ("stream", 8)])
def test_a_path_that_has_gone_dead_is_a_problem_of_the_case(pattern, window):
    """The responder's socket hears somebody else from now on."""

    def spoil(rank, opened):
        if rank == 1:
            opened.socket.connect(("127.0.0.1", 9))

    outcome = measure(case(pattern, window=window), spoil=spoil, timeout=0.1)
    assert outcome.problem.startswith(("rank 0: no ", "rank 0: Connection refused"))


@pytest.mark.parametrize("same_host", [True, False])
def test_a_path_opens_on_whichever_address_works(same_host):
    ends = [udp.Transport(scene(rank, same_host)) for rank in (0, 1)]
    offer = ends[0].listen("block")
    connected = []
    # The peer accepts when the step of connecting is over.
    connected.append(ends[1].connect(offer, "block"))
    connected.append(ends[0].accept("block"))
    there, here = (opened.socket for opened in connected)
    assert there.getpeername() == here.getsockname()
    assert here.getpeername() == there.getsockname()
    here.send(b"x")
    assert there.recv(10) == b"x"
    for opened in connected:
        opened.close()


def test_what_is_listening_can_be_abandoned():
    end = udp.Transport(scene(0))
    end.listen("spin")
    end.abandon()


@pytest.mark.parametrize(
    ("the_case", "reason"),
    [
        (case(size=0), "an empty datagram has no room for its number"),
        (case(size=65507), None),
        (case(size=65508), "a datagram holds at most 65507 bytes"),
        (case(rate=1e6), "--rate: only a stream of udp has one"),
        (case("stream", rate=1e6, window=64), None),
        (case("bidirectional"), "udp has no bidirectional, only pingpong, stream"),
        (case("bidirectional", size=65508), "udp has no bidirectional, only pingpong, stream"),
        (case(mode="ssend"), "udp has no ssend calls, only blocking"),
        (case("put", mode="onesided"), "a datagram has no memory to reach into"),
        (case(datatype="vector"), "--datatype vector: only MPI has datatypes"),
    ],
)
def test_what_it_refuses(the_case, reason):
    assert udp.Transport(scene(0)).refuses(the_case) == reason


def test_the_path_writes_the_header_itself():
    """A datagram's number; at a rate, which makes jitter mean something, also when it was sent."""
    transport = udp.Transport(scene(0))
    sizes = (1, 8, 12, 16, 100)
    paced = [transport.header(case("stream", size, rate=1e6)) for size in sizes]
    assert paced == [1, 8, 8, 16, 16]
    assert [transport.header(case("stream", size)) for size in sizes] == [1, 8, 8, 8, 8]
    assert [transport.header(case(size=size)) for size in sizes] == [1, 8, 8, 8, 8]


@pytest.mark.parametrize("rate", [None, 1e6])
def test_a_stream_has_jitter_at_a_rate_alone(rate):
    outcome = measure(case("stream", 64, 8, rate=rate))
    assert outcome.problem is None
    assert (outcome.delivery.jitter is None) == (rate is None)
