"""The processes of a job: the ones that a launcher started, and all of them on this host."""

from __future__ import annotations

import os
import re
import select
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from halftrip.errors import Interrupted

# How often a wait for the end of processes that are not children looks for it.
POLL_SECONDS = 0.02


@dataclass
class Started:
    """The processes that a launcher has started, each with its name in messages.

    `output` is the file that an mpiexec and its ranks print into, `directory` has their temporary
    files. `stopped` is the reason why no more are to be started.
    """

    processes: dict[subprocess.Popen[bytes], str] = field(default_factory=dict)
    output: IO[bytes] | None = None
    directory: tempfile.TemporaryDirectory[str] | None = None
    stopped: str | None = None

    def add(self, process: subprocess.Popen[bytes], name: str) -> None:
        """Adds a process that has just been started. Raises Interrupted if the run ended
        meanwhile."""
        self.processes[process] = name
        if self.stopped is not None:
            raise Interrupted(self.stopped)

    def lines(self) -> list[str]:
        """The printed lines that have words in them, each once."""
        if self.output is None:
            return []
        self.output.seek(0)
        printed = self.output.read().decode(errors="replace").splitlines()
        with_words = (line.rstrip() for line in printed if re.search(r"[A-Za-z]{3}", line))
        return list(dict.fromkeys(with_words))

    def first_line(self) -> str | None:
        """The first printed line that has words in it, None if there is none."""
        return next((line.strip() for line in self.lines()), None)

    def exited(self) -> dict[str, int]:
        """The exit codes of the processes that have ended, by name."""
        codes = {name: process.poll() for process, name in self.processes.items()}
        return {name: code for name, code in codes.items() if code is not None}

    def wait(self, seconds: float) -> bool:
        """Waits until all have ended, at most `seconds`. Returns whether they have."""
        deadline = time.monotonic() + seconds
        for process in self.processes:
            if process.poll() is None:
                _await_end(process.pid, max(0.0, deadline - time.monotonic()))
        return len(self.exited()) == len(self.processes)


def _await_end(pid: int, seconds: float) -> None:
    """Waits until a child that has not been waited for has ended, at most `seconds`."""
    ended = os.pidfd_open(pid)
    try:
        waiter = select.poll()
        waiter.register(ended, select.POLLIN)
        waiter.poll(seconds * 1e3)
    finally:
        os.close(ended)


def job_processes(token: str, proc: Path = Path("/proc")) -> list[int]:
    """The processes on this host, other than this one, that have the job's token in their
    environment."""
    found = []
    for directory in proc.iterdir():
        if directory.name.isdigit() and int(directory.name) != os.getpid():
            try:
                environ = (directory / "environ").read_bytes()
            except OSError:
                continue
            if token.encode() in environ:
                found.append(int(directory.name))
    return found
