"""Hosts out of network namespaces, and what lies between them: cables, a switch, or a relay."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from harness.limits import until
from harness.mpi import mpiexec
from harness.need import need, need_root
from lab.journal import Journal
from lab.relay import Rule

# A host has nothing else to do: what is measured on it goes before all else that this machine does,
# also where it yields; the relay goes before that.
FIRST = ("chrt", "--rr", "1")
# How long a device or a program may take to be there.
_READY_SECONDS = 30.0
_numbers = itertools.count()
# ip-netns(8): what is here replaces what is in /etc.
_SETTINGS = Path("/etc/netns")


def run(*command: str) -> str:
    """What a command says; raises with its complaint if it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


class Socket(NamedTuple):
    """A socket as ss lists it: its ports are numbers, or *."""

    protocol: str
    state: str
    port: str
    peer_port: str


@dataclass(frozen=True)
class Host:
    """A network namespace with a name of its own, an address and one core; `device` leads out. Its
    file `boot_id` makes a machine of it; without, it is a container on that of all others."""

    name: str
    address: str
    core: int
    device: str
    boot_id: Path | None = None

    def prefix(self) -> tuple[str, ...]:
        """What to put before a command to run it on this host."""
        inside = f'hostname {self.name}; exec taskset -c {self.core} "$@"'
        if self.boot_id is not None:
            inside = f"mount --bind {self.boot_id} /proc/sys/kernel/random/boot_id; {inside}"
        return ("ip", "netns", "exec", self.name, "unshare", "-u", "-i", "bash", "-c", inside, "sh")

    def ip(self, *arguments: str) -> str:
        return run("ip", "-n", self.name, *arguments)

    def tc(self, *arguments: str) -> str:
        return run("tc", "-n", self.name, *arguments)

    def settings(self, name: str) -> Path:
        """The file that this host has in place of that of the name in /etc."""
        return _SETTINGS / self.name / name

    def limit(self, rate: int, burst: int) -> None:
        """Lets so many bits per second out; `burst` bytes may go at once after a pause."""
        self.tc("qdisc", "replace", "dev", self.device, "root", "tbf", "rate", f"{rate}bit",
                "burst", str(burst), "limit", str(1 << 24))  # fmt: skip

    def limiter(self) -> dict[str, int]:
        """What has gone through the limit: `bytes`, `packets`, `drops`, ..."""
        (shown,) = json.loads(self.tc("-s", "-j", "qdisc", "show", "dev", self.device))
        assert shown["kind"] == "tbf"
        return shown

    @property
    def sent_bytes(self) -> int:
        """What has gone out of the device so far, with its headers."""
        (shown,) = json.loads(self.ip("-s", "-j", "link", "show", "dev", self.device))
        return int(shown["stats64"]["tx"]["bytes"])

    def sockets(self, pid: int) -> list[Socket]:
        """Those of a process: psutil has those of the caller's host alone."""
        listed = run("ip", "netns", "exec", self.name, "ss", "-tunaHp").splitlines()
        rows = [line.split() for line in listed if f",pid={pid}," in line]
        assert rows, f"no sockets of {pid}: {listed}"
        ports = [[each.rpartition(":")[2] for each in row[4:6]] for row in rows]
        return [Socket(row[0], row[1], *both) for row, both in zip(rows, ports, strict=True)]

    def await_link(self) -> None:
        """Returns when the device is up and its addresses are settled."""

        def is_settled() -> bool:
            said = self.ip("addr", "show", "dev", self.device)
            return "LOWER_UP" in said and "tentative" not in said

        until(is_settled, f"{self.device} is not up", _READY_SECONDS)

    def await_addresses(self) -> None:
        """Returns when no neighbour is being asked for its address."""

        def are_known() -> bool:
            return "INCOMPLETE" not in self.ip("neigh", "show", "dev", self.device)

        until(are_known, f"neighbours of {self.device}", _READY_SECONDS)


