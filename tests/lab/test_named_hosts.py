"""What is said of ranks on several hosts names the hosts: their cores have the same numbers."""

import contextlib
import subprocess

import pytest

from harness.limits import AMPLE_SECONDS

pytestmark = pytest.mark.extended


@contextlib.contextmanager
def busy(host):
    """A program that keeps a host's core."""
    spinning = subprocess.Popen([*host.prefix(), "bash", "-c", "while :; do :; done"])
    try:
        yield
    finally:
        spinning.kill()
        spinning.wait(AMPLE_SECONDS)


def test_whose_core_others_had_is_said(lab, shell):
    one, other = lab.hosts
    names = f"{one.name},{other.name}"
    with busy(one), busy(other):
        result = shell.run(
            *("-t", "tcp", "-s", "8", "--time", "300ms", "-r", "2", "--ci", "none"),
            *("--hosts", names, "--ssh", str(lab.agent)),
            prefix=one.prefix(),
        )
    assert result.status == 0, result.err
    trust = next(line for line in result.out.splitlines() if line.startswith("Trust: "))
    assert f"of core {one.core} of {one.name}" in trust
    assert f"of core {other.core} of {other.name}" in trust


def test_a_pair_of_three_hosts_is_called_by_them(three, shell):
    hosts = three.hosts
    result = shell.run(
        *("-t", "tcp", "-s", "8", "--time", "10ms", "-r", "1", "--ci", "none"),
        *("--hosts", ",".join(host.name for host in hosts), "--ssh", str(three.agent)),
        prefix=hosts[0].prefix(),
    )
    assert result.status == 0, result.err
    # One slice has no interval, so that every row has a cause; whichever it is, it is of a pair.
    (trust,) = (line for line in result.out.splitlines() if line.startswith("Trust: "))
    pairs = [f"{a.name} to {b.name}" for a in hosts for b in hosts if a is not b]
    assert any(f"tcp 8, {pair}: " in trust for pair in pairs)
    assert "0-1" not in result.out
