"""MPI endpoints over functions that write down their calls; responders that touch memory, or say
when messages arrived."""

import gc
import socket
import time

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source, raw_now
from harness.ends import PAIRS, messages, shm_pair, window_pair
from harness.fake_mpi import BYTE, COMMUNICATOR, DATATYPE, FAILURE, PEER, TAG, FakeMpi
from harness.threads import in_thread

INT_MAX = 2**31 - 1
COUNTING = (
    *("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Irecv", "MPI_Send_init"),
    *("MPI_Recv_init", "MPI_Put", "MPI_Get"),
)


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


def endpoints_of(mpi, **most):
    yield mpi.blocking(**most), ("pingpong", "stream", "exchange", "pingping")
    yield mpi.nonblocking(4, **most), ("pingpong", "stream", "bidirectional")
    yield mpi.window(0, 2**40, **most), ("put", "get")


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


def test_functions_that_count_more_get_all_of_the_count():
    size = 2**32 + 8
    mpi = FakeMpi()
    for endpoint, patterns in endpoints_of(mpi, most=2**62):
        for pattern in patterns:
            initiate(endpoint, pattern, ring(size=size), ring(size=size))
    mpi.persistent(ring(size=size), ring(size=size), 1, most=2**62)
    # Acknowledgements have a byte or none.
    for name in COUNTING:
        assert {call[2] for call in mpi.calls if call[0] == name} - {0, 1} == {size}
    both = [call for call in mpi.calls if call[0] in ("MPI_Put", "MPI_Get", "MPI_Sendrecv")]
    assert {call[6 if call[0] != "MPI_Sendrecv" else 7] for call in both} == {size}


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


CLOCK = best_source()
TOUCHES = ("untimed", "timed")


def take_part(call, end, pattern, rings, times, touch, timing=(1, 2), window=3):
    call(end, pattern, *rings, window, *timing, times, CLOCK, None, touch)


@pytest.mark.parametrize("size", [1, 63, 65, 70_000])
@pytest.mark.parametrize("touch", TOUCHES)
@pytest.mark.parametrize("pattern", ["put", "get"])
def test_touched_memory_holds_what_was_put_and_what_is_got(pattern, touch, size):
    slots, samples, window = 5, 3, 3
    ends, windows, release = window_pair(slots * size)
    theirs = windows[1].reshape(slots, size)
    theirs[:] = messages(slots, size, 9)
    out, in_ = messages(slots, size, 1), np.zeros((slots, size), np.uint8)
    times, none = np.zeros(samples + 1, np.int64), np.zeros(samples + 1, np.int64)
    exposed = _native.Ring(theirs)
    finish = in_thread(
        lambda: take_part(_native.respond, ends[1], pattern, (exposed, exposed), none, touch)
    )
    rings = [_native.Ring(array) for array in (out, in_)]
    take_part(_native.initiate, ends[0], pattern, rings, times, touch)
    assert finish() is None
    assert np.array_equal(theirs, out if pattern == "put" else in_)
    # An untimed iteration, and two in each sample: both ends went on by as many buffers.
    used = (1 + 2 * samples) * window % slots
    assert exposed.position == rings[pattern == "get"].position == used
    assert (np.diff(times) > 0).all()
    assert not none.any()
    release()


@pytest.mark.parametrize("pattern", ["put", "get"])
@pytest.mark.parametrize(("touch", "is_timed"), [("untimed", False), ("timed", True)])
def test_the_clock_stands_still_while_an_untimed_touch_lasts(pattern, touch, is_timed):
    """The responder is made up: it takes long to touch. What was put is there when it begins, and
    what it writes is got."""
    pause, samples = 0.1, 3
    (first, second), _ = shm_pair()
    memory = np.zeros((1, 8), np.uint8)
    end = _native.ShmWindow(first, memory[0])
    ack, seen = np.zeros(1, np.uint8), []

    def respond():
        second.send(ack)
        for number in range(samples):
            second.recv(ack)
            seen.append(int(memory[0, 0]))
            memory[:] = number + 1
            time.sleep(pause)
            second.send(ack)
        second.recv(ack)

    out, in_ = np.full((1, 8), 77, np.uint8), np.zeros((1, 8), np.uint8)
    rings = [_native.Ring(array) for array in (out, in_)]
    times = np.zeros(samples + 1, np.int64)
    finish = in_thread(respond)
    take_part(_native.initiate, end, pattern, rings, times, touch, timing=(0, 1), window=1)
    assert finish() is None
    assert seen == ([77] * samples if pattern == "put" else [0, 1, 2])
    assert in_[0, 0] == (0 if pattern == "put" else samples)
    seconds = np.diff(times) / Clock().hertz
    assert ((seconds >= 0.99 * pause) == is_timed).all()


