"""A cable that is pulled while hosts measure, for a moment or for good.

CABLE_SECONDS: for how long it is pulled where that is too long, at least; 60 in `make soak`.
"""

import os
import re
import signal
import time

import pytest

from harness.limits import AMPLE_SECONDS, END_SECONDS, until
from harness.served import served
from harness.victim import Victim
from lab.faults import processes

pytestmark = pytest.mark.extended

SECONDS = END_SECONDS + 4.0
PULLED_SECONDS = float(os.environ.get("CABLE_SECONDS", "0"))
WORK = ("-t", "tcp", "-s", "8", "--ci", "none", "--time", "60s", "-r", "600")


def await_nothing(host, before):
    """Until only what was there before is on a host."""
    until(lambda: processes(host) == before, f"something is left on {host.name}")


def plug_in(lab):
    """Both ends see the link, and no address is asked for any more: one that was asked for in vain
    while there was no link refuses whoever waits for it."""
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "up")
    for host in lab.hosts:
        host.await_link()
        host.await_addresses()


def measure_again(lab, shell, options, environment):
    shell.path.unlink(missing_ok=True)
    again = ("-t", "tcp", "-s", "8", "--time", "20ms", *options)
    shell.measure(*again, prefix=lab.hosts[0].prefix(), **environment, silent=True)


@pytest.fixture(params=["ssh", "serve"])
def started(request, lab, shell, tmp_path):
    """A run on both hosts, and what was on the second before."""
    here, there = lab.hosts
    if request.param == "ssh":
        before = processes(there)
        yield started_with(shell, here, lab.by_ssh, {}), before
        return
    with served(tmp_path, address=there.address, prefix=there.prefix()) as server:
        before = processes(there)
        environment = {"HALFTRIP_SECRET": server.secret}
        yield started_with(shell, here, server.peer, environment), before


def started_with(shell, here, options, environment):
    victim = Victim(shell, *WORK, *options, prefix=here.prefix(), **environment)
    victim.options, victim.environment = options, environment
    victim.await_measurements(2)
    return victim


def test_one_that_is_pulled_ends_the_run_on_both_hosts(lab, started, shell):
    """And the next run, when it is back, is as any other."""
    victim, before = started
    there = lab.hosts[1]
    began = time.monotonic()
    there.ip("link", "set", there.device, "down")
    ended = victim.wait(AMPLE_SECONDS)
    took = time.monotonic() - began
    assert ended.status == 1
    assert ended.err.startswith("halftrip: ")
    assert "Traceback" not in ended.err
    assert len(ended.run.measurements) >= 2
    assert ended.run.interrupted is not None
    if "--peer" in victim.options:
        # What stands for ssh is not cut off, and tells of the end there before the kernel does.
        assert re.search(r"(died|no answer for too long)$", ended.run.interrupted)
    # Nobody has told the other host.
    await_nothing(there, before)
    time.sleep(max(PULLED_SECONDS - took, 0.0))
    # Whatever was on its way is lost, and nobody waits for it any more.
    plug_in(lab)
    assert processes(there) == before
    measure_again(lab, shell, victim.options, victim.environment)


@pytest.mark.parametrize("started", ["ssh"], indirect=True)
def test_one_that_is_soon_back_does_not(lab, started):
    victim, before = started
    there = lab.hosts[1]
    there.ip("link", "set", there.device, "down")
    time.sleep(1.0)
    plug_in(lab)
    measured = victim.count(b'"record":"measurement"')
    victim.await_measurements(measured + 3)
    victim.kill(victim.process.pid, signal.SIGINT, seconds=SECONDS)
    await_nothing(there, before)


def test_the_others_go_on_where_one_of_three_hosts_is_cut_off(three, shell, tmp_path):
    here, there, gone = three.hosts
    # A stand-in for ssh to hosts that see no processes but their own, as real ones: what ends a
    # job on a host looks for all of its processes there.
    agent = tmp_path / "agent-of-apart"
    apart = "unshare -u -i -p -f --mount-proc --kill-child "
    agent.write_text(three.agent.read_text().replace("unshare -u -i ", apart))
    agent.chmod(0o755)
    before = processes(gone)
    victim = Victim(
        shell,
        *("-t", "tcp", "-s", "8", "--ci", "none", "--time", "1s", "-r", "20"),
        *(*three.by_ssh[:2], "--ssh", str(agent)),
        prefix=here.prefix(),
    )
    victim.await_measurements(4)
    gone.ip("link", "set", gone.device, "down")
    ended = victim.wait(AMPLE_SECONDS)
    assert ended.status == 1
    # What stands for ssh is not cut off, and may say how the rank ended.
    assert ended.err.startswith(f"halftrip: without {gone.name}: rank 2 ")
    last = {m.configuration.pair for m in ended.run.measurements if m.launch == 1}
    assert last == {(0, 1)}
    hosts = {e.host for e in ended.run.environments if e.launch == 1}
    assert hosts == {here.name, there.name}
    # The stand-in for ssh is still connected: its end tells the agent.
    await_nothing(gone, before)
