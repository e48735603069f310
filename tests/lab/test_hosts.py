"""Hosts leave nothing behind."""

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
def test_nothing_is_left_of_a_test_that_fails(tmp_path):
    hosts.need_relay()
    started = []

    def fail_in_the_midst():
        with hosts.relayed(tmp_path) as lab:
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
    assert lab.relay.status == 0
