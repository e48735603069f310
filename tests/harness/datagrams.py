"""Batches of the native patterns over datagrams, with both ends in one process."""

import struct

import numpy as np

from halftrip import _native
from harness.limits import AMPLE_SECONDS
from harness.threads import in_thread

HOUR_NS = 3600 * 10**9
# By how much two clocks may differ in rate, at most: NTP slews CLOCK_MONOTONIC by 500 ppm.
RATES = 1e-3
SIZES = [1, 2, 7, 8, 9, 15, 16, 55, 56, 57, 1000, 65507]


class End:
    """One end of a configuration: its buffers, and what its last batch gave."""

    def __init__(self, datagrams, clock, size, slots=1, window=1, rate=0.0, jitter=False):
        self.out_bytes = np.zeros((slots, size), dtype=np.uint8)
        self.in_bytes = np.zeros((slots, size), dtype=np.uint8)
        self.rings = _native.Ring(self.out_bytes), _native.Ring(self.in_bytes)
        self.datagrams, self.clock, self.window = datagrams, clock, window
        self.rate, self.jitter = rate, jitter

    def take_part(self, call, pattern, samples, untimed=0, verify=False, max_timed_out=HOUR_NS):
        timestamps = np.zeros(samples + 1, dtype=np.int64)
        self.source_slots = np.zeros(len(self.in_bytes) if verify else 0, dtype=np.int64)
        self.result = call(
            self.datagrams, pattern, *self.rings, self.window, self.rate, untimed, max_timed_out,
            timestamps, self.source_slots, self.clock.source, self.clock.hertz, self.jitter,
        )  # fmt: skip
        taken = self.clock.intervals(timestamps[: self.result.timestamps])
        self.times = np.delete(taken, self.result.unanswered)
        return self.result


def ends_of(
    relay, clock, size, wait="spin", timeout=AMPLE_SECONDS, shortest=AMPLE_SECONDS, **options
):
    return [
        End(relay.datagrams(side, wait, timeout, shortest), clock, size, **options)
        for side in (0, 1)
    ]


def run_batch(ends, pattern, samples, **options):
    """One batch at both ends; returns the initiator's result."""

    def respond():
        ends[1].take_part(_native.respond_datagrams, pattern, samples, **options)

    finish = in_thread(respond)
    try:
        return ends[0].take_part(_native.initiate_datagrams, pattern, samples, **options)
    finally:
        try:
            assert finish() is None
        except AssertionError:
            _native.request_stop()
            finish()
            _native.request_stop(False)
            raise


def smoothed(differences):
    """RFC 3550, 6.4.1: J += (|D| - J) / 16."""
    jitter = 0.0
    for difference in differences:
        jitter += (difference - jitter) / 16
    return jitter


def counts(result):
    return result.samples, result.sent, result.lost, result.reordered


def number_of(datagram):
    return struct.unpack("<q", datagram[:8])[0]


def timestamp_of(datagram):
    """When it was sent, ns of CLOCK_MONOTONIC."""
    return struct.unpack("<q", datagram[8:16])[0]