def test_a_responder_orders_its_accesses_to_an_mpi_window():
    mpi = FakeMpi()
    ring = _native.Ring(np.zeros((2, 8), np.uint8))
    times = np.zeros(3, np.int64)
    take_part(_native.respond, mpi.window(0, 16), "put", (ring, ring), times, "timed", window=2)
    touch = ["MPI_Recv", "MPI_Win_sync", "MPI_Win_sync", "MPI_Send"]
    assert [call[0] for call in mpi.calls] == ["MPI_Send", *5 * touch, "MPI_Recv"]


@pytest.fixture(params=PAIRS)
def ends(request):
    ends, release = PAIRS[request.param]()
    yield ends
    release()


def call(part, end, timestamps, pattern="pingpong", untimed=1, iterations=1, **options):
    rings = [_native.Ring(np.zeros((1, 1000), np.uint8)) for _ in range(2)]
    part(end, pattern, *rings, 2, untimed, iterations, timestamps, CLOCK, **options)


@pytest.mark.parametrize("untimed", [1, 3])
def test_a_message_arrives_after_it_is_sent_and_before_its_reply(ends, untimed):
    """Both ends have the same clock here."""
    assert ends[0].has_arrivals
    own, at_peer = (np.zeros(51, np.int64) for _ in ends)
    options = {"untimed": untimed}
    finish = in_thread(lambda: call(_native.respond, ends[1], at_peer, arrivals=True, **options))
    call(_native.initiate, ends[0], own, **options)
    assert finish() is None
    # That of the last untimed iteration.
    assert 0 < at_peer[0] < own[0]
    assert (own[:-1] < at_peer[1:]).all()
    assert (at_peer[1:] < own[1:]).all()


def test_timestamps_lie_between_the_moments_around_them():
    clock = Clock()
    before = raw_now()
    mark = clock.mark()
    stamps = np.array([_native.clock_pair(clock.source, 1)[0] for _ in range(100)])
    moments = clock.raw_times(stamps, mark)
    after = raw_now()
    assert (np.diff(moments) > 0).all()
    # To about 50 ns; a step of a coarse clock is longer.
    slack = 1000 + 10 * clock.resolution
    assert before - slack < moments[0] < moments[-1] < after + slack


@pytest.mark.parametrize(("most", "longest"), [(50, 10**10), (10**9, 0), (10**9, 5_000_000)])
def test_exchanges_end_by_number_or_by_time(ends, most, longest):
    """They have the moment at which the other end answered."""
    before = raw_now()
    finish = in_thread(lambda: _native.answer_clocks(ends[1]))
    sent, answered, received = _native.compare_clocks(ends[0], most, longest)
    assert finish() is None
    assert before <= sent < answered < received <= raw_now()


def test_an_end_that_is_gone_ends_an_exchange():
    one, other = socket.socketpair()
    end = _native.SpinningSocket(one.fileno(), one.fileno(), True)
    other.close()
    with pytest.raises(_native.PeerClosed):
        _native.compare_clocks(end, 10, 10**9)
    with pytest.raises(_native.PeerClosed):
        _native.answer_clocks(end)
    one.close()


def test_an_exchange_that_wakes_the_other_end_is_not_the_only_one():
    """However short the time is."""
    ends, release = PAIRS["blocking socket"]()

    def answer_late():
        time.sleep(0.2)
        _native.answer_clocks(ends[1])

    finish = in_thread(answer_late)
    sent, _, received = _native.compare_clocks(ends[0], 10, 1)
    assert finish() is None
    assert received - sent < 0.2e9
    release()
