"""Ranks on other hosts, by ssh: on each, an agent of halftrip's starts them, and ends them when its
connection ends."""

from __future__ import annotations

import ipaddress
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from halftrip import __version__
from halftrip.control.listener import Reach
from halftrip.control.network import Network, interface_addresses
from halftrip.errors import UsageError
from halftrip.interpreter import RUN_MODULE
from halftrip.job.agent import LEAVE_SECONDS, Task
from halftrip.job.launchers.base import Launcher
from halftrip.job.launchers.local import start_rank
from halftrip.job.processes import ProcessOutput, Started
from halftrip.job.spec import Job
from halftrip.plan.hosts import spread
from halftrip.plan.plan import Plan

# Nobody is there to be asked for a password; what ssh reports apart from errors is no news.
_OPTIONS = ("-T", "-x", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-o", "ConnectTimeout=15")
# How long ranks may take to connect, s: their program may be on a slow file system.
_NO_MPI = (
    "--hosts starts ranks without MPI; mpiexec --host a,b halftrip run, or --mpiexec with such "
    "arguments, starts them with it"
)
# The last line of what runs on a host where there is no halftrip.
_MISSING = "is not there; install halftrip {version}, or name what starts it by --remote-command"


class SshLauncher(Launcher):
    def __init__(self, plan: Plan) -> None:
        if plan.hosts is None or plan.ranks is None:
            raise UsageError("--launcher ssh: --hosts says where ranks are started")
        self._where = spread(plan.hosts, plan.ranks)
        self._network = Network(plan.interface, plan.data_ports)
        self._ssh = _words(plan.ssh or "ssh")
        if os.path.basename(self._ssh[0]) == "ssh":
            self._ssh += _OPTIONS
        self._remote = plan.remote_command
        self._variables = plan.variables

    @property
    def reach(self) -> Reach:
        return "unix" if all(map(is_this_host, self._where)) else self._network

    @property
    def ssh(self) -> tuple[str, ...]:
        """The command that starts others on a host."""
        return tuple(self._ssh)

    @property
    def hosts(self) -> Sequence[str]:
        return self._where

    @property
    def job_fields(self) -> Mapping[str, Any]:
        return {"no_mpi": _NO_MPI, "network": self._network}

    def start(self, job: Job, started: Started) -> None:
        started.leave_seconds = LEAVE_SECONDS
        started.hosts.update(enumerate(self._where))
        here = set(filter(is_this_host, self._where))
        started.local_hosts = frozenset(here.union(job.absent.values()))
        for host, ranks in groupby(range(job.ranks), self._where.__getitem__):
            numbers = tuple(ranks)
            if is_this_host(host) or host in job.absent.values():
                for rank in numbers:
                    start_rank(job, rank, started)
            else:
                self._start_agent(host, Task(__version__, job, numbers, self._variables), started)

    def _start_agent(self, host: str, task: Task, started: Started) -> None:
        output = ProcessOutput()
        process = subprocess.Popen(
            (*self._ssh, host, remote_line(self._remote)),
            stdin=subprocess.PIPE,
            stdout=output.file,
            stderr=output.file,
            start_new_session=True,
        )
        name = f"{os.path.basename(self._ssh[0])} to {host} (process {process.pid})"
        started.add(process, name, output, task.numbers)
        task.hand_to(process, started)


def _words(command: str) -> list[str]:
    """The words of a command. Raises UsageError if it has none."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--ssh: {command!r}: {error}") from None
    if not words:
        raise UsageError(f"--ssh: {command!r} names no program")
    return words


def remote_line(command: str | None) -> str:
    """What the shell of another host has to do: run the agent of the halftrip that has the same
    path there as here, else of the one that its shell finds; or `command`."""
    if command is not None:
        return f"{command} agent"
    script = Path(sys.executable).with_name("halftrip")
    here = [str(script)] if script.exists() else [*RUN_MODULE, "halftrip"]
    first = shlex.join(here)
    missing = f"{here[0]} {_MISSING.format(version=__version__)}"
    lines = (
        f"if [ -x {shlex.quote(here[0])} ]; then exec {first} agent; fi",
        "if command -v halftrip >/dev/null 2>&1; then exec halftrip agent; fi",
        f"echo {shlex.quote(missing)} >&2",
        "exit 127",
    )
    return f"sh -c {shlex.quote('; '.join(lines))}"


def is_this_host(name: str) -> bool:
    """Whether this is a name or an address of the host that this process runs on."""
    own = socket.gethostname()
    if name in (own, own.partition(".")[0], "localhost", "::1") or name.startswith("127."):
        return True
    try:
        ipaddress.ip_address(name)
        return bool(interface_addresses(name))
    except (ValueError, UsageError):
        return False
