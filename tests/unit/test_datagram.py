"""The native patterns over datagrams, with a relay between the ends that loses, delays, swaps and
doubles what it is told to.

What is asserted follows from what the relay did, never from how fast it was: answers are waited for
as long as it takes, what is lost is said to be, and bounds of times come from the relay's own.
"""

import itertools
import socket
import struct
import threading
import time

import numpy as np
import pytest

from halftrip import _native
from halftrip.clock import Clock
from harness.relay import AMPLE_SECONDS, ANSWERS, Relay, is_notice, read_notice

HOUR_NS = 3600 * 10**9
# By how much two clocks may differ in rate, at most: NTP slews CLOCK_MONOTONIC by 500 ppm.
RATES = 1e-3
SIZES = [1, 2, 7, 8, 9, 15, 16, 55, 56, 57, 1000, 65507]


@pytest.fixture(scope="module")
def clock():
    return Clock()


class End:
    """One end of a case: its buffers, and what its last batch gave."""

    def __init__(self, datagrams, clock, size, slots=1, window=1, rate=0.0):
        self.out_bytes = np.zeros((slots, size), dtype=np.uint8)
        self.in_bytes = np.zeros((slots, size), dtype=np.uint8)
        self.rings = _native.Ring(self.out_bytes), _native.Ring(self.in_bytes)
        self.datagrams, self.clock, self.window, self.rate = datagrams, clock, window, rate

    def take_part(self, call, pattern, samples, lead=0, verify=False, most_waited=HOUR_NS):
        self.times = np.zeros(samples, dtype=np.int64)
        self.held = np.zeros(len(self.in_bytes) if verify else 0, dtype=np.int64)
        self.tally = call(
            self.datagrams, pattern, *self.rings, self.window, self.rate, lead, most_waited,
            self.times, self.held, self.clock.source, self.clock.hertz,
        )  # fmt: skip
        self.times = self.clock.durations(self.times[: self.tally.samples])
        return self.tally


def ends_of(
    relay, clock, size, wait="spin", timeout=AMPLE_SECONDS, shortest=AMPLE_SECONDS, **options
):
    return [
        End(relay.datagrams(side, wait, timeout, shortest), clock, size, **options)
        for side in (0, 1)
    ]


def together(ends, pattern, samples, **options):
    """One batch at both ends; what the initiator says of it."""
    raised = []

    def respond():
        try:
            ends[1].take_part(_native.respond_datagrams, pattern, samples, **options)
        except BaseException as error:  # noqa: BLE001 (handed to the test)
            raised.append(error)

    thread = threading.Thread(target=respond)
    thread.start()
    try:
        return ends[0].take_part(_native.initiate_datagrams, pattern, samples, **options)
    finally:
        thread.join(timeout=AMPLE_SECONDS)
        left = not thread.is_alive()
        _native.request_stop()
        thread.join()
        _native.request_stop(False)
        assert left
        assert raised == []


def counts(tally):
    return tally.samples, tally.sent, tally.lost, tally.late


def number_of(datagram):
    return struct.unpack("<q", datagram[:8])[0]


# Ping-pong.


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("size", SIZES)
def test_every_exchange_is_a_sample(clock, size, wait):
    with Relay() as relay:
        ends = ends_of(relay, clock, size, wait)
        for samples in (1, 20):
            tally = together(ends, "pingpong", samples, lead=1)
            assert counts(tally) == (samples, samples, 0, 0)
            assert (ends[0].times > 0).all()
            assert tally.jitter == -1


@pytest.mark.parametrize("size", [1, 8, 1000])
@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("way", ["there", "back"])
def test_what_is_lost_is_counted_and_no_sample(clock, size, wait, way):
    def lose(index, datagram):
        if index % 5 != 3:
            return [0.0]
        time.sleep(0.002)
        return relay.lose()

    with Relay(**{way: lose}) as relay:
        ends = ends_of(relay, clock, size, wait)
        tally = together(ends, "pingpong", 50)
        assert counts(tally) == (40, 50, 10, 0)
        assert len(ends[0].times) == 40
        # And how long was waited for these.
        assert tally.waited / clock.hertz >= 10 * 0.002 * (1 - RATES)
        # And the next batch is none the worse.
        assert counts(together(ends, "pingpong", 3)) == (3, 3, 0, 0)


