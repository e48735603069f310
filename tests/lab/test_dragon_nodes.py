"""Dragon on two hosts, which it starts on by itself, with ssh."""

import os
import shlex
import sys
import uuid
from pathlib import Path

import pytest

from harness.limits import AMPLE_SECONDS
from lab.faults import processes

pytestmark = pytest.mark.extended
NOT_STARTED = ("dragon (process", "only 0 of 2 ranks connected")


def make_ssh(directory, lab):
    """A program `ssh` that starts commands on the hosts of the lab, of which each has a boot ID of
    its own, by which Dragon knows nodes. Returns its directory."""
    boots = {host.name: directory / f"boot-{host.name}" for host in lab.hosts}
    for path in boots.values():
        path.write_text(f"{uuid.uuid4()}\n")
    program = directory / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/bash\n"
        'while [[ "$1" == -* ]]; do shift; done\n'
        "host=$1; shift\n"
        # The fabric that the transport agents fall back to, OFI, is not installed.
        "export DRAGON_HSTA_BACKEND=tcp\n"
        f'exec {shlex.quote(str(lab.agent))} "$host" '
        f'"mount --bind {directory}/boot-$host /proc/sys/kernel/random/boot_id; $*"\n'
    )
    program.chmod(0o755)
    return program.parent


@pytest.fixture
def dragon(lab, tmp_path):
    """How to start Dragon on the hosts of the lab: options, and the environment."""
    for host in lab.hosts:
        # Dragon asks which address leads out.
        host.ip("route", "add", "default", "dev", host.device)
    programs = (make_ssh(tmp_path, lab), Path(sys.executable).parent)
    hosts = ",".join(host.name for host in lab.hosts)
    return (
        ("--dragon", f"dragon -w ssh --hostlist {hosts} --network-prefix ^v"),
        {"PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]])},
    )


def test_dragon_measures_between_two_hosts(lab, shell, dragon):
    """Its own start on several nodes fails now and then: then the rest is measured, and nothing of
    it is left either."""
    options, environment = dragon
    result = shell.measure(
        *("-t", "dragon,dragon-queue,tcp", "-s", "8", "-p", "pingpong", "--verify"),
        *("--time", "50ms", "--slices", "1"),
        *options,
        prefix=lab.hosts[0].prefix(),
        # Its start takes most of a minute, with nothing else to do.
        timeout=2 * AMPLE_SECONDS,
        **environment,
    )
    run = result.run
    assert run.failures == ()
    found = {each.transport for each in run.by_configuration}
    if run.skips:
        assert all(skip.reason.startswith(NOT_STARTED) for skip in run.skips)
        assert found == {"tcp"}
    else:
        assert found == {"dragon", "dragon-queue", "tcp"}
        assert sorted(e.host for e in run.environments) == sorted(host.name for host in lab.hosts)
        # The runtime ended by itself.
        assert "dragon" not in result.err
    assert [*shell.directory.glob("halftrip-*/")] == []
    for host in lab.hosts:
        assert processes(host) == set()
