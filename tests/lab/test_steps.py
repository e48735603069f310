"""A message that needs one frame more takes the time of one frame more."""

import numpy as np
import pytest

from halftrip.analysis.flags import flags_by_configuration
from lab.relay import Rule

pytestmark = pytest.mark.extended

MTU = 1500
# The largest message of one frame: without 20 bytes of IP, and 20 of TCP and 12 of its timestamps,
# or 8 of UDP.
FITS = {"tcp": MTU - 52, "udp": MTU - 28}
# The largest of two; of UDP's header there is one for both.
FITS_TWO = {"tcp": 2 * (MTU - 52), "udp": 2 * (MTU - 20) - 8}


def frames(transport, size):
    if transport == "udp":
        return -(-(size + 8) // (MTU - 20))
    return -(-size // FITS["tcp"])


def wire(transport, size):
    """How many bytes of frames, as tbf counts them, go each way for a message of a ping-pong."""
    count = frames(transport, size)
    if transport == "udp":
        return size + 8 + count * (14 + 20)
    # The second of two segments is acknowledged at once (RFC 5681, 4.2), in a frame of its own, as
    # the answer is not there yet.
    return size + (count + (count > 1)) * (14 + 52)


def midst(times):
    """The median of the shortest interval with a third of `times` in it."""
    ordered = np.sort(times)
    third = len(ordered) // 3
    first = np.argmin(ordered[third:] - ordered[:-third])
    return float(ordered[first + third // 2])


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_one_frame_more_takes_the_time_of_one(lab, shell, transport):
    """Through a slow limit, half a round trip takes, within 0.5 %, half of what the limit needs for
    the frames of a message: each goes when its bucket has what it takes, and the buckets of both
    ends fill at the same time. One byte more is 0.07 %; where it makes one frame more it is 2.3 %,
    or with TCP 8 %. Sizes are shuffled anew in each slice.

    Where the machine that both hosts are on is stopped for a while, an iteration is late, and as
    the bucket goes on filling, up to two frames, the next is early: neither is what the limit
    takes, so it is looked for where iterations lie closest. The median is the same within 1 %, or
    the row says that it is disturbed."""
    rate = 2_000_000
    for host in lab.hosts:
        host.limit(rate, burst=3000)
    one, two = FITS[transport], FITS_TWO[transport]
    asked = (one - 100, one, one + 1, two, two + 1)
    sizes = ",".join(str(size) for size in asked)
    run = lab.measure(
        shell, "-t", transport, "-s", sizes, "--ci", "none", "--time", "0.8s", "-r", 2
    )
    due = {size: wire(transport, size) * 8e9 / rate / 2 for size in asked}
    for configuration, flags in flags_by_configuration(run).items():
        times = np.concatenate([m.series.times for m in run.by_configuration[configuration]])
        assert midst(times) == pytest.approx(due[configuration.size], rel=0.005), configuration.size
        if "disturbed" not in {flag.name for flag in flags}:
            assert np.median(times) == pytest.approx(due[configuration.size], rel=0.01), (
                configuration.size
            )


def test_a_datagram_has_as_many_fragments_as_it_needs(relayed, shell):
    """Those that the relay has counted, from the first byte that does not fit."""
    relayed.relay.rule(Rule())
    relayed.relay.journal()
    one, two = FITS["udp"], FITS_TWO["udp"]
    sizes = {8: 1, one: 1, one + 1: 2, two: 2, two + 1: 3}
    asked = ",".join(str(size) for size in sizes)
    relayed.measure(shell, "-t", "udp", "-s", asked, "--time", "20ms")
    log = relayed.relay.journal()
    for direction in (0, 1):
        datagrams = [d for d in log.datagrams(direction) if d.size in sizes]
        assert {d.size: d.packets for d in datagrams} == sizes
        assert all(d.packets == sizes[d.size] for d in datagrams)
