"""The MPI endpoints over functions that only write down their calls: no MPI is needed."""

import gc

import numpy as np
import pytest

from halftrip import _native
from harness.fake_mpi import BYTE, COMMUNICATOR, DATATYPE, FAILURE, PEER, TAG, FakeMpi

INT_MAX = 2**31 - 1


def ring(slots=1, size=8, stride=None):
    """Buffers that nobody touches, so that they may be larger than their memory."""
    stride = stride or size
    memory = np.zeros(64, dtype=np.uint8)
    return _native.Ring(np.lib.stride_tricks.as_strided(memory, (slots, size), (stride, 1)))


def initiate(endpoint, pattern, out, in_, window=1, untimed=0, samples=1):
    timestamps = np.zeros(samples + 1, dtype=np.int64)
    _native.initiate(endpoint, pattern, out, in_, window, untimed, 1, timestamps, "monotonic")


# Persistent requests.


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("max_window", [1, 3, 4])
def test_every_persistent_request_is_freed_once(slots, max_window):
    mpi = FakeMpi()
    endpoint = mpi.persistent(ring(slots), ring(slots), max_window)
    assert mpi.made >= 2 * max_window
    assert mpi.freed == []
    del endpoint
    gc.collect()
    assert sorted(mpi.freed) == list(range(1, mpi.made + 1))


@pytest.mark.parametrize("init", ["MPI_Send_init", "MPI_Recv_init"])
@pytest.mark.parametrize("number", [0, 1, 4])
def test_requests_made_before_one_that_fails_are_freed(init, number):
    mpi = FakeMpi(fails={init: number})
    with pytest.raises(_native.MpiError, match=str(FAILURE)):
        mpi.persistent(ring(), ring(), 5)
    assert mpi.made == number + (5 if init == "MPI_Recv_init" else 0)
    assert sorted(mpi.freed) == list(range(1, mpi.made + 1))


def test_persistent_requests_are_for_their_own_buffers_alone():
    mpi = FakeMpi()
    out, in_ = ring(2), ring(2)
    endpoint = mpi.persistent(out, in_, 1)
    assert not hasattr(endpoint, "send")
    others = [(ring(2), in_), (out, ring(2)), (out, out)]
    for buffers in others:
        with pytest.raises(ValueError, match="bound to other buffers"):
            initiate(endpoint, "pingpong", *buffers)
    # The right memory, but another buffer is next.
    initiate(FakeMpi().blocking(), "pingpong", out, in_)
    with pytest.raises(ValueError, match="bound to other buffers"):
        initiate(endpoint, "pingpong", out, in_)
    assert mpi.count("MPI_Start") == 0


# Windows of messages.


@pytest.mark.parametrize("kind", ["nonblocking", "persistent"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream", "exchange", "bidirectional"])
def test_a_window_longer_than_the_requests_is_refused(kind, pattern):
    mpi, out, in_ = FakeMpi(), ring(), ring()
    buffers = (out, in_) if kind == "persistent" else ()
    endpoint = getattr(mpi, kind)(*buffers, max_window=4)
    before = len(mpi.calls)
    for window in (5, 1000, 2**62):
        with pytest.raises(ValueError, match="longer than the endpoint was made for"):
            initiate(endpoint, pattern, out, in_, window)
    assert len(mpi.calls) == before
    initiate(endpoint, pattern, out, in_, 4, untimed=1, samples=3)
    with pytest.raises(ValueError, match="2147483647 requests"):
        FakeMpi().nonblocking(INT_MAX // 2 + 1)


@pytest.mark.parametrize("fails", ["MPI_Isend", "MPI_Irecv", "MPI_Waitall"])
def test_after_a_failure_no_request_is_overwritten(fails):
    mpi = FakeMpi(fails={fails: 0 if fails == "MPI_Waitall" else 2})
    endpoint = mpi.nonblocking(4)
    with pytest.raises(_native.MpiError, match=str(FAILURE)):
        initiate(endpoint, "bidirectional", ring(), ring(), window=4)
    before = len(mpi.calls)
    with pytest.raises(RuntimeError, match="still active"):
        initiate(endpoint, "bidirectional", ring(), ring(), window=4)
    assert len(mpi.calls) == before


# Sizes and types.


def test_messages_are_counted_in_bytes_or_are_one_of_their_type():
    mpi = FakeMpi()
    endpoint = mpi.blocking(typed_size=24, typed_extent=40)
    for size in (24, 25, 0):
        endpoint.send(np.zeros(size, dtype=np.uint8))
    sent = [call[2:] for call in mpi.calls]
    rest = (PEER, TAG, COMMUNICATOR)
    assert sent == [(1, DATATYPE, *rest), (25, BYTE, *rest), (0, BYTE, *rest)]


def large(size):
    """One array of so many bytes that nobody touches."""
    return np.lib.stride_tricks.as_strided(np.zeros(1, dtype=np.uint8), (size,), (1,))


def endpoints_of(mpi):
    yield mpi.blocking(), ("pingpong", "stream", "exchange")
    yield mpi.nonblocking(4), ("pingpong", "stream", "bidirectional")
    yield mpi.window(0, 2**40), ("put", "get")


def test_no_message_is_longer_than_an_int():
    for size in (INT_MAX + 1, 2**32 + 8):
        mpi = FakeMpi()
        for endpoint, patterns in endpoints_of(mpi):
            for pattern in patterns:
                with pytest.raises(ValueError, match="no more than 2147483647 bytes"):
                    initiate(endpoint, pattern, ring(size=size), ring(size=size))
        with pytest.raises(ValueError, match="no more than 2147483647 bytes"):
            mpi.persistent(ring(size=size), ring(size=size), 1)
        for name in ("send", "recv"):
            with pytest.raises(ValueError, match="no more than 2147483647 bytes"):
                getattr(mpi.blocking(), name)(large(size))
        assert mpi.calls == []
    mpi.blocking().send(large(INT_MAX))
    # One element of a type may be as large as it likes.
    mpi.blocking(typed_size=INT_MAX + 1, typed_extent=INT_MAX + 1).send(large(INT_MAX + 1))
    assert [call[2] for call in mpi.calls] == [INT_MAX, 1]


# Windows of memory.


@pytest.mark.parametrize("pattern", ["put", "get"])
def test_buffers_that_do_not_fit_the_window_are_refused(pattern):
    mpi = FakeMpi()
    room = 3 * 64 + 8  # the last of four buffers needs its own bytes alone

    def reach(base, size, **typed):
        rings = [ring(4, 8, 64) for _ in range(2)]
        initiate(mpi.window(base, size, **typed), pattern, *rings, window=4)

    for base, size, typed in [
        (0, room - 1, {}),
        (64, room + 63, {}),
        (0, room, {"typed_size": 8, "typed_extent": 9}),
    ]:
        with pytest.raises(ValueError, match="do not fit into the peer's window"):
            reach(base, size, **typed)
    with pytest.raises(ValueError, match="begin behind the peer's window"):
        reach(65, 64)
    assert mpi.calls == []
    reach(64, room + 64)
    reach(0, room + 1, typed_size=8, typed_extent=9)
    moves = [call[5] for call in mpi.calls if call[0] == f"MPI_{pattern.capitalize()}"]
    assert moves == [64, 128, 192, 256, 0, 64, 128, 192]