def test_time_ends_a_wait(clock):
    with Relay(there=lambda *_: []) as relay:
        end = ends_of(relay, clock, 64, timeout=0.03)[0]
        tally = end.take_part(_native.initiate_datagrams, "pingpong", 3)
        assert counts(tally) == (0, 3, 3, 0)
        assert tally.waited / clock.hertz >= 3 * 0.03 * (1 - RATES)


def test_who_has_waited_for_as_much_as_is_wanted_comes_back(clock):
    with Relay(back=lambda index, _: relay.lose() if index == 3 else [0.0]) as relay:
        ends = ends_of(relay, clock, 64)
        assert counts(together(ends, "pingpong", 20, most_waited=1)) == (3, 4, 1, 0)
        # Numbers go on behind all that the batch might have sent.
        assert counts(together(ends, "pingpong", 20, most_waited=1)) == (20, 20, 0, 0)


@pytest.mark.parametrize("size", [1, 4, 8, 1000])
def test_a_late_answer_is_not_the_next_one_s(clock, size):
    """The third answer comes in the midst of the next exchange, each of which takes 8 ms."""
    held = []

    def delay(index, datagram):
        if index == 2:
            held.append(datagram)
            return relay.lose()
        return [(0.0, held[0]), 0.008] if index == 3 else [0.008]

    with Relay(back=delay) as relay:
        ends = ends_of(relay, clock, size)
        assert counts(together(ends, "pingpong", 20)) == (19, 20, 0, 1)
        assert (ends[0].times >= 8e6 * (1 - RATES)).all()


def test_what_came_of_answers_makes_for_patience(clock):
    """Twenty times any answer is less than the shortest wait, whatever this machine does."""
    held = []

    def delay(index, datagram):
        if index == 13:
            held.append(datagram)
        if index == 14:
            # Here, or else in the midst of the next, it is late.
            relay.hand_on(1, held[0])
        return relay.lose() if index in (11, 13, 14, 15) else [0.0]

    shortest = 20 * int(AMPLE_SECONDS)
    with Relay(back=delay) as relay:
        ends = ends_of(relay, clock, 8, timeout=100 * shortest, shortest=shortest)
        patience = ends[0].datagrams.patience

        def after(samples):
            tally = together(ends, "pingpong", samples)
            return counts(tally), patience.length / (shortest * 10**9)

        assert patience.length == patience.limit
        assert after(10) == ((10, 10, 0, 0), 1)
        assert after(2) == ((1, 2, 1, 0), 2)
        assert after(4) == ((1, 4, 2, 1), 100)
        assert after(1) == ((1, 1, 0, 0), 1)


def test_a_second_answer_counts_for_nothing(clock):
    with Relay(there=lambda *_: [0.0, 0.0], back=lambda *_: [0.0, 0.001]) as relay:
        ends = ends_of(relay, clock, 8)
        assert counts(together(ends, "pingpong", 30)) == (30, 30, 0, 0)
        assert counts(together(ends, "pingpong", 30)) == (30, 30, 0, 0)


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_who_never_answers_ends_in_a_timeout(clock, pattern, wait):
    with Relay(there=lambda *_: [], notice=lambda *_: []) as relay:
        end = End(relay.datagrams(0, wait, timeout=0.1), clock, 64, window=4)
        began = time.monotonic()
        with pytest.raises(_native.NoAnswer, match=r"within 0\.\d s"):
            end.take_part(_native.initiate_datagrams, pattern, 10)
        assert time.monotonic() - began >= 5 * 0.1 * (1 - RATES)


def test_samples_may_all_be_lost_a_few_times_but_not_for_ever(clock):
    with Relay(there=lambda *_: []) as relay:
        ends = ends_of(relay, clock, 64, timeout=0.02)
        for _ in range(4):
            tally = ends[0].take_part(_native.initiate_datagrams, "pingpong", 1)
            assert counts(tally) == (0, 1, 1, 0)
        with pytest.raises(_native.NoAnswer, match=r"no answer to 5 datagrams within 0\.02 s each"):
            ends[0].take_part(_native.initiate_datagrams, "pingpong", 1)


@pytest.mark.parametrize("lead", [0, 1, 10])
def test_what_leads_may_be_lost_as_often_as_what_counts(clock, lead):
    with Relay(there=lambda *_: []) as relay:
        end = ends_of(relay, clock, 64, timeout=0.02, shortest=0.001)[0]
        with pytest.raises(_native.NoAnswer, match="no answer to 5 datagrams"):
            end.take_part(_native.initiate_datagrams, "pingpong", 10, lead=lead)


