"""Hosts leave nothing behind, whatever becomes of a test."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness.limits import AMPLE_SECONDS
from lab import hosts


def devices():
    return {link.name for link in Path("/sys/class/net").iterdir()}


@pytest.mark.extended
@pytest.mark.parametrize("make", [hosts.cabled, hosts.relayed])
def test_nothing_is_left_of_a_test_that_fails(tmp_path, make):
    hosts.need_relay()
    started = []

    def fail_in_the_midst():
        with make(tmp_path) as lab:
            host = lab.hosts[1]
            inside = subprocess.Popen([*host.prefix(), "sleep", "60"])
            started.append((lab, inside))
            deadline = time.monotonic() + AMPLE_SECONDS
            while str(inside.pid) not in hosts.run("ip", "netns", "pids", host.name).split():
                assert time.monotonic() < deadline
                time.sleep(0.01)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_the_midst()
    ((lab, inside),) = started
    assert inside.wait(AMPLE_SECONDS) < 0
    assert not {host.name for host in lab.hosts} & set(os.listdir("/etc/netns"))
    assert not {host.name for host in lab.hosts} & set(os.listdir("/run/netns"))
    assert not {host.device for host in lab.hosts} & devices()
    if lab.relay is not None:
        assert lab.relay.status == 0


@pytest.mark.extended
def test_a_limit_lets_through_what_it_counts(lab):
    host, other = lab.hosts
    host.limit(1_000_000_000, burst=16384)
    for _ in range(3):
        datagram = f"head -c 1000 /dev/zero >/dev/udp/{other.address}/9"
        hosts.run(*host.prefix(), "bash", "-c", datagram)
    limiter = host.limiter()
    assert limiter["packets"] >= 3
    assert limiter["bytes"] >= 3 * (1000 + 8 + 20 + 14)
    assert limiter["drops"] == 0


@pytest.mark.extended
def test_names_are_known_on_hosts(relayed):
    first, second = relayed.hosts
    said = hosts.run(*first.prefix(), "getent", "hosts", second.name)
    assert said.split() == [second.address, second.name]
    assert hosts.run(*first.prefix(), "hostname").strip() == first.name


def test_what_is_missing_is_a_skip_with_the_reason_but_a_failure_in_ci(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="needs root"):
        hosts.need_hosts()
    monkeypatch.setenv("CI", "1")
    with pytest.raises(AssertionError, match="needs root"):
        hosts.need_hosts()
