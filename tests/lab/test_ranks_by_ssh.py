"""Ranks on another host, over a real sshd."""

import signal
import subprocess

import pytest

from harness.limits import END_SECONDS
from harness.victim import Victim
from lab import sshd

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
