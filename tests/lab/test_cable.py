"""A cable that is pulled while two hosts measure, for a moment or for good."""

import signal
import subprocess
import time

import pytest

from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.served import served
from harness.victim import Victim

pytestmark = pytest.mark.extended

SECONDS = END_SECONDS + 4.0
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")


def await_nothing(host, before):
    """Until only what was there before is on a host."""
    deadline = time.monotonic() + AMPLE_SECONDS
    while (left := processes(host)) != before:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def processes(host):
    listed = subprocess.run(
        ["ip", "netns", "pids", host.name], check=True, capture_output=True, text=True
    )
    return set(listed.stdout.split())


@pytest.fixture(params=["ssh", "serve"])
def started(request, lab, shell, tmp_path):
    """A run on both hosts, and what was on the second before."""
    here, there = lab.hosts
    if request.param == "ssh":
        options = ("--hosts", f"{here.name},{there.name}", "--ssh", str(lab.agent))
        yield Victim(shell, *WORK, *options, prefix=here.prefix()), processes(there)
        return
    with served(tmp_path, address=there.address, prefix=there.prefix()) as server:
        before = processes(there)
        environment = {"HALFTRIP_SECRET": server.secret}
        yield Victim(shell, *WORK, *server.peer, prefix=here.prefix(), **environment), before


def test_a_cable_that_is_pulled_ends_the_run_on_both_hosts(lab, started):
    victim, before = started
    victim.await_measurements(2)
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "down")
    ended = victim.wait(AMPLE_SECONDS)
    assert ended.status == 1
    assert ended.err.startswith("halftrip: ")
    assert "Traceback" not in ended.err
    assert len(ended.run.measurements) >= 2
    assert ended.run.interrupted is not None
    # Nobody has told the other host.
    await_nothing(there, before)


def test_one_that_is_soon_back_does_not(lab, started):
    victim, before = started
    victim.await_measurements(2)
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "down")
    time.sleep(1.0)
    there.ip("link", "set", there.device, "up")
    there.await_link()
    measured = victim._count(b'"record":"measurement"')
    victim.await_measurements(measured + 3)
    victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    await_nothing(there, before)
