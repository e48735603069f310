"""The agent that starts ranks on a host for a launcher on another one: ``halftrip agent``.

It reads a `Task` from its standard input, and starts the ranks. When they have ended, so does it;
when its input ends, because the launcher has done with it or the connection is lost, it ends them.
What they print goes to its standard error.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from halftrip import __version__
from halftrip.control.protocol import LENGTH, Channel, Versioned
from halftrip.errors import Interrupted, UsageError
from halftrip.job.deaths import end_of
from halftrip.job.processes import POLL_SECONDS, Started, environment, job_processes, rank_process
from halftrip.job.signals import catching, interrupt
from halftrip.job.spec import Job

# How long ranks that have been told to leave may take, and then those that got a SIGTERM, s.
_GRACE_SECONDS = 1.5
_TERMINATE_SECONDS = 0.7
# All of this, and the way of the news to the launcher.
LEAVE_SECONDS = _GRACE_SECONDS + 2 * _TERMINATE_SECONDS + 2.0
# No task is longer, in bytes.
_LONGEST_TASK = 1 << 20


class Task(msgspec.Struct, frozen=True):
    """The ranks of a job that an agent starts: their `numbers`. `version` is that of the launcher's
    halftrip. `variables` are environment variables of theirs; None: one that is not set."""

    version: str
    job: Job
    numbers: tuple[int, ...]
    variables: dict[str, str | None] = {}

    def hand_to(self, process: subprocess.Popen[bytes], started: Started) -> None:
        """Gives the task to the agent whose standard input leads into `process`. The input ends
        when all ranks have finished, or the run ends."""
        assert process.stdin is not None
        payload = msgspec.msgpack.encode(self)
        started.until_finished.callback(_close, process)
        try:
            process.stdin.write(LENGTH.pack(len(payload)) + payload)
            process.stdin.flush()
        except BrokenPipeError:
            # It has ended: its status and its output say why.
            return

    @staticmethod
    def read(descriptor: int) -> Task:
        """Raises UsageError if what comes is no task, or one for another version."""
        (length,) = LENGTH.unpack(_read(descriptor, LENGTH.size))
        if length > _LONGEST_TASK:
            raise UsageError(_NO_TASK)
        try:
            payload = _read(descriptor, length)
            version = msgspec.msgpack.decode(payload, type=Versioned).version
            if version != __version__:
                here = f"halftrip {__version__}"
                raise UsageError(f"{here} is here, {version} at the launcher; install the same")
            return msgspec.msgpack.decode(payload, type=Task)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            raise UsageError(_NO_TASK) from None


_NO_TASK = "agent: what is at the standard input is no launcher of halftrip's"


def _close(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    try:
        process.stdin.close()
    except BrokenPipeError:
        # It has ended, and has not read everything.
        return


def _read(descriptor: int, size: int) -> bytes:
    received = b""
    while len(received) < size:
        part = os.read(descriptor, size - len(received))
        if not part:
            raise UsageError(_NO_TASK)
        received += part
    return received


def main() -> int:
    """Does the task at the standard input. Returns 0 if all ranks ended well, else the status of
    the first that did not, as shells have it."""
    task = Task.read(sys.stdin.fileno())
    ranks = Ranks(task.job, task.numbers, sys.stderr.fileno())
    try:
        with catching(interrupt), environment(task.variables):
            ranks.start()
            ranks.serve(sys.stdin.fileno())
    except Interrupted as error:
        print(f"halftrip: agent: {error}", file=sys.stderr)
    finally:
        ranks.end()
    return ranks.status


class Ranks:
    """The ranks of a job that this process starts, and the first bad `status` of one. What they
    print goes to the descriptor `output`, as does how they ended, if not well."""

    def __init__(self, job: Job, numbers: tuple[int, ...], output: int) -> None:
        self.status = 0
        self._output = output
        # Those that watch the launcher's process watch this one instead.
        self._job = msgspec.structs.replace(job, launcher=os.getpid())
        self._numbers = numbers
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        self._are_killed = False

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._running.values()]

    def start(self, controls: Mapping[int, Channel] = MappingProxyType({})) -> None:
        """Starts them; `controls` are the connections to their launcher, by rank, of those that do
        not make one themselves."""
        for number in self._numbers:
            self._running[number] = rank_process(
                self._job, number, self._output, controls.get(number)
            )

    def serve(self, connection: int, deadline: float | None = None) -> bool:
        """Returns when all ranks have ended, or one that did not end well, or there is something
        at `connection`, which nobody writes to any more; or, with False, at `deadline`, by
        time.monotonic."""
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ, None)
            for number, process in self._running.items():
                selector.register(os.pidfd_open(process.pid), selectors.EVENT_READ, number)
            try:
                # The others would wait for one that has died before it could connect.
                while self._running and not self.status:
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        return False
                    for key, _ in selector.select(left):
                        if key.data is None:
                            return True
                        selector.unregister(key.fileobj)
                        os.close(key.fd)
                        self._note_end(key.data)
                return True
            finally:
                for key in list(selector.get_map().values()):
                    if key.data is not None:
                        os.close(key.fd)

    def _note_end(self, number: int) -> None:
        code = self._running.pop(number).wait()
        # Those that have been killed here have not died.
        if code and not self._are_killed:
            self.status = self.status or (code if code > 0 else 128 - code)
            os.write(self._output, f"{end_of(number, code)}\n".encode())

    def end(self) -> None:
        """Returns when no process of the job is left on this host."""
        for seconds, number in (
            (_GRACE_SECONDS, signal.SIGTERM),
            (_TERMINATE_SECONDS, signal.SIGKILL),
        ):
            if self._await_end(seconds):
                return
            self._are_killed = True
            for pid in job_processes(self._job.token):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    continue
        self._await_end(_TERMINATE_SECONDS)

    def _await_end(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while job_processes(self._job.token) or self._running:
            for number in [n for n, each in self._running.items() if each.poll() is not None]:
                self._note_end(number)
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True
