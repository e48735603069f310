"""Ping-pong over datagrams, with a relay between the ends that drops, delays, swaps and doubles
them as it is told.

Every assertion follows from what the relay did, none from how fast it was: ends wait for replies as
long as it takes, the relay says what it drops, and bounds of times are the relay's own.
"""

import socket
import time

import pytest

from halftrip import _native
from harness.datagrams import HOUR_NS, RATES, SIZES, End, counts, ends_of, number_of, run_batch
from harness.limits import AMPLE_SECONDS
from harness.relay import Relay
from harness.threads import in_thread


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("size", SIZES)
def test_every_iteration_is_a_sample(clock, size, wait):
    with Relay() as relay:
        ends = ends_of(relay, clock, size, wait, jitter=True)
        for samples in (1, 20):
            began = time.monotonic_ns()
            result = run_batch(ends, "pingpong", samples, untimed=1)
            # Samples do not overlap.
            assert ends[0].times.sum() <= (time.monotonic_ns() - began) * (1 + RATES)
            assert counts(result) == (samples, samples, 0, 0)
            assert (ends[0].times > 0).all()
            assert result.jitter == -1


@pytest.mark.parametrize("size", [1, 8, 1000])
@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("way", ["there", "back"])
def test_what_is_lost_is_counted_and_no_sample(clock, size, wait, way):
    def drop(index, datagram):
        if index % 5 != 3:
            return [0.0]
        time.sleep(0.002)
        return relay.drop()

    with Relay(**{way: drop}) as relay:
        ends = ends_of(relay, clock, size, wait)
        result = run_batch(ends, "pingpong", 50)
        assert counts(result) == (40, 50, 10, 0)
        assert len(ends[0].times) == 40
        assert result.timed_out_ticks / clock.hertz >= 10 * 0.002 * (1 - RATES)
        # The next batch is not affected.
        assert counts(run_batch(ends, "pingpong", 3)) == (3, 3, 0, 0)


def test_a_batch_ends_when_as_much_time_was_lost_as_it_may(clock):
    with Relay(back=lambda index, _: relay.drop() if index == 3 else [0.0]) as relay:
        ends = ends_of(relay, clock, 64)
        assert counts(run_batch(ends, "pingpong", 20, max_timed_out=1)) == (3, 4, 1, 0)
        # Numbers go on behind all that the batch might have sent.
        assert counts(run_batch(ends, "pingpong", 20, max_timed_out=1)) == (20, 20, 0, 0)


@pytest.mark.parametrize("size", [1, 4, 8, 1000])
def test_a_late_reply_is_not_taken_for_the_next(clock, size):
    """The third reply comes during the next iteration; each iteration takes 8 ms."""
    kept = []

    def delay(index, datagram):
        if index == 2:
            kept.append(datagram)
            return relay.drop()
        return [(0.0, kept[0]), 0.008] if index == 3 else [0.008]

    with Relay(back=delay) as relay:
        ends = ends_of(relay, clock, size)
        assert counts(run_batch(ends, "pingpong", 20)) == (19, 20, 0, 1)
        assert (ends[0].times >= 8e6 * (1 - RATES)).all()


def test_the_timeout_follows_the_replies(clock):
    """Twenty times any reply is less than the shortest timeout, however busy this machine is."""
    kept = []

    def delay(index, datagram):
        if index == 13:
            kept.append(datagram)
        if index == 14:
            # Arrives during this iteration or the next: late in either.
            relay.pass_on(1, kept[0])
        return relay.drop() if index in (11, 13, 14, 15) else [0.0]

    shortest = 20 * int(AMPLE_SECONDS)
    with Relay(back=delay) as relay:
        ends = ends_of(relay, clock, 8, timeout=100 * shortest, shortest=shortest)
        timeout = ends[0].datagrams.reply_timeout

        def after(samples):
            result = run_batch(ends, "pingpong", samples)
            return counts(result), timeout.current / (shortest * 10**9)

        assert timeout.current == timeout.limit
        assert after(10) == ((10, 10, 0, 0), 1)
        assert after(2) == ((1, 2, 1, 0), 2)
        assert after(4) == ((1, 4, 2, 1), 100)
        assert after(1) == ((1, 1, 0, 0), 1)