@pytest.mark.parametrize(
    ("pattern", "rate", "idle"), [("pingpong", 0, 1.07), ("stream", 4e3, 1.15)]
)
def test_a_responder_waits_no_longer_than_the_initiator_goes_on(clock, pattern, rate, idle):
    """Seven timeouts, at a rate two windows (20 datagrams of 4 ms), and a second beside."""
    with Relay() as relay:
        end = ends_of(relay, clock, 16, timeout=0.01, window=10, rate=rate)[1]
        with pytest.raises(_native.NoAnswer, match=rf"nothing came for {idle} s"):
            end.take_part(_native.respond_datagrams, pattern, 10)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("pattern", ["pingpong", "stream"])
def test_a_stop_ends_every_wait(clock, pattern, wait, side):
    calls = _native.initiate_datagrams, _native.respond_datagrams
    raised = []

    def work(end):
        try:
            end.take_part(calls[side], pattern, 10)
        except _native.Stopped as error:
            raised.append(error)

    with Relay(there=lambda *_: [], notice=lambda *_: []) as relay:
        end = ends_of(relay, clock, 64, wait, timeout=60.0)[side]
        thread = threading.Thread(target=work, args=(end,))
        thread.start()
        time.sleep(0.05)
        _native.request_stop()
        # By nothing else for an hour.
        thread.join(timeout=AMPLE_SECONDS)
        _native.request_stop(False)
        assert len(raised) == 1


def test_a_port_where_nobody_is_is_an_os_error(clock):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        address = gone.getsockname()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here:
        here.connect(address)
        here.setblocking(False)
        end = End(_native.Datagrams(here.fileno(), True, True, HOUR_NS), clock, 8)
        with pytest.raises(OSError, match="refused"):
            end.take_part(_native.initiate_datagrams, "pingpong", 10)


def test_a_datagram_that_is_too_long_is_an_os_error(clock):
    with Relay() as relay:
        end = End(relay.datagrams(0), clock, 65508)
        with pytest.raises(OSError, match="too long"):
            end.take_part(_native.initiate_datagrams, "pingpong", 1)


# Stream.


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("size", SIZES[:-1])
def test_all_that_is_sent_arrives_once(clock, size, wait):
    with Relay() as relay:
        ends = ends_of(relay, clock, size, wait, window=8)
        for samples in (1, 10):
            tally = together(ends, "stream", samples, lead=1)
            assert counts(tally) == (samples, 8 * samples, 0, 0)
            assert ends[1].tally.samples == samples
            assert (tally.jitter >= 0) == (size >= 16)


@pytest.mark.parametrize("size", [1, 8, 1000])
@pytest.mark.parametrize("rate", [0.0, 1e6])
def test_lost_datagrams_of_a_stream_are_counted_exactly(clock, size, rate):
    with Relay(there=lambda index, _: [] if index % 10 == 7 else [0.0]) as relay:
        ends = ends_of(relay, clock, size, window=20, rate=rate * size / 1000)
        assert counts(together(ends, "stream", 10)) == (10, 200, 20, 0)
        # A first window that does not count takes its two losses with it.
        assert counts(together(ends, "stream", 10, lead=1)) == (10, 200, 20, 0)


def test_a_swap_is_one_late_and_a_copy_none(clock):
    held = []

    def shuffle(index, datagram):
        if index % 10 == 4:
            held.append(datagram)
            return []
        if index % 10 == 5:
            return [0.0, (0.0, held.pop())]
        return [0.0, 0.0] if index % 10 == 7 else [0.0]

    with Relay(there=shuffle) as relay:
        ends = ends_of(relay, clock, 100, window=20)
        assert counts(together(ends, "stream", 5)) == (5, 100, 0, 10)


@pytest.mark.parametrize("wait", ["block", "spin"])
def test_lost_notices_are_sent_again(clock, wait):
    """Of each that says something new, the first copy is lost."""
    said = set()

    def lose_the_first(index, datagram):
        what = read_notice(datagram)[1:4]
        if what in said:
            return [0.0]
        said.add(what)
        return []

    with Relay(notice=lose_the_first) as relay:
        ends = ends_of(relay, clock, 100, wait)
        for pattern, window in (("stream", 4), ("pingpong", 1), ("stream", 4)):
            for end in ends:
                end.window = window
            assert counts(together(ends, pattern, 5)) == (5, 5 * window, 0, 0)
    # What the end of each batch is asked, and told.
    assert len(said) == 2 * (2 * 5 + 2) + 2


