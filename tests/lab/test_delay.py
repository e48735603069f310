"""A delay of a known length is measured as it is."""

import numpy as np
import pytest

from halftrip.summaries import one_way_times
from lab.relay import TCP, UDP, Rule

SIZE = 200
# What the IP packets of the messages look like: 20 bytes of IP; 20 of TCP and 12 of its timestamps,
# or 8 of UDP. An MPI puts a header of its own before them; nothing else is that long.
PACKETS = {
    "tcp": (TCP, range(SIZE + 52, SIZE + 53)),
    "udp": (UDP, range(SIZE + 28, SIZE + 29)),
    "mpi": (TCP, range(SIZE + 53, SIZE + 100)),
}

# Where the machine that both hosts are on is stopped now and then, some are late, none is early.
LOW = 0.1


def halves(lab, shell, transports, delay_ms, mpi):
    """By transport: half of a round trip as halftrip has it, and for how much of it the relay kept
    the messages, ns: the low quantile of either."""
    lab.relay.rule(Rule(delay=round(delay_ms * 1e6)))
    lab.relay.journal()
    arguments = ("-t", transports, "-s", SIZE, "--wait", "spin", "--ci", "none", "--time", "0.5s")
    run = lab.measure(shell, *arguments, mpi=mpi)
    log = lab.relay.journal()
    lows = {m.case.transport: np.quantile(one_way_times(m), LOW) for m in run.measurements}
    return {name: (low, log.added(*PACKETS[name], LOW)) for name, low in lows.items()}


def check(lab, shell, transports, delays, mpi="mpich"):
    """Half a round trip through a delay is, within 3 %, what the relay's own record says that it
    kept the messages for (there and back, halved), and, for all else, what half a round trip takes
    with no delay less what the relay kept those messages for.

    Receivers poll. One that sleeps has to be woken on a core that has slept for as long as the
    delay, which takes up to a tenth of a millisecond more than after a pause of a few
    microseconds: that is the host's, is in the latency of whoever waits so, and is not the path's.
    """
    base = halves(lab, shell, transports, 0, mpi)
    assert set(base) == set(transports.split(","))
    for delay in delays:
        for name, (measured, kept) in halves(lab, shell, transports, delay, mpi).items():
            assert kept >= delay * 1e6
            rest = base[name][0] - base[name][1]
            assert measured == pytest.approx(kept + rest, rel=0.03), (delay, name)


def test_delays_are_measured(relayed, shell):
    check(relayed, shell, "tcp,udp", (1, 5, 20))


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_delay_is_measured_by_mpi(relayed, shell, name):
    check(relayed, shell, "mpi", (5,), mpi=name)
