"""A delay of a known length is measured as it is."""

import numpy as np
import pytest

from halftrip.analysis.flags import verdicts
from lab.relay import TCP, UDP, Rule

SIZE = 200
# What the IP packets of the messages look like: 20 bytes of IP; 20 of TCP and 12 of its timestamps,
# or 8 of UDP. An MPI puts a header of its own before them; nothing else is that long.
PACKETS = {
    "tcp": (TCP, range(SIZE + 52, SIZE + 53)),
    "udp": (UDP, range(SIZE + 28, SIZE + 29)),
    "mpi": (TCP, range(SIZE + 53, SIZE + 100)),
}

# What is looked at of all: the median, and a low quantile, as where the machine that both hosts are
# on is stopped now and then most may be late, but none is early.
QUANTILES = (0.1, 0.5)


def halves(lab, shell, transports, delay_ms, mpi):
    """By transport: whether the row is flagged as disturbed, and for each of QUANTILES half of a
    round trip as halftrip has it, and for how much of it the relay kept the messages, ns."""
    lab.relay.rule(Rule(delay=round(delay_ms * 1e6)))
    lab.relay.journal()
    arguments = ("-t", transports, "-s", SIZE, "--wait", "spin", "--ci", "none", "--time", "0.5s")
    run = lab.measure(shell, *arguments, mpi=mpi)
    log = lab.relay.journal()
    found = {}
    for (case, flags), m in zip(verdicts(run).items(), run.measurements, strict=True):
        name, times = case.transport, m.series.times
        assert m.case == case
        figures = [(np.quantile(times, q), log.added(*PACKETS[name], q)) for q in QUANTILES]
        found[name] = "disturbed" in {flag.name for flag in flags}, figures
    return found


def check(lab, shell, transports, delays, mpi="mpich"):
    """Half a round trip through a delay is, within 3 %, what the relay's own record says that it
    kept the messages for (there and back, halved), and, for all else, what half a round trip takes
    with no delay less what the relay kept those messages for: at the median, of which the row says
    else that it is disturbed, and of the quickest in any case.

    Receivers poll. One that sleeps has to be woken on a core that has slept for as long as the
    delay, which takes up to a tenth of a millisecond more than after a pause of a few
    microseconds: that is the host's, is in the latency of whoever waits so, and is not the path's.
    """
    base = halves(lab, shell, transports, 0, mpi)
    assert set(base) == set(transports.split(","))
    for delay in delays:
        for name, (is_disturbed, figures) in halves(lab, shell, transports, delay, mpi).items():
            was_disturbed, before = base[name]
            each = zip(QUANTILES, figures, before, strict=True)
            for quantile, (measured, kept), (usual, usually_kept) in each:
                assert kept >= delay * 1e6
                if quantile == 0.5 and (is_disturbed or was_disturbed):
                    continue
                rest = usual - usually_kept
                assert measured == pytest.approx(kept + rest, rel=0.03), (delay, name, quantile)


def test_delays_are_measured(relayed, shell):
    check(relayed, shell, "tcp,udp", (1, 5, 20))


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_delay_is_measured_by_mpi(relayed, shell, name):
    check(relayed, shell, "mpi", (5,), mpi=name)