def test_a_second_reply_does_not_count(clock):
    with Relay(there=lambda *_: [0.0, 0.0], back=lambda *_: [0.0, 0.001]) as relay:
        ends = ends_of(relay, clock, 8)
        assert counts(run_batch(ends, "pingpong", 30)) == (30, 30, 0, 0)
        assert counts(run_batch(ends, "pingpong", 30)) == (30, 30, 0, 0)


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_a_peer_that_never_answers_is_given_up(clock, pattern, wait):
    with Relay(there=lambda *_: [], control=lambda *_: []) as relay:
        end = End(relay.datagrams(0, wait, timeout=0.1), clock, 64, window=4)
        began = time.monotonic()
        with pytest.raises(_native.NoAnswer, match=r"within 0\.\d s"):
            end.take_part(_native.initiate_datagrams, pattern, 10)
        assert time.monotonic() - began >= 5 * 0.1 * (1 - RATES)


def test_batches_may_lose_all_a_few_times_but_not_for_ever(clock):
    with Relay(there=lambda *_: []) as relay:
        ends = ends_of(relay, clock, 64, timeout=0.02)
        for _ in range(4):
            result = ends[0].take_part(_native.initiate_datagrams, "pingpong", 1)
            assert counts(result) == (0, 1, 1, 0)
            assert result.timed_out_ticks / clock.hertz >= 0.02 * (1 - RATES)
        with pytest.raises(_native.NoAnswer, match=r"no answer to 5 datagrams within 0\.02 s each"):
            ends[0].take_part(_native.initiate_datagrams, "pingpong", 1)


@pytest.mark.parametrize("untimed", [0, 1, 10])
def test_the_warm_up_is_given_up_after_as_many_losses(clock, untimed):
    with Relay(there=lambda *_: []) as relay:
        end = ends_of(relay, clock, 64, timeout=0.02, shortest=0.001)[0]
        with pytest.raises(_native.NoAnswer, match="no answer to 5 datagrams"):
            end.take_part(_native.initiate_datagrams, "pingpong", 10, untimed=untimed)


@pytest.mark.parametrize(
    ("pattern", "rate", "idle"), [("pingpong", 0, 1.07), ("stream", 4e3, 1.15)]
)
def test_a_responder_waits_as_long_as_an_initiator_may_be_silent(clock, pattern, rate, idle):
    """Seven timeouts, at a rate two windows (20 datagrams of 4 ms), and one second."""
    with Relay() as relay:
        end = ends_of(relay, clock, 16, timeout=0.01, window=10, rate=rate)[1]
        with pytest.raises(_native.NoAnswer, match=rf"nothing came for {idle} s"):
            end.take_part(_native.respond_datagrams, pattern, 10)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_a_stop_ends_every_wait(clock, pattern, wait, side):
    calls = _native.initiate_datagrams, _native.respond_datagrams
    with Relay(there=lambda *_: [], control=lambda *_: []) as relay:
        end = ends_of(relay, clock, 64, wait, timeout=60.0)[side]
        finish = in_thread(lambda: end.take_part(calls[side], pattern, 10))
        time.sleep(0.05)
        _native.request_stop()
        # Nothing else would end it for an hour.
        raised = finish()
        _native.request_stop(False)
        assert isinstance(raised, _native.Stopped)


def test_a_port_that_nobody_has_bound_and_a_datagram_too_long_are_os_errors(clock):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        address = gone.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect(address)
        here.setblocking(False)
        end = End(_native.DatagramSocket(here.fileno(), True, True, HOUR_NS), clock, 8)
        with pytest.raises(OSError, match="refused"):
            end.take_part(_native.initiate_datagrams, "pingpong", 10)
    with Relay() as relay, pytest.raises(OSError, match="too long"):
        End(relay.datagrams(0), clock, 65508).take_part(_native.initiate_datagrams, "pingpong", 1)


def test_numbers_go_on_from_batch_to_batch(clock):
    numbers = []

    def note(index, datagram):
        numbers.append(number_of(datagram))
        return [0.0]

    with Relay(there=note) as relay:
        ends = ends_of(relay, clock, 8)
        run_batch(ends, "pingpong", 3, untimed=1)
        for end in ends:
            end.datagrams.restart()
        run_batch(ends, "pingpong", 2)
    assert numbers == list(range(6))
