"""Puts and gets whose responder touches its memory between windows."""

import time

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source
from harness.ends import messages, shm_pair, window_pair
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
