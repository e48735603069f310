"""Ranks that halftrip starts on several hosts by itself; the hosts are names for this machine."""

import os
import re
import signal

import psutil
import pytest

from harness.choice import extended
from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.ssh import stand_in
from harness.victim import Victim

# The agent has its time to end ranks that do not leave.
SECONDS = END_SECONDS + 4.0
QUICK = ("-t", "tcp,udp,shm,mpi", "-s", "8,32K", "--time", "20ms", "-r", "3")
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s")


@pytest.fixture
def on_hosts(tmp_path):
    """The options for two hosts."""
    return "--hosts", "a,b", "--ssh", stand_in(tmp_path)


def agent(victim, host):
    """The agent, or what stands for ssh: the processes between the command and the rank of this
    host, the first one first."""
    rank = psutil.Process(victim.rank({"a": 0, "b": 1}[host]))
    between = []
    while (rank := rank.parent()).pid != victim.process.pid:
        between.insert(0, rank.pid)
    return between


def test_two_hosts_are_measured_without_mpi(shell, on_hosts):
    run = shell.measure(*QUICK, *on_hosts, silent=True).run
    assert [e.host for e in run.environments] == ["a", "b"]
    assert {m.configuration.transport for m in run.measurements} == {"tcp", "udp"}
    skipped = {skip.transport: skip.reason for skip in run.skips}
    assert skipped["shm"] == "the ranks are on different hosts"
    assert skipped["mpi"].startswith("--hosts starts ranks without MPI; mpiexec --host a,b")


@pytest.mark.extended
def test_several_ranks_of_a_host_share_its_memory(shell, tmp_path):
    """The own host needs no ssh."""
    result = shell.measure(*QUICK, "--hosts", "localhost:2", "--ssh", "/nonexistent", silent=True)
    assert {m.configuration.transport for m in result.run.measurements} == {"tcp", "udp", "shm"}
    result.path.unlink()
    options = ("--hosts", "a:2,b:2", "--ssh", stand_in(tmp_path), "--pairs", "all")
    result = shell.measure(
        "-t", "shm,tcp", "-s", "8", "--time", "10ms", "-r", "2", *options, silent=True
    )
    pairs = {"shm": set(), "tcp": set()}
    for measurement in result.run.measurements:
        pairs[measurement.configuration.transport].add(measurement.configuration.pair)
    assert pairs["shm"] == {(0, 1), (2, 3)}
    assert len(pairs["tcp"]) == 6


@pytest.mark.extended
@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (
            ("--remote-command", "/opt/none"),
            1,
            r"ssh-stand-in to a \(process \d+\) ended with status 12[67]: .*/opt/none: .*",
        ),
        (
            ("--interface", "203.0.113.0/24"),
            2,
            r"--interface: \w+: '203\.0\.113\.0/24' is no interface, .*",
        ),
        (("--data-ports", "1-1"), 1, "--data-ports: .*"),
    ],
)
def test_what_is_missing_is_named(shell, on_hosts, options, status, said):
    result = shell.run(*QUICK, *on_hosts, *options)
    assert result.status == status, result.err
    assert re.fullmatch(f"halftrip: {said}\n", result.err), result.err


@pytest.mark.parametrize(("rank", "number"), [(0, signal.SIGKILL), *extended((1, signal.SIGTERM))])
def test_a_killed_rank_is_named_with_its_host(shell, on_hosts, rank, number):
    victim = Victim(shell, *WORK, *on_hosts)
    victim.await_work(0)
    pid = victim.rank(rank)
    ended = victim.kill(pid, number, seconds=SECONDS)
    said = f"halftrip: rank {rank} on {'ab'[rank]} (process {pid}) died\n"
    assert (ended.status, ended.err) == (1, said)


@pytest.mark.parametrize("place", extended(0, -1))
def test_a_killed_ssh_or_agent_leaves_nothing(shell, on_hosts, place):
    victim = Victim(shell, *WORK, *on_hosts)
    victim.await_work(0)
    ended = victim.kill(agent(victim, "b")[place], seconds=SECONDS)
    assert ended.status == 1
    assert " b (process " in ended.err


@pytest.mark.parametrize("number", extended(signal.SIGINT, signal.SIGKILL))
def test_a_signal_to_the_command_leaves_nothing(shell, on_hosts, number):
    victim = Victim(shell, *WORK, *on_hosts)
    victim.await_work(0)
    ended = victim.kill(victim.process.pid, number, seconds=SECONDS)
    if number == signal.SIGKILL:
        assert ended.status == -number
    else:
        assert (ended.status, ended.err) == (130, "halftrip: stopped by SIGINT\n")


@pytest.mark.extended
def test_a_signal_while_hosts_are_asked_leaves_nothing(shell, on_hosts):
    victim = Victim(shell, *WORK, *on_hosts, "--remote-command", "sleep 60; true")
    victim.await_file()
    ended = victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    assert (ended.status, ended.err) == (130, "halftrip: stopped by SIGINT\n")


@pytest.mark.extended
def test_a_host_that_is_frozen_is_named(shell, on_hosts):
    """Its kernel goes on, and closes no connection."""
    victim = Victim(shell, *WORK, *on_hosts)
    victim.await_work(0)
    frozen = victim.rank(1)
    os.kill(frozen, signal.SIGSTOP)
    ended = victim.wait(AMPLE_SECONDS)
    said = f"halftrip: rank 1 on b (process {frozen}): no answer for too long\n"
    assert (ended.status, ended.err) == (1, said)
    assert ended.run.interrupted is not None
    assert shell.marked.await_end(SECONDS) == []


# Of several hosts, others go on where one is lost.

MANY = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "200ms", "--concurrent-pairs", "1")


def pairs_of(run):
    return {configuration.pair for configuration in run.by_configuration}


@pytest.mark.extended
def test_a_host_that_cannot_be_reached_is_left_out(shell, tmp_path):
    """It may be the first one."""
    options = ("--hosts", "a,b,c", "--ssh", stand_in(tmp_path, refused=("a",)))
    result = shell.run(*MANY, "-r", "2", "--system-log", *options)
    assert result.status == 1
    assert any("going on without a" in line for line in result.warnings)
    assert "No route to host" in result.run.interrupted
    assert pairs_of(result.run) == {(1, 2)}
    assert {e.host for e in result.run.environments} == {"b", "c"}
    assert {e.rank for e in result.run.environments} == {1, 2}
    assert result.run.copy_times == ()
    assert list(result.run.lost_hosts) == ["a"]
    assert result.run.problems == ()

    # It is back.
    refusing = tmp_path / "ssh-stand-in"
    refusing.write_text(refusing.read_text().replace("a) echo", "none) echo"))
    again = shell.halftrip("run", "--resume", shell.path)
    assert (again.status, again.err) == (0, "")
    assert pairs_of(again.run) == {(0, 1), (0, 2), (1, 2)}
    assert again.run.interrupted is None
    assert again.run.lost_hosts == {}