# Jitter.


def stamp_of(datagram):
    """When it was sent, ns of CLOCK_MONOTONIC."""
    return struct.unpack("<q", datagram[8:16])[0]


def smooth(differences):
    """RFC 3550, 6.4.1: J += (|D| - J) / 16."""
    jitter = 0.0
    for difference in differences:
        jitter += (difference - jitter) / 16
    return jitter


def bounds_of_jitter(transits):
    """Between what jitter is where transits are between (least, most) each. It grows with each
    difference."""
    steps = list(itertools.pairwise(transits))
    least = smooth(max(0, after[0] - before[1], before[0] - after[1]) for before, after in steps)
    most = smooth(max(after[1] - before[0], before[1] - after[0]) for before, after in steps)
    return least, most


def transits_of(passed):
    """Of each datagram of a stream with a window of one, how long it was on its way, at least and
    at most: it had not come before it went on, and had before its arrival was reported."""
    transits, data = [], [each for each in passed if not is_notice(each.datagram)]
    reports = {}
    for each in passed:
        if is_notice(each.datagram) and read_notice(each.datagram).kind == ANSWERS:
            reports.setdefault(read_notice(each.datagram).end, each.came)
    for each in data:
        sent = stamp_of(each.datagram)
        reported = reports[number_of(each.datagram) + 1]
        transits.append((each.went - sent, reported - sent))
    return transits


@pytest.mark.parametrize("delays", [[0.0], [0.0, 0.005], [0.003, 0.0, 0.007, 0.001]])
def test_jitter_is_that_of_the_times_that_the_relay_saw(clock, delays):
    def delay(index, datagram):
        # What comes behind it waits, too: none is late.
        time.sleep(delays[index % len(delays)])
        return [0.0]

    with Relay(there=delay) as relay:
        ends = ends_of(relay, clock, 100)
        tally = together(ends, "stream", 60)
        assert counts(tally) == (60, 60, 0, 0)
        least, most = bounds_of_jitter(transits_of(relay.passed))
        assert least - 1 <= tally.jitter <= most + 1


@pytest.mark.parametrize("shifts", [[0], [0, 10**15], [10**15, 3 * 10**15, 2 * 10**15, 10**12]])
def test_the_jitter_of_an_alternating_delay_is_that_delay(clock, shifts):
    """The delays are made: the relay changes when each says that it was sent. What else there is
    is shorter than the test."""

    def age(index, datagram):
        sent = stamp_of(datagram) - shifts[index % len(shifts)]
        return [(0.0, datagram[:8] + struct.pack("<q", sent) + datagram[16:])]

    with Relay(there=age) as relay:
        ends = ends_of(relay, clock, 100, window=60, rate=100 / 0.0005)
        began = time.monotonic_ns()
        tally = together(ends, "stream", 1)
        took = time.monotonic_ns() - began
    assert counts(tally) == (1, 60, 0, 0)
    made = [shifts[i % len(shifts)] for i in range(60)]
    expected = smooth(abs(b - a) for a, b in itertools.pairwise(made))
    assert tally.jitter == pytest.approx(expected, abs=took)


def test_what_leads_has_no_part_in_jitter(clock):
    def age(index, datagram):
        sent = stamp_of(datagram) - (10**15 if index == 19 else 0)
        return [(0.0, datagram[:8] + struct.pack("<q", sent) + datagram[16:])]

    with Relay(there=age) as relay:
        ends = ends_of(relay, clock, 100, window=20)
        began = time.monotonic_ns()
        tally = together(ends, "stream", 2, lead=1)
        assert tally.jitter <= time.monotonic_ns() - began


# Rates. How a rate is kept is decided by the pacer; here is that it is asked. On CLOCK_MONOTONIC,
# so that the kernel's times are those in the datagrams.


@pytest.fixture(scope="module")
def monotonic():
    clock = Clock()
    clock.source, clock.hertz = "monotonic", 1e9
    return clock


