"""Ranks on two hosts and on three: what talks between them, and which way it goes."""

import signal

import pytest

from harness.flags import verdicts_of
from harness.limits import END_SECONDS
from harness.loops import check_ratios
from harness.mpi import MPIEXECS
from harness.served import served
from harness.victim import Victim
from lab import hosts, sshd
from lab.faults import processes

SECONDS = END_SECONDS + 4.0
LOCAL = ("shm", "shm-ring", "pipe", "unix", "mp-pipe", "mp-queue", "mp-shm", "zmq-ipc")
ACROSS = ("mpi", "tcp", "udp", "zmq")
WORK = ("-t", ",".join((*LOCAL, *ACROSS)), "-s", "8,32K", "--time", "30ms")


def payload_of(run):
    return sum(len(m.samples) * m.iterations * m.configuration.size for m in run.measurements)


def check_measured(result, lab):
    assert result.status == 0, result.err
    run = result.run
    assert run.interrupted is None
    assert [e.host for e in run.environments] == [host.name for host in lab.hosts]
    assert {m.configuration.transport for m in run.measurements} == set(ACROSS)
    assert {skip.transport for skip in run.skips} == set(LOCAL)
    assert {skip.reason for skip in run.skips} == {"the ranks are on different hosts"}
    assert all(m.core_to_core_rtts == [] for m in run.measurements)
    # Over the cable, not over loopback.
    for host in lab.hosts:
        assert host.sent_bytes >= payload_of(run)


def test_two_hosts_talk_over_the_cable(lab, shell):
    options = ("-t", "tcp,udp,shm", "-s", "8,32K", "-p", "pingpong,stream", "--time", "50ms")
    here, there = lab.hosts
    result = shell.measure(*options, *lab.by_ssh, prefix=here.prefix(), silent=True)
    run = result.run
    assert [e.host for e in run.environments] == [here.name, there.name]
    assert not any(e.oversubscribed for e in run.environments)
    assert here.sent_bytes >= payload_of(run)
    ends = {(each.transport, each.rank): each.path for each in run.connections}
    assert set(ends) == {("tcp", 0), ("tcp", 1), ("udp", 0), ("udp", 1)}
    for (transport, rank), path in ends.items():
        own, other = lab.hosts[rank], lab.hosts[1 - rank]
        assert (path.protocol, path.local, path.peer) == (transport, own.address, other.address)
        assert (path.interface.name, path.interface.driver) == (own.device, "veth")
        assert (path.gateway, path.path_mtu) == (None, 1500)
    assert ends["tcp", 0].tcp.rtt_us > 0
    assert f"network: {here.name} {here.device} {here.address} to {there.name} " in result.out


def test_containers_on_one_core_of_a_machine_share_it(shell, tmp_path):
    hosts.need_hosts()
    with hosts.cabled(tmp_path, one_core=True) as lab:
        work = ("-t", "tcp", "-s", "8", "--time", "50ms")
        result = shell.run(*work, *lab.by_ssh, prefix=lab.hosts[0].prefix())
    assert result.status == 0, result.err
    ranks = result.run.environments
    assert [each.host for each in ranks] == [host.name for host in lab.hosts]
    assert all(each.oversubscribed for each in ranks)
    (verdict,) = verdicts_of(result.run).values()
    assert verdict.cause.name == "oversubscribed"


@pytest.mark.extended
def test_halftrip_adds_nothing_to_a_bare_loop_between_hosts(lab, shell):
    here, there = lab.hosts
    before = there.sent_bytes
    check_ratios(shell, ("tcp", "udp"), *lab.by_ssh, prefix=here.prefix())
    assert there.sent_bytes > before + (1 << 20)


# Open MPI starts no ranks on another host from a path with blanks.
ACROSS_BY_MPI = [
    (name, joins)
    for name, joins in (("openmpi", True), ("mpich", True), ("wheel", False), ("mpich", False))
    if " " not in MPIEXECS[name]
]


