"""Hosts made of network namespaces: needs root; each test makes its own and removes them."""

import os
import secrets
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def await_link(host, device, seconds=10.0):
    """Returns when a link is up at both ends and its addresses are settled."""
    deadline = time.monotonic() + seconds
    while True:
        link = ["ip", "-n", host.name, "addr", "show", "dev", device]
        said = subprocess.run(link, check=True, capture_output=True, text=True).stdout
        if "state UP" in said and "tentative" not in said:
            return
        assert time.monotonic() < deadline, said
        time.sleep(0.02)


@dataclass
class Host:
    """A network namespace with a name of its own, an address and one core."""

    name: str
    address: str
    core: int

    def prefix(self):
        """What to put before a command to run it on this host."""
        inside = f'hostname {self.name}; exec taskset -c {self.core} "$@"'
        return ("ip", "netns", "exec", self.name, "unshare", "-u", "-i", "bash", "-c", inside, "sh")


@dataclass
class Lab:
    """Two hosts with a cable between them, and an agent that starts commands on either."""

    hosts: tuple[Host, Host]
    agent: Path


@pytest.fixture
def lab(tmp_path):
    if os.geteuid() != 0:
        assert "CI" not in os.environ, "CI runs as root"
        pytest.skip("making network namespaces needs root")
    assert shutil.which("ip") is not None, "iproute2 is not installed"
    unique = secrets.token_hex(3)
    cores = sorted(os.sched_getaffinity(0))
    hosts = tuple(
        Host(f"ht{unique}{end}", f"10.77.0.{number}", cores[(number - 1) % len(cores)])
        for number, end in ((1, "a"), (2, "b"))
    )
    try:
        for host in hosts:
            ip("netns", "add", host.name)
            directory = Path("/etc/netns") / host.name
            directory.mkdir(parents=True)
            names = [f"{other.address} {other.name}" for other in hosts]
            (directory / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        ends = [f"v{unique}{end}" for end in "ab"]
        ip("link", "add", ends[0], "netns", hosts[0].name, "type", "veth", "peer", "name", ends[1],
           "netns", hosts[1].name)  # fmt: skip
        for host, end in zip(hosts, ends, strict=True):
            ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", end)
            ip("-n", host.name, "link", "set", end, "up")
            ip("-n", host.name, "link", "set", "lo", "up")
        for host, end in zip(hosts, ends, strict=True):
            await_link(host, end)
        yield Lab(hosts, make_agent(tmp_path / "agent", hosts))
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", host.name], check=False, capture_output=True)
            shutil.rmtree(Path("/etc/netns") / host.name, ignore_errors=True)


def make_agent(path, hosts):
    """What an mpiexec calls in place of ssh: ``agent [-options] HOST COMMAND...``."""
    cores = " ".join(f"{host.name}) core={host.core};;" for host in hosts)
    path.write_text(
        "#!/bin/bash\n"
        'while [[ "$1" == -* ]]; do shift; done\n'
        "host=$1; shift\n"
        f"case $host in {cores} esac\n"
        # What follows is shell: variables are set before the daemon is called.
        'exec ip netns exec "$host" unshare -u -i bash -c '
        '"hostname $host; taskset -cp $core \\$\\$ >/dev/null; $*"\n'
    )
    path.chmod(0o755)
    return path