class Relay:
    """The program that hands packets on, between two devices that it makes."""

    def __init__(self, devices: tuple[str, str], directory: Path) -> None:
        self._directory = directory
        self._saved = 0
        program = [sys.executable, str(Path(__file__).with_name("relay.py")), *devices]
        self._process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            self._hear("ready")
        except BaseException:
            self.close()
            raise

    @property
    def status(self) -> int | None:
        """How it ended: 0, and not by a signal; None while it runs."""
        return self._process.returncode

    def rule(self, rule: Rule, seed: int = 1) -> None:
        """What becomes of packets that come from now on."""
        self._tell(do="set", seed=seed, **asdict(rule))

    def journal(self) -> Journal:
        """What became of packets since the last journal."""
        path = self._directory / f"journal-{self._saved}"
        self._saved += 1
        self._tell(do="save", path=str(path))
        return Journal.load(path)

    def _tell(self, **command: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        self._hear("done")

    def _hear(self, expected: str) -> None:
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        assert said == expected, f"the relay has ended or says {said!r}"

    def close(self) -> None:
        """The end of its input is its end; kills it where it is not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_READY_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@dataclass(frozen=True)
class Lab:
    """Hosts that reach each other, and an agent that starts commands on any of them. `switch` is
    the namespace of the switch between them, if there is one."""

    hosts: tuple[Host, ...]
    agent: Path
    relay: Relay | None = field(default=None)
    switch: str = ""

    def queue(self, host: Host, rate: int, size: int) -> None:
        """Has the switch send so many bits per second to a host, from a queue of `size` bytes. In
        one of its own a host would hold back what a socket has in it (TCP small queues)."""
        run("tc", "-n", self.switch, "qdisc", "replace", "dev", f"p{host.device}", "root", "tbf",
            "rate", f"{rate}bit", "burst", "8192", "limit", str(size))  # fmt: skip

    def queue_behind(self, host: Host, dscp: int, rate: int, size: int) -> None:
        """The same, but that packets with this code point have a queue of their own, which goes
        first."""
        device = ("dev", f"p{host.device}")
        tc = partial(run, "tc", "-n", self.switch)
        tc("qdisc", "replace", *device, "root", "handle", "1:", "htb", "default", "20")
        whole = ("ceil", f"{rate}bit", "burst", "8k", "cburst", "8k")
        tc("class", "add", *device, "parent", "1:", "classid", "1:1", "htb", "rate",
           f"{rate}bit", *whole)  # fmt: skip
        for order, number in enumerate(("10", "20")):
            tc("class", "add", *device, "parent", "1:1", "classid", f"1:{number}", "htb", "rate",
               f"{rate // 2}bit", *whole, "prio", str(order))  # fmt: skip
            tc("qdisc", "add", *device, "parent", f"1:{number}", "bfifo", "limit", str(size))
        tc("filter", "add", *device, "parent", "1:", "protocol", "ip", "u32", "match", "ip",
           "dsfield", hex(dscp << 2), "0xfc", "flowid", "1:10")  # fmt: skip

    @property
    def by_ssh(self) -> tuple[str, ...]:
        """The options of ``halftrip run`` that start a rank on each host, without MPI."""
        return "--hosts", ",".join(host.name for host in self.hosts), "--ssh", str(self.agent)

    def across(self, name: str, ranks: int = 1) -> tuple[str, ...]:
        """An mpiexec that puts so many ranks on each host."""
        hosts = ",".join(f"{host.name}:{ranks}" for host in self.hosts)
        program = mpiexec(name)
        if name == "mpich":
            agent = ("-launcher", "ssh", "-launcher-exec", str(self.agent))
            return (program, *agent, "-bind-to", "none", "-hosts", hosts)
        option = "plm_rsh_agent" if name == "openmpi" else "plm_ssh_agent"
        mca = "--mca" if name == "openmpi" else "--prtemca"
        return (program, mca, option, str(self.agent), "--bind-to", "none", "--host", hosts)

    def chosen(self, name: str, ranks: int = 1) -> tuple[str, str]:
        """The options of ``halftrip run`` that choose this mpiexec, with so many ranks on each
        host."""
        return "--mpiexec", shlex.join(self.across(name, ranks))

    def measure(self, shell, *arguments, mpi="mpich", ranks=1):
        """``halftrip run ARGUMENTS`` with so many ranks on each host, started from the first."""
        launched = (*self.chosen(mpi, ranks), "-n", str(ranks * len(self.hosts)), "--retest", "0")
        prefix = (*FIRST, *self.hosts[0].prefix())
        result = shell.measure(*arguments, *launched, prefix=prefix)
        measured = result.run
        # A test may measure again.
        result.path.unlink()
        assert measured.interrupted is None
        assert measured.failures == ()
        where = [host.name for host in self.hosts for _ in range(ranks)]
        assert [e.host for e in measured.environments] == where
        return measured


@contextlib.contextmanager
def cabled(directory: Path, count: int = 2, one_core: bool = False) -> Iterator[Lab]:
    """Hosts with a cable between them if they are two, else each with one to a switch. With
    `one_core` they are containers on one core of a machine."""
    unique = _unique()
    hosts = _hosts(unique, count, None if one_core else directory)
    switch = f"ht{unique}s"
    with contextlib.ExitStack() as made:
        for host in hosts:
            made.enter_context(_namespace(host.name, hosts))
        if count == 2:
            first, second = hosts
            run("ip", "link", "add", first.device, "netns", first.name, "type", "veth",
                "peer", "name", second.device, "netns", second.name)  # fmt: skip
        else:
            made.enter_context(_namespace(switch, ()))
            run("ip", "-n", switch, "link", "add", "bridge", "up", "type", "bridge")
            for host in hosts:
                port = f"p{host.device}"
                run("ip", "link", "add", host.device, "netns", host.name, "type", "veth",
                    "peer", "name", port, "netns", switch)  # fmt: skip
                run("ip", "-n", switch, "link", "set", port, "up", "master", "bridge")
        _join(hosts)
        agent = _make_agent(directory / "agent", hosts)
        yield Lab(hosts, agent, switch=switch if count > 2 else "")


@contextlib.contextmanager
def detour(first: Host, second: Host, directory: Path) -> Iterator[Relay]:
    """A relay between two hosts of many, which all that they send each other goes through from now
    on."""
    hosts = (first, second)
    relay = Relay((f"t{first.device}", f"t{second.device}"), directory)
    try:
        for host, other in (hosts, hosts[::-1]):
            device = f"t{host.device}"
            run("ip", "link", "set", device, "netns", host.name)
            host.ip("link", "set", device, "up")
            host.ip("route", "add", other.address, "dev", device, "src", host.address)
        yield relay
    finally:
        relay.close()


@contextlib.contextmanager
def relayed(directory: Path, mtu: int = 1500) -> Iterator[Lab]:
    """Two hosts with a relay between them."""
    hosts = _hosts(_unique(), 2, directory)
    with contextlib.ExitStack() as made:
        for host in hosts:
            made.enter_context(_namespace(host.name, hosts))
        relay = Relay((hosts[0].device, hosts[1].device), directory)
        made.callback(relay.close)
        for host in hosts:
            run("ip", "link", "set", host.device, "netns", host.name, "mtu", str(mtu))
        _join(hosts)
        yield Lab(hosts, _make_agent(directory / "agent", hosts), relay)


def need_hosts() -> None:
    """Skips where hosts cannot be made."""
    need_root("making network namespaces")
    for program in ("ip", "tc", "unshare", "chrt"):
        need(shutil.which(program) is not None, f"{program} is not installed; see CONTRIBUTING.md")
    tried = subprocess.run(
        [*FIRST, "unshare", "-n", "-u", "-i", "true"], check=False, capture_output=True
    )
    need(tried.returncode == 0, "no network namespaces, or no priorities, are allowed here")


def need_relay() -> None:
    """Skips where there are no TUN devices."""
    need_hosts()
    need(os.path.exists("/dev/net/tun"), "this kernel has no TUN devices")


def _unique() -> str:
    """A part of names that no other run of tests on this machine has, nor this one again. A device
    has fifteen characters at most."""
    return f"{os.getpid()}x{next(_numbers)}"


def _hosts(unique: str, count: int, machines: Path | None) -> tuple[Host, ...]:
    """Hosts that are machines, as files in the directory `machines` say; None: containers on one
    core of this machine."""
    cores = sorted(os.sched_getaffinity(0))[: 1 if machines is None else None]
    made = []
    for i, end in enumerate("abcdefghijklmnopq"[:count]):
        boot_id = None if machines is None else machines / f"boot-id-{unique}{end}"
        if boot_id is not None:
            boot_id.write_text(f"{uuid.uuid4()}\n")
        core = cores[i % len(cores)]
        made.append(Host(f"ht{unique}{end}", f"10.77.0.{i + 1}", core, f"v{unique}{end}", boot_id))
    return tuple(made)


@contextlib.contextmanager
def _namespace(name: str, hosts: tuple[Host, ...]) -> Iterator[None]:
    """A network namespace, in which `hosts` have names; what runs in it does not outlive it."""
    directory = _SETTINGS / name
    try:
        run("ip", "netns", "add", name)
        directory.mkdir(parents=True)
        names = [f"{other.address} {other.name}" for other in hosts]
        (directory / "hosts").write_text("\n".join(["127.0.0.1 localhost", *names, ""]))
        for setting, value in (
            # Addresses are ours alone: nobody has to be asked for seconds whether they are free.
            ("net.ipv6.conf.default.accept_dad", "0"),
            # The one that every kernel has, and that has no pace of its own: bbr, where it is the
            # default, probes the path by sending less, and that is seen in medians.
            ("net.ipv4.tcp_congestion_control", "reno"),
        ):
            run("ip", "netns", "exec", name, "sysctl", "-q", "-w", f"{setting}={value}")
        yield
    finally:
        listed = subprocess.run(
            ["ip", "netns", "pids", name], check=False, capture_output=True, text=True
        )
        for pid in listed.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        shutil.rmtree(directory, ignore_errors=True)


def _join(hosts: tuple[Host, ...]) -> None:
    for host in hosts:
        host.ip("addr", "add", f"{host.address}/24", "dev", host.device)
        host.ip("link", "set", host.device, "up")
        host.ip("link", "set", "lo", "up")
    for host in hosts:
        host.await_link()


def _make_agent(path: Path, hosts: tuple[Host, ...]) -> Path:
    """What an mpiexec calls in place of ssh: ``agent [-options] HOST COMMAND...``."""
    cores = " ".join(
        f"{host.name}) core={host.core} boot_id={host.boot_id or ''};;" for host in hosts
    )
    path.write_text(
        "#!/bin/bash\n"
        'while [[ "$1" == -* ]]; do shift; done\n'
        "host=$1; shift\n"
        f"case $host in {cores} esac\n"
        # What follows is shell: variables are set before the daemon is called.
        'exec ip netns exec "$host" unshare -u -i bash -c '
        '"${boot_id:+mount --bind $boot_id /proc/sys/kernel/random/boot_id;} '
        'hostname $host; taskset -cp $core \\$\\$ >/dev/null; $*"\n'
    )
    path.chmod(0o755)
    return path
