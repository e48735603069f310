"""Ranks on two hosts: TCP, UDP, MPI and ZeroMQ between them, nothing that needs a common memory."""

import pytest

from harness.mpi import MPIEXECS
from harness.need import need
from harness.victim import Victim

pytestmark = pytest.mark.extended

LOCAL = ("shm", "pipe", "unix", "mp-pipe", "mp-queue", "mp-shm", "zmq-ipc")
ACROSS = ("mpi", "tcp", "udp", "zmq")
WORK = ("-t", ",".join((*LOCAL, *ACROSS)), "-s", "8,32K", "--time", "30ms")


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
    payload = sum(len(m.samples) * m.iterations * m.configuration.size for m in run.measurements)
    for host in lab.hosts:
        assert host.sent_bytes >= payload


def need_path(name):
    what = "Open MPI starts no ranks on another host from a path with blanks"
    need(" " not in MPIEXECS[name], what)


@pytest.mark.parametrize("name", MPIEXECS)
def test_a_job_on_two_hosts_is_joined(lab, shell, name):
    need_path(name)
    prefix = (*lab.hosts[0].prefix(), *lab.across(name), "-n", "2")
    check_measured(shell.run(*WORK, prefix=prefix), lab)


@pytest.mark.parametrize("name", MPIEXECS)
def test_ranks_are_started_on_two_hosts(lab, shell, name):
    need_path(name)
    check_measured(shell.run(*WORK, *lab.chosen(name), prefix=lab.hosts[0].prefix()), lab)


def test_pairs_across_are_those_of_different_hosts(lab, shell):
    run = lab.measure(
        shell, "-t", "tcp,shm", "-s", "8", "--pairs", "across", "--time", "20ms", ranks=2
    )
    assert {(m.configuration.transport, m.configuration.pair) for m in run.measurements} == {
        ("tcp", pair) for pair in ((0, 2), (0, 3), (1, 2), (1, 3))
    }
    assert {(skip.transport, skip.reason) for skip in run.skips} == {
        ("shm", "the ranks are on different hosts")
    }


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_a_killed_rank_on_the_other_host_is_named(lab, shell, name):
    victim = Victim(
        shell,
        *("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s", *lab.chosen(name)),
        prefix=lab.hosts[0].prefix(),
    )
    victim.await_work(1)
    pid = victim.rank(1)
    ended = victim.kill(pid)
    assert ended.err == f"halftrip: rank 1 (process {pid}) died\n"
