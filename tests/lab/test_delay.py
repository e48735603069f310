"""A delay of a known length is measured as it is."""

import numpy as np
import pytest

from lab.relay import TCP, UDP, Rule

pytestmark = pytest.mark.extended

SIZE = 200
# What the IP packets of the messages look like: 20 bytes of IP; 20 of TCP and 12 of its timestamps,
# or 8 of UDP. An MPI puts a header of its own before them; nothing else is that long.
PACKETS = {
    "tcp": (TCP, range(SIZE + 52, SIZE + 53)),
    "udp": (UDP, range(SIZE + 28, SIZE + 29)),
    "mpi": (TCP, range(SIZE + 53, SIZE + 100)),
}

QUANTILES = (0.1, 0.5)


def check(lab, shell, transports, delays, mpi="mpich"):
    """A row's median, and its quick tenth, are, within 3 %, half of a round trip by the relay's own
    record: what passed from when it read a message until it wrote the reply, and as much again as
    the second host took, since the relay cannot see the time of the first host. Both see the same
    iterations, so that it does not matter how long hosts on a busy machine take. The relay held
    them for the delay at least."""
    for delay in delays:
        lab.relay.rule(Rule(delay=round(delay * 1e6)))
        lab.relay.journal()
        arguments = ("-t", transports, "-s", SIZE, "--wait", "spin", "--ci", "none")
        run = lab.measure(shell, *arguments, "--time", "0.5s", "-r", 1, mpi=mpi)
        log = lab.relay.journal()
        assert {m.configuration.transport for m in run.measurements} == set(transports.split(","))
        for m in run.measurements:
            name, times = m.configuration.transport, m.series.times
            until_reply, at_second_host = log.round_trips(*PACKETS[name])
            assert np.all(until_reply - at_second_host >= 2 * delay * 1e6)
            for quantile in QUANTILES:
                ends = (np.quantile(each, quantile) for each in (until_reply, at_second_host))
                expected = pytest.approx(sum(ends) / 2, rel=0.03)
                assert np.quantile(times, quantile) == expected, (delay, name, quantile)


def test_delays_are_measured(relayed, shell):
    check(relayed, shell, "tcp,udp", (1, 5, 20))


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_delay_is_measured_by_mpi(relayed, shell, name):
    check(relayed, shell, "mpi", (5,), mpi=name)
