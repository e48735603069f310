"""More hosts than two, on a switch."""

import pytest

pytestmark = pytest.mark.extended


def test_every_pair_of_three_hosts_is_measured(three, shell):
    run = three.measure(shell, "-t", "tcp,udp", "-s", "8", "--pairs", "all", "--time", "30ms")
    measured = {(m.configuration.transport, m.configuration.pair) for m in run.measurements}
    assert measured == {(t, pair) for t in ("tcp", "udp") for pair in ((0, 1), (0, 2), (1, 2))}
