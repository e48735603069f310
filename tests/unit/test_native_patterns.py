"""Every pattern over every endpoint: which bytes arrive where, and in which order; also where the
initiator computes between its calls."""

import socket
import threading
import time
from functools import partial

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source
from halftrip.results.patterns import SHAPES
from harness.choice import drawn
from harness.ends import KINDS, PAIRS, messages, shm_pair, unread, window_pair
from harness.threads import in_thread

SIZES = [1, 2, 3, 7, 8, 31, 32, 56, 57, 64, 504, 505, 4096, 4097, 70_000, 600_000, 1_500_000]
CASES = [
    (name, pattern)
    for name, kind in KINDS.items()
    for pattern in SHAPES
    if pattern in kind.patterns
]
CLOCK = best_source()


def run(
    ends, pattern, size, slots=1, window=1, timing=(1, 2, 3), receive_times=(None, None),
    initiate=_native.initiate,
):  # fmt: skip
    """Takes part at both ends. Returns the buffers (out, in) and the timestamps of both. `timing`
    is (untimed, iterations, samples); `receive_times` are arrays to be filled, or None."""
    untimed, iterations, samples = timing
    buffers = [(messages(slots, size, end), np.zeros((slots, size), np.uint8)) for end in (1, 2)]
    timestamps = [np.zeros(samples + 1, dtype=np.int64) for _ in ends]

    def part(call, end):
        out, in_ = (_native.Ring(array) for array in buffers[end])
        call(ends[end], pattern, out, in_, window, untimed, iterations, timestamps[end], CLOCK,
             receive_times[end])  # fmt: skip

    finish = in_thread(lambda: part(_native.respond, 1))
    part(initiate, 0)
    assert finish() is None
    return buffers, timestamps


@pytest.fixture(params=CASES, ids=lambda configuration: "-".join(configuration).replace(" ", "-"))
def path(request):
    name, pattern = request.param
    ends, release = PAIRS[name]()
    yield ends, pattern
    release()


# Shared memory has a limit at many of these.
SIZED = [
    (case, size)
    for number, case in enumerate(CASES)
    for size in (SIZES if case[0] == "shm" else drawn(SIZES, 5, seed=number))
]


@pytest.mark.parametrize(("path", "size"), SIZED, indirect=["path"])
def test_every_byte_arrives(path, size):
    ends, pattern = path
    ((out, in_), (back, at_peer)), timestamps = run(ends, pattern, size, window=3)
    shape = SHAPES[pattern]
    assert np.array_equal(at_peer, out if shape.responder else np.zeros_like(out))
    assert np.array_equal(in_, back if shape.initiator else np.zeros_like(back))
    assert (np.diff(timestamps[0]) > 0).all()
    # In a ping-pong the responder's clock reads would add to what the initiator times.
    assert (np.diff(timestamps[1]) > 0).all() == (pattern != "pingpong")


@pytest.mark.parametrize("name", [name for name, pattern in CASES if pattern == "bidirectional"])
@pytest.mark.parametrize("size", [1, 4096, 300_000])
def test_the_last_receive_completes_before_the_iteration_does(name, size):
    ends, release = PAIRS[name]()
    receive_times = [np.zeros(5, dtype=np.int64) for _ in ends]
    _, timestamps = run(
        ends, "bidirectional", size, window=4, timing=(1, 1, 5), receive_times=receive_times
    )
    for received, times in zip(receive_times, timestamps, strict=True):
        assert (received > 0).all()
        assert (received < np.diff(times)).all()
    release()


