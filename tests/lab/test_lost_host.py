"""A host of several that is lost while they measure: the others go on."""

import time

import pytest

from harness.limits import AMPLE_SECONDS
from harness.victim import Victim
from lab.test_cable import await_nothing, processes

pytestmark = pytest.mark.extended


@pytest.fixture
def agent(three, tmp_path):
    """A stand-in for ssh to hosts that see no processes but their own, as real ones: what ends a
    job on a host looks for all of its processes there."""
    path = tmp_path / "agent-of-apart"
    text = three.agent.read_text()
    assert "unshare -u -i " in text
    path.write_text(
        text.replace("unshare -u -i ", "unshare -u -i -p -f --mount-proc --kill-child ")
    )
    path.chmod(0o755)
    return path


def test_the_others_go_on_where_a_cable_is_pulled(three, agent, shell):
    here, there, gone = three.hosts
    before = processes(gone)
    names = ",".join(host.name for host in three.hosts)
    victim = Victim(
        shell,
        *("-t", "tcp", "-s", "8", "--ci", "none", "--time", "1s", "-r", "20"),
        *("--hosts", names, "--ssh", str(agent)),
        prefix=here.prefix(),
    )
    victim.await_measurements(4)
    gone.ip("link", "set", gone.device, "down")
    began = time.monotonic()
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
    assert time.monotonic() - began < AMPLE_SECONDS
