"""A server that is killed and started again, and clients that leave it in the middle of a run."""

import signal

import pytest

from harness.limits import AMPLE_SECONDS
from harness.served import Served, served
from harness.victim import Victim
from lab.faults import processes

pytestmark = pytest.mark.extended

WORK = ("-t", "tcp,udp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")
SHORT = ("-t", "tcp", "-s", "8", "--time", "20ms")


def start(lab, shell, server):
    here = lab.hosts[0]
    victim = Victim(shell, *WORK, *server.peer, prefix=here.prefix(), HALFTRIP_SECRET=server.secret)
    victim.await_measurements(2)
    return victim


def measure_again(lab, shell, server):
    shell.path.unlink(missing_ok=True)
    result = shell.run(
        *SHORT, *server.peer, prefix=lab.hosts[0].prefix(), HALFTRIP_SECRET=server.secret
    )
    assert (result.status, result.err) == (0, "")


def test_a_server_that_is_killed_is_soon_there_again(lab, shell, tmp_path):
    there = lab.hosts[1]
    where = {"address": there.address, "prefix": there.prefix()}
    server = Served(tmp_path, **where)
    victim = start(lab, shell, server)
    assert server.end(signal.SIGKILL) == -signal.SIGKILL
    with served(tmp_path, port=server.port, **where) as again:
        ended = victim.wait(AMPLE_SECONDS)
        assert ended.status == 1
        assert ended.err == f"halftrip: {server.peer[1]} died\n"
        assert len(ended.run.measurements) >= 2
        assert ended.run.interrupted == f"{server.peer[1]} died"
        measure_again(lab, shell, again)
    assert processes(there) == set()


@pytest.mark.parametrize("how", ["killed", "unreachable"])
def test_a_client_that_has_gone_makes_room_for_the_next(lab, shell, tmp_path, how):
    here, there = lab.hosts
    with served(tmp_path, address=there.address, prefix=there.prefix()) as server:
        victim = start(lab, shell, server)
        if how == "killed":
            victim.process.kill()
        else:
            here.ip("link", "set", here.device, "down")
        said = server.await_line(f" {here.address}: ")
        assert "the client has gone" in said
        assert server.await_ranks(0) == []
        victim.wait(AMPLE_SECONDS)
        if how == "unreachable":
            here.ip("link", "set", here.device, "up")
            here.await_link()
        measure_again(lab, shell, server)
        server.await_line(": ok, ")
