"""Ranks on several hosts: over a real sshd, and over what stands for ssh on eight."""

import signal
import subprocess

import pytest

from harness.limits import END_SECONDS
from harness.victim import Victim
from lab import hosts, sshd

pytestmark = pytest.mark.extended

SECONDS = END_SECONDS + 4.0
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s")


def names(lab):
    return ",".join(host.name for host in lab.hosts)


def processes(host):
    """What runs on a host."""
    listed = subprocess.run(
        ["ip", "netns", "pids", host.name], check=True, capture_output=True, text=True
    )
    return set(listed.stdout.split())


def test_ranks_are_started_by_ssh_and_nothing_stays_there(lab, shell, tmp_path):
    here, there = lab.hosts
    with sshd.serving((there,), tmp_path) as ssh:
        before = processes(there)
        options = ("--hosts", names(lab), "--ssh", ssh)
        result = shell.run("-t", "tcp,udp", "-s", "8", *options, prefix=here.prefix())
        assert (result.status, result.err) == (0, "")
        run = result.run
        assert [e.host for e in run.environments] == [here.name, there.name]
        assert {m.configuration.transport for m in run.measurements} == {"tcp", "udp"}
        assert {c.path.interface.name for c in run.connections} == {here.device, there.device}
        result.path.unlink()

        victim = Victim(shell, *WORK, *options, prefix=here.prefix())
        victim.await_work(0)
        assert processes(there) > before
        victim.kill(victim.process.pid, signal.SIGKILL, seconds=SECONDS)
        assert processes(there) == before


def test_what_ssh_says_is_the_reason(lab, shell, tmp_path):
    """Nobody serves there, and a key that is not known."""
    here, there = lab.hosts
    options = ("--hosts", names(lab), "-t", "tcp", "-s", "8")
    with sshd.serving((), tmp_path) as ssh:
        result = shell.run(*options, "--ssh", ssh, prefix=here.prefix())
    assert result.status == 1
    assert f"ssh to {there.name} (process " in result.err
    assert "Connection refused" in result.err


@pytest.fixture
def eight(tmp_path):
    """Eight hosts on a switch, each with the same rate."""
    hosts.need_hosts()
    with hosts.cabled(tmp_path, count=8) as made:
        for host in made.hosts:
            host.limit(200_000_000, burst=16384)
        yield made


@pytest.mark.parametrize("slow", [None, 2])
def test_of_eight_hosts_the_one_with_less_rate_is_named(eight, shell, slow):
    if slow is not None:
        eight.hosts[slow].limit(140_000_000, burst=16384)
    result = shell.run(
        *("-t", "tcp", "-s", "64K", "--time", "50ms", "-r", "5", "--concurrent-pairs", "1"),
        *("--hosts", names(eight), "--ssh", str(eight.agent)),
        prefix=eight.hosts[0].prefix(),
    )
    assert (result.status, result.err) == (0, "")
    assert len(result.run.by_configuration) == 28
    said = [line for line in result.out.splitlines() if line.startswith("slow ")]
    if slow is None:
        assert said == []
        assert "no host and no link is slow" in result.out
    else:
        (line,) = said
        assert line.startswith(f"slow host: {eight.hosts[slow].name}: 1.")
        assert "on all its 7 links" in line
