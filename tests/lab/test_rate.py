"""What a link lets through is measured as what its frames leave for payload."""

import pytest

from halftrip.analysis.summaries import summarize_configuration

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


@pytest.mark.parametrize(("rate", "burst"), [(100_000_000, 65536), (1_000_000_000, 262144)])
def test_a_limit_is_measured(lab, shell, rate, burst):
    """The bandwidth of a stream is, within 2 %, the limit times the share of payload in a full
    frame.

    A bucket that is full lets a burst go ahead of its time, but only once: it is never full again
    while all that it gets is taken, and the iteration that goes before each batch, which is not
    timed, takes it. What comes in while a window is acknowledged stays for the next, as that takes
    less than the two milliseconds or more in which the bucket fills, and so, as a rule, does a
    pause of the machine itself; so over windows nothing is lost or won. The queue is longer than
    what a socket has on its way: nothing is dropped.
    """
    for host in lab.hosts:
        host.limit(rate, burst)
    for transport, (size, window) in WORK.items():
        arguments = ("-t", transport, "-p", "stream", "-s", size, "--window", window)
        run = lab.measure(shell, *arguments, "--ci", "none", "--time", "1s", "-r", "1")
        (m,) = run.measurements
        left = rate / 8 * PAYLOAD[transport] / FRAME
        assert summarize_configuration([m]).bandwidth == pytest.approx(left, rel=0.02), transport
        assert m.delivery is None or m.delivery.lost == 0
        assert [host.limiter()["drops"] for host in lab.hosts] == [0, 0]


def test_bandwidth_is_what_arrives_not_what_a_queue_takes(lab, shell):
    """More is offered than the link carries: a queue takes it for a while, and then drops what is
    too much. No more arrives than the link lets through in the time, and the queue, 64 kB, holds
    when it begins: 0.5 % of a second's. It may be less: a sender that was stopped for longer than
    the queue lasts has left the link idle.
    """
    for host in lab.hosts:
        host.limit(100_000_000, 16384, queue=65536)
    run = lab.measure(
        shell, "-t", "udp", "-p", "stream", "-s", str(PAYLOAD["udp"]), "--window", "256",
        "--rate", "25MB", "--ci", "none", "--time", "1s", "-r", "1",
    )  # fmt: skip
    (m,) = run.measurements
    assert m.delivery.lost > 0
    left = 100_000_000 / 8 * PAYLOAD["udp"] / FRAME
    assert summarize_configuration([m]).bandwidth <= 1.01 * left
