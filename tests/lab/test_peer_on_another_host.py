"""``halftrip serve`` on one host and ``halftrip run --peer`` on another, which nobody can call."""

import signal

import psutil
import pytest

from harness.limits import END_SECONDS
from harness.served import served
from harness.victim import Victim

pytestmark = pytest.mark.extended

SECONDS = END_SECONDS + 4.0
PORTS = (47100, 47120)
WORK = ("-t", "tcp,udp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")


@pytest.fixture
def server(lab, tmp_path):
    """A server on the second host."""
    there = lab.hosts[1]
    ports = "-".join(map(str, PORTS))
    options = ("--data-ports", ports)
    with served(tmp_path, *options, address=there.address, prefix=there.prefix()) as started:
        yield started


def tcp(process):
    return process.net_connections("tcp")


def test_all_connections_are_the_client_s_and_to_the_ports_that_were_named(lab, shell, server):
    prefix = lab.hosts[0].prefix()
    victim = Victim(shell, *WORK, *server.peer, prefix=prefix, HALFTRIP_SECRET=server.secret)
    victim.await_measurements(2)
    (there,) = server.ranks()
    allowed = {server.port, *range(PORTS[0], PORTS[1] + 1)}
    local = {c.laddr.port for c in there.net_connections("inet")}
    assert local <= allowed
    here = psutil.Process(victim.rank(0))
    assert not [c for c in tcp(here) if c.status == psutil.CONN_LISTEN]
    assert {c.raddr.port for c in tcp(here)} <= allowed
    victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    assert server.await_ranks(0) == []


def test_it_is_measured_over_the_cable(lab, shell, server):
    here, there = lab.hosts
    options = ("-t", "tcp,udp", "-s", "8,32K", "-p", "pingpong,stream", "--time", "50ms")
    result = shell.run(*options, *server.peer, prefix=here.prefix(), HALFTRIP_SECRET=server.secret)
    assert (result.status, result.err) == (0, "")
    run = result.run
    assert [e.host for e in run.environments] == [here.name, there.name]
    payload = sum(len(m.samples) * m.iterations * m.configuration.size for m in run.measurements)
    assert here.sent_bytes >= payload
    ends = {(each.transport, each.rank): each.path for each in run.connections}
    assert set(ends) == {("tcp", 0), ("tcp", 1), ("udp", 0), ("udp", 1)}
    for (transport, rank), path in ends.items():
        own, other = lab.hosts[rank], lab.hosts[1 - rank]
        assert (path.protocol, path.local, path.peer) == (transport, own.address, other.address)
        assert (path.interface.name, path.interface.driver) == (own.device, "veth")
        assert (path.gateway, path.path_mtu) == (None, 1500)
    assert ends["tcp", 0].tcp.rtt_us > 0
    assert f"network: {here.name} {here.device} {here.address} to {there.name} " in result.out


def test_an_interface_is_kept_to(lab, shell, server):
    here, _ = lab.hosts
    options = ("-t", "tcp", "-s", "8", "--time", "20ms", *server.peer)
    environment = {"HALFTRIP_SECRET": server.secret}
    result = shell.run(*options, "--interface", here.device, prefix=here.prefix(), **environment)
    assert (result.status, result.err) == (0, "")
    result.path.unlink()
    result = shell.run(*options, "--interface", "lo", prefix=here.prefix(), **environment)
    assert result.status == 1
    assert f"{server.peer[1]}: no way to port" in result.err