@pytest.mark.parametrize(("size", "rate"), [(1000, 10e6), (1000, 1e6), (64, 1e6)])
@pytest.mark.parametrize("wait", ["block", "spin"])
def test_none_goes_before_the_rate_lets_it(monotonic, size, rate, wait):
    interval = size / rate * 1e9
    with Relay() as relay:
        ends = ends_of(relay, monotonic, size, wait, window=50, rate=rate)
        began = time.monotonic_ns()
        tally = together(ends, "stream", 20)
        assert counts(tally) == (20, 1000, 0, 0)
        stamps = [stamp_of(each.datagram) for each in relay.passed if not is_notice(each.datagram)]
    early = [stamp - began - i * interval for i, stamp in enumerate(stamps)]
    assert len(stamps) == 1000
    assert min(early) >= -1
    assert ends[0].times.sum() >= 999 * interval - 1


def test_a_rate_is_kept(monotonic):
    """One of 200 goes no later after another than it should, unless each of them was stopped for
    longer than the one before."""
    interval = 5e6
    with Relay() as relay:
        ends = ends_of(relay, monotonic, 100, window=200, rate=100 / interval * 1e9)
        together(ends, "stream", 1)
        stamps = [stamp_of(each.datagram) for each in relay.passed if not is_notice(each.datagram)]
    assert np.diff(stamps).min() < 1.25 * interval


def test_time_that_was_lost_is_not_made_up_for_by_a_burst(monotonic):
    interval = 1e6
    with Relay() as relay:
        ends = ends_of(relay, monotonic, 100, window=200, rate=100 / interval * 1e9)
        together(ends, "stream", 1)
        stamps = [stamp_of(each.datagram) for each in relay.passed if not is_notice(each.datagram)]
    # A sender may be stopped between when a datagram is let go and when it writes down the time.
    # Then it looks at the clock for the next, and from that to the one after is half an interval.
    gaps = np.array(stamps[2:]) - np.array(stamps[:-2])
    assert gaps.min() >= 0.5 * interval - 1


# What is held.


def fill(end, seed):
    generator = np.random.default_rng(seed)
    end.out_bytes[:] = generator.integers(0, 256, end.out_bytes.shape, dtype=np.uint8)


def check_held(receiver, sender, header):
    """Every buffer of which it is known holds its sender's message; how many these are."""
    known = np.flatnonzero(receiver.held)
    for slot in known:
        sent = sender.out_bytes[receiver.held[slot] - 1]
        assert np.array_equal(receiver.in_bytes[slot][header:], sent[header:])
    return len(known)


@pytest.mark.parametrize("size", [8, 56, 57, 1000])
@pytest.mark.parametrize("slots", [1, 4, 64])
def test_what_is_held_is_what_was_sent(clock, size, slots):
    header = min(size, 16)

    def lose(index, datagram):
        if index % 7 != 5:
            return [0.0]
        return relay.lose() if ends[0].window == 1 else []

    with Relay(there=lose) as relay:
        ends = ends_of(relay, clock, size, slots=slots)
        for turn in range(3):
            for end in ends:
                fill(end, turn)
            together(ends, "pingpong", 10, lead=1, verify=True)
            assert check_held(ends[0], ends[1], header) >= min(slots, 6)
            assert check_held(ends[1], ends[0], header) >= min(slots, 6)
        for end in ends:
            end.window = 16
            end.datagrams.restart()
        for turn in range(3):
            fill(ends[0], 10 + turn)
            together(ends, "stream", 4, lead=1, verify=True)
            # The window's last buffers hold what has come; some of what came was overwritten.
            assert check_held(ends[1], ends[0], header) >= min(slots, 48)
            assert not ends[0].held.any()


def test_notices_and_data_of_one_length_are_told_apart(clock):
    lengths = set()

    def note(index, datagram):
        lengths.add((len(datagram), is_notice(datagram)))
        return [0.0]

    with Relay(there=note, notice=note) as relay:
        ends = ends_of(relay, clock, 56, window=4)
        assert counts(together(ends, "stream", 5)) == (5, 20, 0, 0)
    assert lengths == {(56, False), (56, True)}


def test_numbers_go_on_from_batch_to_batch(clock):
    numbers = []

    def note(index, datagram):
        numbers.append(number_of(datagram))
        return [0.0]

    with Relay(there=note) as relay:
        ends = ends_of(relay, clock, 8)
        together(ends, "pingpong", 3, lead=1)
        for end in ends:
            end.datagrams.restart()
        together(ends, "pingpong", 2)
    assert numbers == list(range(6))
