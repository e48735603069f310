"""A firewall between hosts: connections to some ports are refused, or dropped in silence."""

import time

import pytest

from harness.limits import AMPLE_SECONDS
from harness.served import served
from harness.victim import Victim
from lab.faults import close_ports, drop_new_connections, processes

pytestmark = pytest.mark.extended

PORTS = (47130, 47150)
HOW = ["prohibit", "blackhole"]
OPTIONS = ("--time", "50ms", "--data-ports", "-".join(map(str, PORTS)))
# The process that connects for the fourth time waits: a rank that has called its launcher, rank 0,
# and, for a first path, rank 0 again.
WAIT_BEFORE_FOURTH = """
import os, socket, time
connect, count = socket.socket.connect, 0
def waiting(self, address):
    global count
    count += self.family == socket.AF_INET
    if count == 4:
        open("{at}/waits", "w").close()
        while not os.path.exists("{at}/go"):
            time.sleep(0.01)
    return connect(self, address)
socket.socket.connect = waiting
"""


@pytest.mark.parametrize("how", HOW)
def test_data_ports_of_a_server_that_nobody_gets_to(lab, shell, tmp_path, how):
    here, there = lab.hosts
    close_ports(there, PORTS, how)
    ports = OPTIONS[-2:]
    with served(tmp_path, *ports, address=there.address, prefix=there.prefix()) as server:
        before = processes(there)
        result = shell.run(
            *("-t", "tcp", "-s", "8", *server.peer),
            prefix=here.prefix(),
            HALFTRIP_SECRET=server.secret,
        )
        assert result.status == 1
        assert result.err.startswith("halftrip: rank 0 cannot reach rank 1: no way to port 471")
        assert f"{there.address}: " in result.err
        assert "--data-ports" in result.err
        assert result.err.count("\n") == 1
        server.await_ranks(0)
        assert processes(there) == before


@pytest.mark.parametrize("how", HOW)
def test_two_of_three_hosts_that_do_not_reach_each_other(three, shell, how):
    a, b, c = three.hosts
    for host, other in ((b, c), (c, b)):
        close_ports(host, PORTS, how, other.address)
    names = ",".join(host.name for host in three.hosts)
    result = shell.run(
        *("-t", "tcp,udp", "-s", "8", *OPTIONS, "--hosts", names, "--ssh", str(three.agent)),
        prefix=a.prefix(),
    )
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert run.interrupted is None
    measured = {(m.configuration.pair, m.configuration.transport) for m in run.measurements}
    assert measured == {(pair, name) for pair in ((0, 1), (0, 2)) for name in ("tcp", "udp")}
    for skip in run.skips:
        assert skip.pairs == [(1, 2)]
        assert f"rank 2 has not reached rank 1 at {b.address} port 471" in skip.reason
        assert "--data-ports" in skip.reason


def test_new_connections_are_dropped_half_way(lab, shell, tmp_path):
    here, there = lab.hosts
    names = ",".join(host.name for host in lab.hosts)
    work = ("-t", "tcp", "-s", "8", "--nodelay", "--no-nodelay", "--time", "50ms")
    environment = shell.patched(WAIT_BEFORE_FOURTH.format(at=tmp_path))
    victim = Victim(
        shell,
        *(*work, "--hosts", names, "--ssh", str(lab.agent)),
        prefix=here.prefix(),
        **environment,
    )
    deadline = time.monotonic() + AMPLE_SECONDS
    while not (tmp_path / "waits").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    drop_new_connections(here)
    (tmp_path / "go").touch()
    result = victim.wait()
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert run.interrupted is None
    assert len(run.by_configuration) == 1
    (skip,) = run.skips
    assert skip.reason.startswith("no way to port ")
    assert f"{here.address}: timed out" in skip.reason
    assert "--data-ports" in skip.reason
    assert processes(there) == set()


def test_datagrams_alone_are_dropped(lab, shell):
    here, _ = lab.hosts
    close_ports(here, PORTS, "blackhole", protocols=("udp",))
    names = ",".join(host.name for host in lab.hosts)
    result = shell.run(
        *("-t", "tcp,udp", "-s", "8", "--timeout", "200ms", *OPTIONS),
        *("--hosts", names, "--ssh", str(lab.agent)),
        prefix=here.prefix(),
    )
    assert result.status == 1
    run = result.run
    assert {m.configuration.transport for m in run.measurements} == {"tcp"}
    (failure,) = run.failures
    assert failure.configuration.transport == "udp"
    assert "no answer to 5 datagrams" in failure.reason
    assert "--data-ports" in failure.reason
