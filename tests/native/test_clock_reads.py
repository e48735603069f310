"""How often timed code reads the clock: as often as native/timing.hpp says, and no more; and how
long it sleeps."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.preload import preloading

HERE = Path(__file__).parent

# Counts the reads of both ends of one call, with few samples and with many.
SCRIPT = """
import ctypes, json, sys
import numpy as np
from halftrip import _native
from halftrip.clock import Clock
from harness.datagrams import End, ends_of, run_batch
from harness.ends import shm_pair
from harness.threads import in_thread
from harness.relay import Relay

reads = ctypes.CDLL(None).monotonic_reads
asked_sleep_ns = ctypes.CDLL(None).asked_sleep_ns
reads.restype = asked_sleep_ns.restype = ctypes.c_long

def kernel(pattern, samples, receive_times=False, arrivals=False):
    ends, _ = shm_pair()
    rings = [_native.Ring(np.zeros((1, 8), np.uint8)) for _ in range(2)]
    def part(call, end):
        received = np.zeros(samples, np.int64) if receive_times else None
        times = np.zeros(samples + 1, np.int64)
        asked = {"arrivals": True} if arrivals and call is _native.respond else {}
        call(end, pattern, *rings, 2, 1, 1, times, "monotonic", received, **asked)
    finish = in_thread(lambda: part(_native.respond, ends[1]))
    before = reads()
    part(_native.initiate, ends[0])
    assert finish() is None
    return reads() - before

def datagrams(pattern, samples, jitter, window):
    clock = Clock("monotonic")
    with Relay() as relay:
        ends = ends_of(relay, clock, 64, "block", window=window, jitter=jitter)
        # Without a relay between them, which would read the clock, too.
        addresses = [end.getsockname() for end in relay.ends]
        for end, address in zip(relay.ends, reversed(addresses)):
            end.connect(address)
        before = reads()
        run_batch(ends, pattern, samples)
        return reads() - before

def asked_sleep_ms(timeout):
    # For five replies that do not come, after which the end gives up.
    with Relay(there=lambda *_: [], control=lambda *_: []) as relay:
        end = End(relay.datagrams(0, "block", timeout), Clock("monotonic"), 64)
        before = asked_sleep_ns()
        try:
            end.take_part(_native.initiate_datagrams, "pingpong", 10)
        except _native.NoAnswer:
            return (asked_sleep_ns() - before) * 1e-6

def per_sample(count, *arguments, few=100, many=2100, **options):
    return (count(arguments[0], many, *arguments[1:], **options)
            - count(arguments[0], few, *arguments[1:], **options)) / (many - few)

print(json.dumps({
    "pingpong": per_sample(kernel, "pingpong"),
    "arrivals": per_sample(kernel, "pingpong", arrivals=True),
    "bidirectional": per_sample(kernel, "bidirectional"),
    "receive times": per_sample(kernel, "bidirectional", receive_times=True),
    "datagram pingpong": per_sample(datagrams, "pingpong", False, 1),
    "datagram stream": per_sample(datagrams, "stream", False, 100, few=2, many=22),
    "datagram stream with jitter": per_sample(datagrams, "stream", True, 100, few=2, many=22),
    "short waits": asked_sleep_ms(0.002),
    "long waits": asked_sleep_ms(0.012),
}))
"""


@pytest.fixture(scope="module")
def reads(tmp_path_factory):
    library = tmp_path_factory.mktemp("clock") / "count.so"
    compiler = os.environ.get("CXX", "c++")
    source = HERE / "count_clock_reads.cpp"
    subprocess.run([compiler, "-O1", "-fPIC", "-shared", source, "-o", library], check=True)
    environment = os.environ | preloading(library) | {"PYTHONPATH": str(HERE.parent)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_a_sample_reads_the_clock_as_often_as_is_said(reads):
    from halftrip import _native

    once, twice = _native.clock_reads, _native.clock_reads_with_receive_times
    # A ping-pong's responder takes no timestamps; otherwise both ends do. A thread that waits for
    # the interpreter's lock reads the clock now and then.
    assert reads["pingpong"] == pytest.approx(once, abs=0.1)
    # The responder's reading is in the initiator's time, too.
    assert reads["arrivals"] == pytest.approx(_native.clock_reads_with_arrivals, abs=0.1)
    assert reads["bidirectional"] == pytest.approx(2 * once, abs=0.1)
    assert reads["receive times"] == pytest.approx(2 * twice, abs=0.1)


def test_a_datagram_costs_no_clock_read_unless_jitter_is_asked_for(reads):
    assert reads["datagram pingpong"] == pytest.approx(1, abs=0.1)
    # For a window and its report, at both ends; not for each of its 100 datagrams.
    assert reads["datagram stream"] < 10
    extra = reads["datagram stream with jitter"] - reads["datagram stream"]
    assert extra == pytest.approx(200, abs=5)


def test_a_wait_for_a_reply_is_as_long_as_its_timeout(reads):
    assert reads["short waits"] == pytest.approx(5 * 2)
    # Their last part: a socket's own timeout is coarse, and after one of 4 ms no more are left.
    assert reads["long waits"] <= 5 * (12 - 4)
