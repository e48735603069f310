"""A cable that is pulled while two hosts measure, for a moment or for good.

CABLE_SECONDS: for how long it is pulled where that is too long; 60 in `make soak`.
"""

import os
import re
import signal
import time

import pytest

from harness.limits import AMPLE_SECONDS, END_SECONDS
from harness.served import served
from harness.victim import Victim
from lab.faults import processes

pytestmark = pytest.mark.extended

SECONDS = END_SECONDS + 4.0
# More than the patience with another host.
PULLED_SECONDS = float(os.environ.get("CABLE_SECONDS", "10"))
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")


def await_nothing(host, before):
    """Until only what was there before is on a host."""
    deadline = time.monotonic() + AMPLE_SECONDS
    while (left := processes(host)) != before:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def plug_in(lab):
    """Both ends see the link, and no address is asked for any more: one that was asked for in vain
    while there was no link refuses whoever waits for it."""
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "up")
    for host in lab.hosts:
        host.await_link()
        host.await_addresses()


@pytest.fixture(params=["ssh", "serve"])
def started(request, lab, shell, tmp_path):
    """A run on both hosts, and what was on the second before."""
    here, there = lab.hosts
    if request.param == "ssh":
        options = ("--hosts", f"{here.name},{there.name}", "--ssh", str(lab.agent))
        yield started_with(shell, here, options, {}), processes(there)
        return
    with served(tmp_path, address=there.address, prefix=there.prefix()) as server:
        before = processes(there)
        environment = {"HALFTRIP_SECRET": server.secret}
        yield started_with(shell, here, server.peer, environment), before


def started_with(shell, here, options, environment):
    victim = Victim(shell, *WORK, *options, prefix=here.prefix(), **environment)
    victim.options, victim.environment = options, environment
    return victim


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


def test_one_that_is_back_when_the_run_has_ended(lab, started, shell):
    victim, before = started
    victim.await_measurements(2)
    there = lab.hosts[1]
    began = time.monotonic()
    there.ip("link", "set", there.device, "down")
    ended = victim.wait(AMPLE_SECONDS)
    took = time.monotonic() - began
    assert ended.status == 1
    if "--peer" in victim.options:
        # What stands for ssh is not cut off, and tells of the end there before the kernel does.
        assert re.search(r"(died|no answer for too long)$", ended.run.interrupted)
    await_nothing(there, before)
    time.sleep(max(PULLED_SECONDS - took, 0.0))
    # Whatever was on its way is lost, and nobody waits for it any more.
    plug_in(lab)
    assert processes(there) == before
    victim.path.unlink()
    again = ("-t", "tcp", "-s", "8", "--time", "20ms", *victim.options)
    result = shell.run(*again, prefix=lab.hosts[0].prefix(), **victim.environment)
    assert (result.status, result.err) == (0, "")


def test_one_that_is_soon_back_does_not(lab, started):
    victim, before = started
    victim.await_measurements(2)
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "down")
    time.sleep(1.0)
    plug_in(lab)
    measured = victim._count(b'"record":"measurement"')
    victim.await_measurements(measured + 3)
    victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    await_nothing(there, before)
