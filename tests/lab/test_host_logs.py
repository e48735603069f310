"""Each host logs itself: what its interface has counted is what was sent and came."""

import pytest

pytestmark = pytest.mark.extended

# Of a TCP segment: Ethernet, IP, TCP and its timestamps; of a datagram: Ethernet, IP and UDP.
HEADERS = {"tcp": 14 + 20 + 20 + 12, "udp": 14 + 20 + 8}


@pytest.mark.parametrize(("transport", "size"), [("tcp", 65536), ("udp", 1400)])
@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_interfaces_count_what_was_sent_on_both_hosts(lab, shell, transport, size, mpi):
    run = lab.measure(
        shell, "-t", transport, "-p", "stream", "-s", size, "--window", "16", "--ci", "none",
        "--time", "0.5s", "-r", "1", "--system-log", mpi=mpi,
    )  # fmt: skip
    (m,) = run.measurements
    assert m.delivery is None or m.delivery.lost == 0
    logs = {s.host: s for s in run.host_counters if s.phase == "during"}
    here, there = (logs[host.name] for host in lab.hosts)
    out = here.interfaces[lab.hosts[0].device]
    into = there.interfaces[lab.hosts[1].device]
    payload = (m.warm_up.iterations + m.usage[0].iterations) * m.configuration.window * size
    # The untimed iterations of the warm-up, and what the ranks tell each other, go there, too.
    carried = out["bytes_out"] - HEADERS[transport] * out["packets_out"]
    assert payload <= carried <= 1.03 * payload
    assert into["bytes_in"] == pytest.approx(out["bytes_out"], rel=0.01)
    assert into["packets_in"] == pytest.approx(out["packets_out"], rel=0.01)
    # Answers are few, and small.
    assert out["bytes_in"] < 0.2 * out["bytes_out"]
    assert {out["drops_out"], out["errors_out"], into["drops_in"], into["errors_in"]} == {0}
    # The times of both are rank 0's.
    assert here.at <= m.at <= here.at + here.seconds
    assert there.at == pytest.approx(here.at, abs=0.1)
    assert there.seconds == pytest.approx(here.seconds, abs=0.1)
    for phase in ("before", "after"):
        idle = {s.host: s for s in run.host_counters if s.phase == phase}
        assert idle.keys() == logs.keys()
        assert idle[there.host].at == pytest.approx(idle[here.host].at, abs=0.1)
        # Nothing goes to the other host while all rest.
        assert idle[there.host].interfaces[lab.hosts[1].device]["bytes_in"] < 0.001 * payload
    # Both ends have worked in the kernel.
    assert all(usage.system > 0 for usage in m.usage)
