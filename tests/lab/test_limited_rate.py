"""What a link of a known rate lets through, and what its interfaces count."""

import numpy as np
import pytest

from halftrip.analysis.summaries import summarize_configuration
from harness.flags import flags_of

pytestmark = pytest.mark.extended

MTU = 1500
# What tbf counts of a frame: IP and its Ethernet header, but no preamble, checksum nor gap. What
# TCP hands down as one counts as the frames that it will be (qdisc_pkt_len_init in net/core/dev.c
# adds the headers of all segments), and is cut up where it is larger than the burst (tbf_segment).
FRAME = MTU + 14
# 20 bytes of IP, 20 of TCP and 12 of its timestamps; 8 of UDP.
PAYLOAD = {"tcp": MTU - 52, "udp": MTU - 28}
# A message, and how many make a window: 1 MiB or 377 kB, so that the ends of windows, an
# acknowledgement each, and messages that end in the midst of a frame, count for little.
WORK = {"tcp": ("64K", 16), "udp": (str(PAYLOAD["udp"]), 256)}


@pytest.mark.parametrize("transport", WORK)
def test_a_limit_is_measured(lab, shell, transport):
    """The bandwidth of a stream is, within 2 %, the limit times the share of payload in a full
    frame.

    A bucket that is full lets a burst go ahead of its time, but only once: it is never full again
    while all that it gets is taken, and the iteration that goes before each batch, which is not
    timed, takes it. What comes in while a window is acknowledged stays for the next, as that takes
    less than the two milliseconds or more in which the bucket fills, and so, as a rule, does a
    pause of the machine itself; so over windows nothing is lost or won. The queue is longer than
    what a socket has on its way: nothing is dropped.
    """
    rate = 100_000_000
    for host in lab.hosts:
        host.limit(rate, burst=65536)
    size, window = WORK[transport]
    arguments = ("-t", transport, "-p", "stream", "-s", size, "--window", window)
    run = lab.measure(shell, *arguments, "--ci", "none", "--time", "1s", "-r", "1")
    (m,) = run.measurements
    left = rate / 8 * PAYLOAD[transport] / FRAME
    assert summarize_configuration([m]).bandwidth == pytest.approx(left, rel=0.02)
    assert m.delivery is None or m.delivery.lost == 0
    assert [host.limiter()["drops"] for host in lab.hosts] == [0, 0]


def wire(size):
    """How many bytes of frames, as tbf counts them, go each way for a message of a ping-pong. The
    second of two segments is acknowledged at once (RFC 5681, 4.2), in a frame of its own, as the
    answer is not there yet."""
    count = -(-size // PAYLOAD["tcp"])
    return size + (count + (count > 1)) * (14 + 52)


def midst(times):
    """The median of the shortest interval with a third of `times` in it."""
    ordered = np.sort(times)
    third = len(ordered) // 3
    first = np.argmin(ordered[third:] - ordered[:-third])
    return float(ordered[first + third // 2])


def test_one_frame_more_takes_the_time_of_one(lab, shell):
    """Through a slow limit, half a round trip takes, within 0.5 %, half of what the limit needs for
    the frames of a message: each goes when its bucket has what it takes, and the buckets of both
    ends fill at the same time. One byte more is 0.07 %; where it makes one frame more it is 8 %.

    Where the machine that both hosts are on is stopped for a while, an iteration is late, and as
    the bucket goes on filling, up to two frames, the next is early: neither is what the limit
    takes, so it is looked for where iterations lie closest. The median is the same within 1 %, or
    the row says that it is disturbed."""
    rate = 2_000_000
    for host in lab.hosts:
        host.limit(rate, burst=3000)
    one = PAYLOAD["tcp"]
    sizes = ",".join(str(size) for size in (one, one + 1, 2 * one + 1))
    run = lab.measure(shell, "-t", "tcp", "-s", sizes, "--ci", "none", "--time", "0.8s", "-r", 2)
    for configuration, flags in flags_of(run).items():
        times = np.concatenate([m.one_way_times for m in run.by_configuration[configuration]])
        due = wire(configuration.size) * 8e9 / rate / 2
        assert midst(times) == pytest.approx(due, rel=0.005), configuration.size
        if "disturbed" not in {flag.name for flag in flags}:
            assert np.median(times) == pytest.approx(due, rel=0.01), configuration.size