@pytest.mark.parametrize("slow", [0, 1])
def test_each_way_has_its_own_time(slow):
    """A delay in one direction does not count in the receive times of the other."""
    pairs = [socket.socketpair() for _ in range(2)]
    delay = 0.1
    passed = threading.Event()

    def forward(way):
        """Forwards what end `way` sends. The slow way's first piece leaves when the other way's has
        been read for a while, so that both ends have begun."""
        first = True
        while piece := pairs[way][1].recv(1 << 16):
            if first and way == slow:
                passed.wait(10)
                while unread(pairs[slow][0]):
                    time.sleep(0.001)
                time.sleep(delay)
            pairs[1 - way][1].sendall(piece)
            if way != slow:
                passed.set()
            first = False

    finish = [in_thread(partial(forward, way)) for way in (0, 1)]
    for pair in pairs:
        pair[0].setblocking(False)
    ends = [_native.PollingStream(pair[0].fileno(), pair[0].fileno(), True) for pair in pairs]
    receive_times = [np.zeros(1, dtype=np.int64) for _ in ends]
    _, timestamps = run(
        ends, "bidirectional", 100, window=2, timing=(0, 1, 1), receive_times=receive_times
    )
    ticks = delay * Clock().hertz
    assert receive_times[1 - slow][0] >= 0.99 * ticks
    # The messages to the other end were not delayed, but the acknowledgement from it was.
    assert receive_times[slow][0] < np.diff(timestamps[slow])[0] - 0.9 * ticks
    for pair in pairs:
        pair[0].shutdown(socket.SHUT_RDWR)
    assert [end() for end in finish] == [None, None]
    for pair in pairs:
        for end in pair:
            end.close()


def test_buffers_are_used_in_turn(path):
    ends, pattern = path
    # 7 iterations of one message, or of 4: the last of 5 buffers is used, and some twice.
    ((out, in_), (back, at_peer)), _ = run(ends, pattern, 100, slots=5, window=4)
    shape = SHAPES[pattern]
    assert np.array_equal(at_peer, out)
    if shape.initiator:
        assert np.array_equal(in_, back)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("window", [1, 5])
def test_one_sided_patterns_reach_into_the_peer_s_memory(size, window):
    slots = 3
    ends, windows, release = window_pair(slots * size)
    theirs = windows[1].reshape(slots, size)
    ((out, _), _), timestamps = run(ends, "put", size, slots, window)
    assert np.array_equal(theirs, out)
    theirs[:] = messages(slots, size, 9)
    ((_, in_), _), _ = run(ends, "get", size, slots, window)
    assert np.array_equal(in_, theirs)
    # The peer takes no part.
    assert not timestamps[1].any()
    release()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("slots", [1, 3, 256])
