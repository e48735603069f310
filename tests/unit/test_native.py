"""Endpoints and kernels within one process: two threads, one for each rank."""

import socket
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halftrip import _native
from halftrip.clock import Clock, begin_calibration, best_source, raw_now
from halftrip.memory.shared import SharedSegment
from harness.ends import PAIRS, message, shm_pair, sockets
from harness.threads import in_thread


@pytest.fixture
def clock():
    return best_source()


# Each step: which side sends, and the sizes of its messages.
conversations = st.lists(
    st.tuples(
        st.sampled_from([0, 1]),
        st.lists(
            st.sampled_from([1, 3, 7, 8, 31, 32, 56, 57, 504, 505, 4096, 4097]),
            min_size=1,
            max_size=12,
        ),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("name", ["shm", "spinning socket", "spinning pipe", "in blocking mode"])
def test_a_stop_ends_a_wait(name):
    """A call that sleeps needs a signal, too: see test_watch. A spinning one says itself that it
    does not wait, whatever the mode of its descriptor is."""
    if name == "in blocking mode":
        descriptors, release = sockets(blocking=True)
        end = _native.SpinningSocket(*descriptors[0], False)
    else:
        (end, _), release = PAIRS[name]()
    finish = in_thread(lambda: end.recv(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    _native.request_stop()
    assert isinstance(finish(), _native.Stopped)
    _native.request_stop(False)
    release()


def test_a_stop_ends_a_wait_for_room():
    sides, _ = shm_pair()
    for _ in range(17):  # one in the reply ring, and one in every slot of the one-way ring
        sides[0].send(np.zeros(8, dtype=np.uint8))
    finish = in_thread(lambda: sides[0].send(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    _native.request_stop()
    assert isinstance(finish(), _native.Stopped)
    _native.request_stop(False)


SOCKETS = ("BlockingSocket", "SpinningSocket", "PollingSocket")


@pytest.mark.parametrize("name", [*SOCKETS, "BlockingStream", "SpinningStream"])
def test_a_peer_that_closes_is_noticed(name):
    kind = getattr(_native, name)
    here, there = socket.socketpair()
    here.setblocking(name.startswith("Blocking"))
    end = kind(here.fileno(), here.fileno(), False)
    finish = in_thread(lambda: end.recv(np.zeros(8, dtype=np.uint8)))
    time.sleep(0.05)
    there.close()
    assert isinstance(finish(), _native.PeerClosed)
    with pytest.raises(_native.PeerClosed):
        end.send(np.zeros(10_000_000, dtype=np.uint8))
    here.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        kind(-1, -1, False).send(np.zeros(8, dtype=np.uint8))


# What a process does that has not ignored SIGPIPE, as Python does, and whose peer has closed.
SENDS = """
import signal, socket, sys
import numpy as np
from halftrip import _native
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
here, there = socket.socketpair()
there.close()
for name in sys.argv[1:]:
    try:
        getattr(_native, name)(here.fileno(), here.fileno(), False).send(np.zeros(8, np.uint8))
    except _native.PeerClosed:
        print(name)
"""


def test_a_closed_socket_raises_no_signal():
    done = subprocess.run(
        [sys.executable, "-c", SENDS, *SOCKETS], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()) == (0, [*SOCKETS])


def test_kernels_let_other_threads_run():
    sides, _ = shm_pair()
    finish = in_thread(lambda: sides[1].recv(np.zeros(8, dtype=np.uint8)))
    deadline = time.monotonic() + 0.2
    turns = 0
    while time.monotonic() < deadline:
        turns += 1
    sides[0].send(np.zeros(8, dtype=np.uint8))
    assert finish() is None
    assert turns > 100


def test_arrays_are_never_converted(clock):
    sides, _ = shm_pair()
    buffers = np.zeros((2, 8), dtype=np.uint8)
    for wrong in (buffers.astype(np.float32), buffers.astype(np.int8), buffers[0], [[1, 2]]):
        with pytest.raises(TypeError):
            _native.Ring(wrong)
    for wrong in (np.zeros((2, 16), dtype=np.uint8)[:, ::2], buffers[::-1], buffers[:0]):
        with pytest.raises(ValueError, match=r"side by side|order of their numbers|at least one"):
            _native.Ring(wrong)
    ring, shorter = _native.Ring(buffers), _native.Ring(buffers[:, :4])
    times = np.zeros(3, dtype=np.int64)
    with pytest.raises(TypeError):
        _native.initiate(sides[0], "pingpong", ring, ring, 1, 0, 1, times.astype(np.int32), clock)
    with pytest.raises(ValueError, match="differ in size"):
        _native.initiate(sides[0], "pingpong", ring, shorter, 1, 0, 1, times, clock)
    with pytest.raises(ValueError, match="cannot do that pattern"):
        _native.initiate(sides[0], "put", ring, ring, 1, 0, 1, times, clock)


@given(
    st.lists(st.tuples(st.integers(0, 6), conversations), min_size=1, max_size=6),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=30)
def test_shared_memory_keeps_order_in_any_conversation_and_segment(parts, yields, replies_apart):
    """Bursts use the one-way rings, replies the reply ring or these; no message overtakes another.
    Each segment has a state of its own; the numbers beyond the last begin anew."""
    segment = SharedSegment(3 * _native.shm_segment_size)
    sides = [_native.Shm(segment.bytes, side, yields, replies_apart) for side in (0, 1)]

    def take_part(side):
        count = 0
        for number, steps in parts:
            sides[side].use(number)
            for sender, sizes in steps:
                for size in sizes:
                    count += 1
                    expected = message(size, count)
                    if sender == side:
                        sides[side].send(expected)
                    else:
                        received = np.zeros(size, dtype=np.uint8)
                        sides[side].recv(received)
                        assert np.array_equal(received, expected)
                # Nothing is under way when both go on.
                _meet(sides[side], side)

    finish = in_thread(lambda: take_part(1))
    take_part(0)
    assert finish() is None
    used = {number % 3 for number, _ in parts}
    size = _native.shm_segment_size
    touched = {n for n in range(3) if segment.bytes[n * size : (n + 1) * size].any()}
    assert touched == used
    # The reply ring is the first of a segment: it is used where replies go apart, and only there.
    rings = {bool(segment.bytes[n * size + 128 : n * size + 192].any()) for n in used}
    assert rings == {replies_apart}
    segment.close()


def _meet(end, side):
    first, second = (end.send, end.recv) if side == 0 else (end.recv, end.send)
    first(np.zeros(1, dtype=np.uint8))
    second(np.zeros(1, dtype=np.uint8))


@given(st.integers(1, 12), st.integers(0, 3), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=10)
def test_the_lines_of_all_pages_are_timed_one_after_the_other(count, untimed, iterations, samples):
    stride = 4096 + 128
    segment = SharedSegment(count * stride)
    ends = [_native.CacheLines(segment.bytes, count, stride) for _ in range(2)]
    times = [np.zeros(count * (samples + 1), dtype=np.int64) for _ in range(2)]
    finish = in_thread(lambda: ends[1].respond(untimed, iterations, times[1], "monotonic"))
    ends[0].initiate(untimed, iterations, times[0], "monotonic")
    assert finish() is None
    assert (np.diff(times[0]) > 0).all()
    assert not times[1].any()
    # A line goes there and back in each round trip.
    words = segment.bytes.view(np.uint64)[:: stride // 8][:count]
    assert words.tolist() == [2 * (untimed + iterations * samples)] * count
    segment.close()


def test_lines_are_where_both_ranks_map_memory():
    memory = SharedSegment(4096).bytes
    with pytest.raises(ValueError, match="too small"):
        _native.CacheLines(memory, 2, 4096)
    for count, stride in ((0, 64), (2, 100)):
        with pytest.raises(ValueError, match="begin cache lines"):
            _native.CacheLines(memory, count, stride)
    lines = _native.CacheLines(memory, 3, 128)
    with pytest.raises(ValueError, match="as many timestamps"):
        lines.initiate(0, 1, np.zeros(4, dtype=np.int64), "monotonic")


def test_a_segment_must_be_large_enough_and_aligned():
    with pytest.raises(ValueError, match="too small"):
        _native.Shm(np.zeros(100, dtype=np.uint8), 0, False)
    room = np.zeros(_native.shm_segment_size + 128, dtype=np.uint8)
    start = -room.ctypes.data % 64 + 1
    with pytest.raises(ValueError, match="not aligned"):
        _native.Shm(room[start:], 0, False)


@pytest.mark.parametrize("source", sorted({best_source(), "monotonic"}))
def test_a_clock_agrees_with_the_kernel(source):
    clock = Clock(source)
    assert 0 < clock.cost < 10_000
    assert 0 < clock.resolution < 1_000_000
    timestamps = np.zeros(2, dtype=np.int64)
    timestamps[0] = _native.clock_pair(source, 5)[0]
    began = time.monotonic()
    time.sleep(0.2)
    timestamps[1] = _native.clock_pair(source, 5)[0]
    slept = (time.monotonic() - began) * 1e9
    assert clock.intervals(timestamps)[0] == pytest.approx(slept, rel=0.02)
    assert abs(clock.drift()) < 1000


def test_a_calibration_that_has_begun_is_the_next_clocks_only():
    before = raw_now()
    begin_calibration()
    time.sleep(0.1)
    begun = time.monotonic()
    clock = Clock()
    # The readings are far enough apart already.
    assert time.monotonic() - begun < 0.05
    later = Clock()
    assert before <= clock._start[1] < later._start[1]
    assert later._start[1] - before >= 0.1e9
    assert clock.hertz == pytest.approx(later.hertz, rel=1e-3)


def test_a_calibration_lasts_its_time_however_late_it_began():
    begin_calibration()
    began = raw_now()
    Clock()
    assert raw_now() - began >= 0.045e9
    # One of another source does not count.
    begin_calibration()
    clock = Clock(({"monotonic"} - {best_source()} or {_native.counter_clock}).pop())
    assert raw_now() - clock._start[1] >= 0.045e9


def test_copies_are_timed_and_made(clock):
    source, target = message(1000, 5), np.zeros(1000, dtype=np.uint8)
    timestamps = np.zeros(6, dtype=np.int64)
    _native.copy(target, source, 3, timestamps, clock)
    assert np.array_equal(source, target)
    assert (np.diff(timestamps) > 0).all()
