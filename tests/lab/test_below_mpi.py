"""UCX and libfabric between two hosts: however the ranks are started, and where one dies."""

import re
import signal

import pytest

from harness.limits import END_SECONDS
from harness.served import served
from harness.victim import Victim

pytestmark = pytest.mark.extended

TRANSPORTS, TCP = ("ucx", "libfabric"), "tcp;ofi_rxm"
# Both hosts are one machine, of which UCX knows.
OVER_TCP = ("-t", ",".join(TRANSPORTS), "--ucx-tls", "tcp", "--provider", TCP)
WORK = (*OVER_TCP, "-s", "8,64K", "-p", "pingpong,stream,put,get", "--time", "2ms", "-r", "2")
PORTS = ("--data-ports", "47100-47160")


def check_measured(result, lab, one_sided=TRANSPORTS):
    """`one_sided` are the transports that have put and get."""
    run = result.run
    assert (result.status, run.failures) == (0, ()), result.err
    assert {skip.transport for skip in run.skips} == {*TRANSPORTS} - {*one_sided}
    assert [each.host for each in run.environments] == [host.name for host in lab.hosts]
    found = {(m.configuration.transport, m.configuration.pattern) for m in run.measurements}
    assert found == {
        *((name, pattern) for name in TRANSPORTS for pattern in ("pingpong", "stream")),
        *((name, pattern) for name in one_sided for pattern in ("put", "get")),
    }
    assert all(m.verified for m in run.measurements)
    ways = {way.partition(",")[0] for each in run.carriers for way in each.ways}
    assert ways >= {f"provider {TCP}", f"tcp/{lab.hosts[0].device}"}


@pytest.mark.parametrize("how", ["ssh", "joined", "started"])
def test_every_pattern_is_verified_however_ranks_are_started(lab, shell, how):
    start = {"ssh": lab.by_ssh, "joined": (), "started": lab.chosen("mpich")}[how]
    before = (*lab.across("mpich"), "-n", "2") * (how == "joined")
    result = shell.run(*WORK, "--verify", *start, prefix=(*lab.hosts[0].prefix(), *before))
    check_measured(result, lab)


def test_a_server_has_them_if_it_says_so_within_its_ports(lab, shell, tmp_path):
    """Both ends connect, and each of them is reached there."""
    here, there = lab.hosts
    options = {"prefix": there.prefix(), "address": there.address}
    with served(tmp_path, *PORTS, "--libraries", **options) as server:
        secret = {"HALFTRIP_SECRET": server.secret, "prefix": here.prefix()}
        result = shell.run(*WORK, "--verify", *server.peer, *PORTS, **secret)
        # Who speaks to a worker of UCX's reaches what it likes by put and get.
        check_measured(result, lab, one_sided=["libfabric"])
        result.path.unlink()
        endless = (*OVER_TCP, "-s", "8", "--ci", "none", "--time", "60s", "-r", "600", *server.peer)
        victim = Victim(shell, *endless, *PORTS, **secret)
        victim.await_measurements(2)
        found = here.sockets(victim.rank(0)) + there.sockets(server.ranks()[0].pid)
        ports = {each.port for each in found if each.state == "LISTEN"}
        assert ports
        assert ports <= {*map(str, range(47100, 47161))}
        victim.kill(victim.process.pid, signal.SIGINT, seconds=END_SECONDS + 4)
        assert server.await_ranks(0) == []
        victim.path.unlink()
    with served(tmp_path, **options) as server:
        secret = {"HALFTRIP_SECRET": server.secret, "prefix": here.prefix()}
        result = shell.run(*WORK, *server.peer, **secret)
        assert (result.status, result.err.count("\n")) == (2, 1)
        assert re.search(r"--transport (ucx|libfabric): halftrip serve has tcp", result.err)


@pytest.mark.parametrize("arguments", [("-t", "ucx", "--ucx-tls", "tcp"),
                                       ("-t", "libfabric", "--provider", TCP)])  # fmt: skip
@pytest.mark.parametrize(("rank", "pattern"), [(0, "put"), (1, "pingpong")])
def test_a_killed_rank_is_named(lab, shell, arguments, rank, pattern):
    work = (*arguments, "-s", "4M", "-p", pattern, "--ci", "none", "--time", "60s", *lab.by_ssh)
    victim = Victim(shell, *work, prefix=lab.hosts[0].prefix())
    victim.await_work(0)
    ended = victim.kill(victim.rank(rank), seconds=END_SECONDS + 4)
    died = r"\(process \d+\) was killed by SIGKILL|on \S+ \(process \d+\) died"
    assert re.fullmatch(rf"halftrip: rank {rank} ({died})\n", ended.err)
