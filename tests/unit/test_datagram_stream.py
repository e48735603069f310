"""Streams over datagrams through a relay: what is counted, the jitter, and how a rate is kept.

Every assertion follows from what the relay did, none from how fast it was.
"""

import itertools
import struct
import time

import numpy as np
import pytest

from halftrip.clock import Clock
from harness.control_message import REPORT, is_control, read_control
from harness.datagrams import SIZES, counts, ends_of, number_of, run_batch, smoothed, timestamp_of
from harness.relay import Relay


def data_of(relay):
    """The datagrams of data that went through."""
    return [each for each in relay.passed if not is_control(each.datagram)]


@pytest.mark.parametrize("wait", ["block", "spin"])
@pytest.mark.parametrize("size", SIZES[:-1])
@pytest.mark.parametrize("jitter", [True, False])
def test_all_that_is_sent_arrives_once(clock, size, wait, jitter):
    with Relay() as relay:
        ends = ends_of(relay, clock, size, wait, window=8, jitter=jitter)
        for samples in (1, 10):
            result = run_batch(ends, "stream", samples, untimed=1)
            assert counts(result) == (samples, 8 * samples, 0, 0)
            assert ends[1].result.samples == samples
            assert (result.jitter >= 0) == (jitter and size >= 16)


def test_without_jitter_a_datagram_has_its_number_only(clock):
    with Relay() as relay:
        ends = ends_of(relay, clock, 100, window=4)
        ends[0].out_bytes[:] = 0xA5
        run_batch(ends, "stream", 3)
        data = [each.datagram for each in data_of(relay)]
    assert [number_of(each) for each in data] == list(range(12))
    assert {each[8:] for each in data} == {b"\xa5" * 92}


@pytest.mark.parametrize("size", [1, 8, 1000])
@pytest.mark.parametrize("rate", [0.0, 1e6])
def test_lost_datagrams_are_counted_exactly(clock, size, rate):
    with Relay(there=lambda index, _: [] if index % 10 == 7 else [0.0]) as relay:
        ends = ends_of(relay, clock, size, window=20, rate=rate * size / 1000)
        assert counts(run_batch(ends, "stream", 10)) == (10, 200, 20, 0)
        # The warm-up's two losses do not count.
        assert counts(run_batch(ends, "stream", 10, untimed=1)) == (10, 200, 20, 0)


def test_a_swap_is_one_late_and_a_copy_none(clock):
    kept = []

    def shuffle(index, datagram):
        if index % 10 == 4:
            kept.append(datagram)
            return []
        if index % 10 == 5:
            return [0.0, (0.0, kept.pop())]
        return [0.0, 0.0] if index % 10 == 7 else [0.0]

    with Relay(there=shuffle) as relay:
        ends = ends_of(relay, clock, 100, window=20)
        assert counts(run_batch(ends, "stream", 5)) == (5, 100, 0, 10)


@pytest.mark.parametrize("wait", ["block", "spin"])
def test_lost_control_messages_are_sent_again(clock, wait):
    """The first copy of each that says something new is lost."""
    said = set()

    def drop_the_first(index, datagram):
        control = read_control(datagram)
        what = control.kind, control.batch, control.end
        if what in said:
            return [0.0]
        said.add(what)
        return []

    with Relay(control=drop_the_first) as relay:
        ends = ends_of(relay, clock, 100, wait)
        for pattern, window in (("stream", 4), ("pingpong", 1), ("stream", 4)):
            for end in ends:
                end.window = window
            assert counts(run_batch(ends, pattern, 5)) == (5, 5 * window, 0, 0)
    # In a stream a request and a report for each sample; in every batch its end, acknowledged.
    assert len(said) == 2 * (2 * 5 + 2) + 2


# Jitter.


def bounds_of_jitter(transits):
    """The least and the most that the jitter can be where each transit time is between (least,
    most). It grows with every difference."""
    steps = list(itertools.pairwise(transits))
    least = smoothed(max(0, after[0] - before[1], before[0] - after[1]) for before, after in steps)
    most = smoothed(max(after[1] - before[0], before[1] - after[0]) for before, after in steps)
    return least, most


