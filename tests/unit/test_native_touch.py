"""Responders that touch their memory between windows, or say when messages arrived."""

import socket
import time

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source, raw_now
from harness.ends import PAIRS, messages, shm_pair, window_pair
from harness.fake_mpi import FakeMpi
from harness.threads import in_thread

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
