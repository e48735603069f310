"""Ping-pongs and streams whose initiator computes between its calls."""

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source
from harness.ends import KINDS, PAIRS, messages, shm_pair
from harness.threads import in_thread

CLOCK = best_source()


def run(ends, pattern, delay, size=8, slots=3, window=1, timing=(2, 3, 20), read_cost=0):
    """Takes part at both ends; the buffers of both, and the initiator's timestamps."""
    untimed, iterations, samples = timing
    buffers = [(messages(slots, size, end), np.zeros((slots, size), np.uint8)) for end in (1, 2)]
    timestamps = [np.zeros(samples + 1, dtype=np.int64) for _ in ends]

    def part(call, end):
        out, in_ = (_native.Ring(array) for array in buffers[end])
        call(ends[end], pattern, out, in_, window, untimed, iterations, timestamps[end], CLOCK)

    def initiate(*arguments):
        _native.initiate_delayed(*arguments, delay, read_cost)

    finish = in_thread(lambda: part(_native.respond, 1))
    part(initiate, 0)
    assert finish() is None
    return buffers, timestamps[0]


@pytest.mark.parametrize("size", [1, 64, 4097, 300_000])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
@pytest.mark.parametrize("name", KINDS)
def test_every_byte_arrives(name, pattern, size):
    ends, release = PAIRS[name]()
    delay = round(Clock().hertz * 2e-6)
    ((out, in_), (back, at_peer)), times = run(ends, pattern, delay, size, window=3)
    assert np.array_equal(at_peer, out)
    assert np.array_equal(in_, back if pattern == "pingpong" else np.zeros_like(back))
    assert (np.diff(times) > 0).all()
    release()


@pytest.mark.parametrize(("pattern", "window", "count"), [("pingpong", 1, 1), ("stream", 8, 7)])
def test_an_iteration_takes_at_least_its_delays(pattern, window, count):
    """To the tick: what a delay takes longer is not counted, but what it has to take is."""
    ends, _ = shm_pair()
    delay = round(Clock().hertz * 100e-6)
    _, times = run(ends, pattern, delay, window=window)
    assert (np.diff(times) >= 3 * count * delay).all()


def test_what_a_delay_takes_longer_is_not_counted():
    """Its clock reads are so coarse beside a delay of a tick that they would be most of it: with a
    cost of a read that takes as long as ten delays, so much less is counted."""
    ends, _ = shm_pair()
    cost, (untimed, iterations, samples) = 10_000_000, (1, 2, 3)
    _, times = run(ends, "stream", 1, window=5, timing=(untimed, iterations, samples),
                   read_cost=cost)  # fmt: skip
    left_out = 4 * iterations * cost
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
