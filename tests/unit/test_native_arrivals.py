"""When messages arrived, as the responder of a ping-pong says; and comparisons of clocks."""

import socket
import time

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock, best_source, raw_now
from harness.ends import PAIRS
from harness.threads import in_thread

CLOCK = best_source()


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