def test_a_ping_pong_of_puts_sees_each_message(size, slots):
    """Also where marks are as they were: 256 messages later, and where a batch before has left
    them."""
    slots = min(slots, 1 + 400_000 // size)
    ends, windows, release = window_pair(slots * size)
    outs = [messages(slots, size, end) for end in (1, 2)]
    rings = [
        [_native.Ring(rows) for rows in (out, window.reshape(slots, size))]
        for out, window in zip(outs, windows, strict=True)
    ]
    timestamps = [np.zeros(301, dtype=np.int64) for _ in ends]

    def part(call, end):
        call(ends[end], "put-pingpong", *rings[end], 1, 1, 2, timestamps[end], CLOCK)

    for window in windows:
        window[:] = 1
    for _ in range(2):
        finish = in_thread(lambda: part(_native.respond, 1))
        part(_native.initiate, 0)
        assert finish() is None
        assert (np.diff(timestamps[0]) > 0).all()
        assert not timestamps[1].any()
    for window, out in zip(windows, outs[::-1], strict=True):
        assert np.array_equal(window.reshape(slots, size), out)
    release()


@pytest.mark.parametrize("pattern", ["put", "get"])
def test_buffers_that_do_not_fit_the_window_are_refused(pattern):
    """Before anything is copied, and before the call waits for the peer."""
    ends, windows, release = window_pair(64)
    times = np.zeros(2, dtype=np.int64)

    def initiate(slots, size, stride):
        region = np.zeros(slots * stride, dtype=np.uint8)
        rows = np.lib.stride_tricks.as_strided(region, (slots, size), (stride, 1))
        rings = [_native.Ring(rows) for _ in range(2)]
        _native.initiate(ends[0], pattern, *rings, 1, 0, 1, times, CLOCK)

    for slots, size, stride in [(1, 1 << 20, 1 << 20), (1, 65, 65), (3, 32, 32), (2, 1, 64)]:
        with pytest.raises(ValueError, match="do not fit into the peer's window"):
            initiate(slots, size, stride)
    assert not windows[1].any()
    # The last byte of the last buffer may be the window's last.
    finish = in_thread(lambda: respond_to(ends[1], pattern))
    initiate(2, 32, 32)
    assert finish() is None
    release()


def respond_to(end, pattern):
    rings = [_native.Ring(np.zeros((1, 32), np.uint8)) for _ in range(2)]
    _native.respond(end, pattern, *rings, 1, 0, 1, np.zeros(2, np.int64), CLOCK)


def numbers(*values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize("step", [8, 16])
def test_every_message_is_where_its_number_says(step):
    size, slots = 24, 5
    array = np.zeros((slots, size // 8 * step), dtype=np.uint8)
    chosen = numbers(3, 0, 4)
    _native.fill(array, size, step, chosen, chosen + 70)
    assert _native.first_difference(array, size, step, chosen, chosen + 70, 0) is None
    # Nothing else is written to, nor between the words.
    words = array.reshape(slots, size // 8, step)
    assert not words[[1, 2]].any()
    assert not words[:, :, 8:].any()
    assert len({bytes(words[slot, :, :8].tobytes()) for slot in chosen}) == 3
    words[4, 2, 7] ^= 1
    at, expected, found = _native.first_difference(array, size, step, chosen, chosen + 70, 0)
    assert (at, expected ^ found) == (23, 1)
    with pytest.raises(ValueError, match="no buffer"):
        _native.fill(array, size, step, numbers(5), numbers(0))
    with pytest.raises(ValueError, match="no buffer"):
        _native.fill(array, size, step, numbers(-1), numbers(0))
    with pytest.raises(ValueError, match="side by side"):
        _native.fill(np.zeros((1, 16), dtype=np.uint8)[:, ::2], 8, 8, numbers(0), numbers(0))
    with pytest.raises(ValueError, match="does not fit"):
        _native.fill(array, size + 1 + step - 8, step, numbers(0), numbers(0))


# Streams and ping-pongs whose initiator computes between its calls.


def delayed(ends, pattern, delay, size=8, window=1, timing=(2, 3, 20), read_cost=0):
    """Takes part at both ends; the buffers of both, and the initiator's timestamps."""

    def initiate(*arguments):
        # The last of these are receive times.
        _native.initiate_delayed(*arguments[:-1], delay, read_cost)

    buffers, (times, _) = run(ends, pattern, size, 3, window, timing, initiate=initiate)
    return buffers, times


@pytest.mark.parametrize("size", [1, 64, 4097, 300_000])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
@pytest.mark.parametrize("name", KINDS)
def test_every_byte_arrives_with_delays(name, pattern, size):
    ends, release = PAIRS[name]()
    delay = round(Clock().hertz * 2e-6)
    ((out, in_), (back, at_peer)), times = delayed(ends, pattern, delay, size, window=3)
    assert np.array_equal(at_peer, out)
    assert np.array_equal(in_, back if pattern == "pingpong" else np.zeros_like(back))
    assert (np.diff(times) > 0).all()
    release()


@pytest.mark.parametrize(("pattern", "window", "count"), [("pingpong", 1, 1), ("stream", 8, 7)])
def test_an_iteration_takes_at_least_its_delays(pattern, window, count):
    """To the tick: what a delay takes longer is not counted, but what it has to take is."""
    ends, _ = shm_pair()
    delay = round(Clock().hertz * 100e-6)
    _, times = delayed(ends, pattern, delay, window=window)
    assert (np.diff(times) >= 3 * count * delay).all()


def test_what_a_delay_takes_longer_is_not_counted():
    """Its clock reads are so coarse beside a delay of a tick that they would be most of it: with a
    cost of a read that takes as long as ten delays, so much less is counted."""
    ends, _ = shm_pair()
    cost = 10_000_000
    _, times = delayed(ends, "stream", 1, window=5, timing=(1, 2, 3), read_cost=cost)
    left_out = 4 * 2 * cost
    # The rest is what messages take, of which a busy machine may make much, but not a second.
    taken = np.diff(times) + left_out
    assert (taken > 0).all()
    assert (taken < Clock().hertz).all()


def test_a_delay_ends_when_it_is_asked_to():
    """Half a minute of delays: a rank that has to stop does not go through them."""
    ends, _ = shm_pair()
    delay = round(Clock().hertz)
    first, _second = ends
    rings = [_native.Ring(np.zeros((1, 8), np.uint8)) for _ in range(2)]

    def initiate():
        _native.initiate_delayed(first, "stream", *rings, 30, 0, 1, np.zeros(2, np.int64), CLOCK,
                                 delay, 0)  # fmt: skip

    finish = in_thread(initiate)
    _native.request_stop()
    try:
        assert isinstance(finish(), _native.Stopped)
    finally:
        _native.request_stop(False)
