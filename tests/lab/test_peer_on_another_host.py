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


def test_all_connections_are_the_client_s_and_to_the_ports_that_were_named(lab, shell, server):
    prefix = lab.hosts[0].prefix()
    victim = Victim(shell, *WORK, *server.peer, prefix=prefix, HALFTRIP_SECRET=server.secret)
    victim.await_measurements(2)
    (there,) = server.ranks()
    allowed = {server.port, *range(PORTS[0], PORTS[1] + 1)}
    local = {c.laddr.port for c in there.net_connections("inet")}
    assert local <= allowed
    here = psutil.Process(victim.rank(0))
    connections = here.net_connections("tcp")
    assert not [c for c in connections if c.status == psutil.CONN_LISTEN]
    assert {c.raddr.port for c in connections} <= allowed
    victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    assert server.await_ranks(0) == []


def test_an_interface_is_kept_to(lab, shell, server):
    here, there = lab.hosts
    options = ("-t", "tcp", "-s", "8", "--time", "20ms", *server.peer)
    environment = {"HALFTRIP_SECRET": server.secret}
    result = shell.run(*options, "--interface", here.device, prefix=here.prefix(), **environment)
    assert (result.status, result.err) == (0, "")
    assert [e.host for e in result.run.environments] == [here.name, there.name]
    result.path.unlink()
    result = shell.run(*options, "--interface", "lo", prefix=here.prefix(), **environment)
    assert result.status == 1
    assert f"{server.peer[1]}: no way to port" in result.err