def transits_of(relay):
    """The least and the most that each datagram's transit took, in a stream with a window of one:
    it arrived after it left the relay, and before its report did."""
    reports = {}
    for each in relay.passed:
        if is_control(each.datagram) and read_control(each.datagram).kind == REPORT:
            reports.setdefault(read_control(each.datagram).end, each.arrived)
    transits = []
    for each in data_of(relay):
        sent = timestamp_of(each.datagram)
        reported = reports[number_of(each.datagram) + 1]
        transits.append((each.left - sent, reported - sent))
    return transits


@pytest.mark.parametrize("delays", [[0.0], [0.003, 0.0, 0.007, 0.001]])
def test_jitter_is_that_of_the_relay_s_times(clock, delays):
    def delay(index, datagram):
        # Those behind it wait, too: none is late.
        time.sleep(delays[index % len(delays)])
        return [0.0]

    with Relay(there=delay) as relay:
        ends = ends_of(relay, clock, 100, jitter=True)
        result = run_batch(ends, "stream", 60)
        assert counts(result) == (60, 60, 0, 0)
        least, most = bounds_of_jitter(transits_of(relay))
        assert least - 1 <= result.jitter <= most + 1


def aged(datagram, ns):
    """The datagram, as if it had been sent so much earlier."""
    sent = timestamp_of(datagram) - ns
    return datagram[:8] + struct.pack("<q", sent) + datagram[16:]


def test_the_warm_up_has_no_part_in_jitter(clock):
    def age(index, datagram):
        return [(0.0, aged(datagram, 10**15 if index == 19 else 0))]

    with Relay(there=age) as relay:
        ends = ends_of(relay, clock, 100, window=20, jitter=True)
        began = time.monotonic_ns()
        result = run_batch(ends, "stream", 2, untimed=1)
        assert 0 <= result.jitter <= time.monotonic_ns() - began


# Rates. The tests of the pacer say how a rate is kept; these say that the pacer is asked. They use
# CLOCK_MONOTONIC, so that the kernel's times are those in the datagrams.


@pytest.fixture(scope="module")
def monotonic():
    clock = Clock()
    clock.source, clock.hertz = "monotonic", 1e9
    return clock


def times_of(relay):
    return [timestamp_of(each.datagram) for each in data_of(relay)]


@pytest.mark.parametrize(("size", "rate"), [(1000, 10e6), (64, 1e6)])
@pytest.mark.parametrize("wait", ["block", "spin"])
def test_none_is_sent_before_the_rate_allows_it(monotonic, size, rate, wait):
    interval = size / rate * 1e9
    with Relay() as relay:
        ends = ends_of(relay, monotonic, size, wait, window=50, rate=rate, jitter=True)
        began = time.monotonic_ns()
        result = run_batch(ends, "stream", 20)
        assert counts(result) == (20, 1000, 0, 0)
        times = times_of(relay)
    early = [sent - began - i * interval for i, sent in enumerate(times)]
    assert len(times) == 1000
    assert min(early) >= -1
    assert ends[0].times.sum() >= 999 * interval - 1


def test_a_rate_is_kept_and_lost_time_not_caught_up_in_a_burst(monotonic):
    """At least one gap in 200 is no longer than it should be; only a machine that stops the sender
    longer each time could make all of them longer."""
    interval = 2e6
    with Relay() as relay:
        ends = ends_of(relay, monotonic, 100, window=200, rate=100 / interval * 1e9, jitter=True)
        run_batch(ends, "stream", 1)
        times = times_of(relay)
    assert np.diff(times).min() < 1.25 * interval
    # A sender may be stopped after a datagram became due and before it writes down the time. It
    # reads the clock again for the next one, so there is half an interval from that to the one
    # after.
    gaps = np.array(times[2:]) - np.array(times[:-2])
    assert gaps.min() >= 0.5 * interval - 1