@pytest.mark.extended
@pytest.mark.parametrize(("name", "joins"), ACROSS_BY_MPI)
def test_mpi_and_what_else_needs_no_common_memory(lab, shell, name, joins):
    """Ranks of a job that is joined, or that halftrip has started."""
    prefix = lab.hosts[0].prefix()
    if joins:
        result = shell.run(*WORK, prefix=(*prefix, *lab.across(name), "-n", "2"))
    else:
        result = shell.run(*WORK, *lab.chosen(name), prefix=prefix)
    check_measured(result, lab)


@pytest.mark.extended
def test_ranks_are_started_by_a_real_ssh_and_nothing_stays_there(lab, shell, tmp_path):
    here, there = lab.hosts
    with sshd.serving((there,), tmp_path) as ssh:
        before = processes(there)
        victim = Victim(
            shell,
            *("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s", *lab.by_ssh[:2]),
            *("--ssh", ssh),
            prefix=here.prefix(),
        )
        victim.await_work(0)
        assert processes(there) > before
        victim.kill(victim.process.pid, signal.SIGKILL, seconds=SECONDS)
        assert processes(there) == before


@pytest.mark.extended
def test_every_pair_of_three_hosts_is_measured_and_called_by_them(three, shell):
    result = shell.measure(
        *("-t", "tcp,udp", "-s", "8", "--time", "20ms", "-r", "1", "--ci", "none"),
        *("--launches", "2", "--retest", "0", *three.by_ssh),
        prefix=three.hosts[0].prefix(),
    )
    run = result.run
    measured = {(m.configuration.transport, m.configuration.pair) for m in run.measurements}
    assert measured == {(t, pair) for t in ("tcp", "udp") for pair in ((0, 1), (0, 2), (1, 2))}
    # What each host has lost meanwhile is in a record of its own.
    found = [(each.launch, each.host) for each in run.host_counters]
    assert found == [(launch, host.name) for launch in (0, 1) for host in three.hosts]
    # So few have no interval, so that every row has a cause; whichever it is, it is of a pair.
    (trust,) = (line for line in result.out.splitlines() if line.startswith("Trust: "))
    pairs = [f"{a.name} to {b.name}" for a in three.hosts for b in three.hosts if a is not b]
    assert any(f" 8 B, {pair}: " in trust for pair in pairs)
    assert "0-1" not in result.out


@pytest.mark.extended
def test_all_connections_are_the_client_s_and_to_the_ports_that_were_named(lab, shell, tmp_path):
    """A client that nobody can call, of a server on the second host."""
    here, there = lab.hosts
    work = ("-t", "tcp,udp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")
    ports = ("--data-ports", "47100-47120")
    with served(tmp_path, *ports, address=there.address, prefix=there.prefix()) as server:
        environment = {"HALFTRIP_SECRET": server.secret}
        victim = Victim(shell, *work, *server.peer, prefix=here.prefix(), **environment)
        victim.await_measurements(2)
        (rank,) = server.ranks()
        allowed = {*map(str, (server.port, *range(47100, 47121)))}
        assert {each.port for each in there.sockets(rank.pid)} <= allowed
        called = [each for each in here.sockets(victim.rank(0)) if each.protocol == "tcp"]
        assert {each.state for each in called} == {"ESTAB"}
        assert {each.peer_port for each in called} <= allowed
        victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
        assert server.await_ranks(0) == []


def test_addresses_of_the_link_alone_lead_from_one_host_to_the_other(lab, shell, tmp_path):
    here, there = lab.hosts
    for number, host in enumerate(lab.hosts):
        host.ip("addr", "flush", "dev", host.device)
        host.ip("addr", "add", f"fe80::{number + 1}/64", "dev", host.device, "nodad")
    with served(tmp_path, address=f"fe80::2%{there.device}", prefix=there.prefix()) as server:
        peer = ("--peer", f"[fe80::2%{here.device}]:{server.port}")
        options = ("-t", "tcp,udp", "-s", "8", "--time", "5ms")
        result = shell.run(*options, *peer, prefix=here.prefix(), HALFTRIP_SECRET=server.secret)
    assert (result.status, result.err) == (0, "")
    assert {each.path.peer for each in result.run.connections if each.rank == 0} == {"fe80::2"}
    assert {m.configuration.transport for m in result.run.measurements} == {"tcp", "udp"}
