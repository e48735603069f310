"""Ranks as forks of one process that has imported what a rank needs: the launcher's end of it.

``halftrip run`` imports this before all else, to start that process while it imports the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys

from halftrip.interpreter import RUN_MODULE
from halftrip.job.signals import interrupts_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MODULE = "halftrip.job.fork_server"
# Has the job's token, in the environment of the process and so, as the kernel shows it, of all its
# forks: by that they are found.
SERVER_VARIABLE = "HALFTRIP_FORK_SERVER"
# How often it is asked whether the forks are still wanted, while they are waited for, s.
_LOOK_SECONDS = 0.05
# How long it may take to import everything, where that is waited for, s.
_SETTLE_SECONDS = 10.0
# What it writes when it is ready for a request.
READY = b"\0"
# From linux/prctl.h. A process whose parent ends becomes a child of the nearest of its ancestors
# that is a "subreaper".
_PR_SET_CHILD_SUBREAPER = 36
_PR_GET_CHILD_SUBREAPER = 37


class ForkedRank:
    """A child of this process that `subprocess` has not started; for the rest, as a Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                # This process ignores SIGCHLD: nobody knows how it ended.
                self.returncode = 0
            else:
                self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def terminate(self) -> None:
        import signal

        self._send(signal.SIGTERM)

    def kill(self) -> None:
        import signal

        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        # What has been waited for may have given its number to another process.
        if self.poll() is None:
            os.kill(self.pid, number)


class ForkServer:
    """A process that waits to be told of launches, and forks the ranks of each by way of a child
    that ends, so that they become children of this one. Nothing is forked here, where threads, CUDA
    or MPI may be. Raises OSError if it cannot be started."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._environ = dict(os.environ)
        self._is_ready = False
        self._requests = self._answers = -1
        requests, self._requests = os.pipe()
        ends = [requests]
        try:
            self._answers, answers = os.pipe()
            ends.append(answers)
            if min(*ends, self._requests, self._answers) <= 2:
                raise OSError("a standard stream is closed")
            with interrupts_held():
                self._process = subprocess.Popen(
                    (*RUN_MODULE, _MODULE, *map(str, ends)),
                    env=os.environ | {SERVER_VARIABLE: token},
                    stdin=subprocess.DEVNULL,
                    process_group=0,
                    pass_fds=ends,
                )
        except BaseException:
            self._close()
            raise
        finally:
            for end in ends:
                os.close(end)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def suits(self) -> bool:
        """Whether what it has inherited is what ranks would inherit now."""
        return self._environ == dict(os.environ)

    def fork(
        self, environment: Mapping[str, str], ranks: int, wanted: Callable[[], bool]
    ) -> Sequence[ForkedRank]:
        """Forks ranks with these variables added to their environment. None are returned if it
        could not, or if they are not `wanted` any longer; then the server has ended. Raises
        Killed."""
        import json

        request = json.dumps({"environment": dict(environment), "ranks": ranks}).encode()
        pids: list[int] = []
        with _Adopting() as adopts:
            try:
                if adopts:
                    pids = json.loads(self._ask(request + b"\n", wanted) or b"[]")
            finally:
                if not pids:
                    is_wanted = wanted()
                    code = self._end(kill=not (adopts and is_wanted))
        if not pids and adopts and is_wanted and code < 0:
            raise Killed(self._process.pid, -code)
        return [ForkedRank(pid) for pid in pids]

    def _ask(self, request: bytes, wanted: Callable[[], bool]) -> bytes:
        """The server's answer, when it is ready for the next request; nothing where it has ended,
        or the forks are not wanted any longer."""
        import select

        try:
            os.write(self._requests, request)
        except BrokenPipeError:
            return b""
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        answer = b""
        # It is ready for the first time, too.
        while answer.count(READY) < (1 if self._is_ready else 2):
            if not wanted():
                return b""
            if poll.poll(_LOOK_SECONDS * 1e3):
                part = os.read(self._answers, 1 << 16)
                if not part:
                    return b""
                answer += part
        self._is_ready = True
        return answer.replace(READY, b"")

    def settle(self) -> None:
        """Returns when it has imported everything, and waits."""
        import select

        if not self._is_ready:
            select.select([self._answers], [], [], _SETTLE_SECONDS)

    def end(self) -> None:
        """Ends it. Its forks stay."""
        self._end(kill=True)

    def _end(self, kill: bool) -> int:
        """Ends it, or lets it end by itself; its exit code."""
        self._close()
        if kill:
            self._process.kill()
        return self._process.wait()

    def _close(self) -> None:
        for end in (self._requests, self._answers):
            if end >= 0:
                os.close(end)
        self._requests = self._answers = -1


class Killed(Exception):
    """A signal of this number has ended the server of this process ID."""

    def __init__(self, pid: int, number: int) -> None:
        super().__init__(pid, number)
        self.pid = pid
        self.number = number


class _Adopting:
    """Meanwhile the children of a child that ends become children of this process. False where the
    kernel cannot do that."""

    def __enter__(self) -> bool:
        import ctypes

        self._prctl = ctypes.CDLL(None).prctl
        before = ctypes.c_int()
        known = not self._prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
        self._before = before.value
        return known and not self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def __exit__(self, *_: object) -> None:
        self._prctl(_PR_SET_CHILD_SUBREAPER, self._before, 0, 0, 0)


# The server of this run, if there is one: it may be started before it is known what is to be
# measured.
_current: list[ForkServer] = []


def begin(words: Sequence[str]) -> None:
    """Starts a server for ``halftrip run`` with these arguments if it will probably want one. If
    not, that has cost some time of another core."""
    if not _is_probable(words):
        return
    try:
        _current.append(ForkServer(os.urandom(16).hex()))
    except OSError:
        # Too few processes or descriptors: whoever starts ranks says so.
        return


def server(token: str) -> ForkServer | None:
    """The server of this token if it suits, or a new one, which serves the launches to come, too;
    None if there can be none."""
    if _current and _current[0].token == token and _current[0].suits:
        return _current[0]
    end()
    try:
        _current.append(ForkServer(token))
    except OSError:
        return None
    return _current[0]


def token() -> str | None:
    """The token of the server, which is that of all jobs whose ranks it forks."""
    return _current[0].token if _current else None


def settle() -> None:
    """Returns when the server keeps no core busy."""
    for each in _current:
        each.settle()


def end() -> None:
    """Ends the server, if there is one. Ranks that it has forked stay."""
    while _current:
        _current.pop().end()


# Whose ranks something else starts, or which has none.
_OTHERWISE = (
    *("--launcher", "--vary", "--resume", "--against", "--mpiexec", "--host", "--peer"),
    *("--help", "-h"),
)


def _is_probable(words: Sequence[str]) -> bool:
    """Whether the ranks of a run with these arguments are plain processes of this host, as far as
    that can be told without the time that it takes to read options."""
    names = [
        name
        for word, before in zip(words, ("", *words), strict=False)
        if before in ("-t", "--transport") or word.startswith("--transport=")
        for name in word.removeprefix("--transport=").split(",")
    ]
    if not names or any(name.startswith(("mpi", "dragon")) for name in names):
        return False
    return None not in (sys.stdin, sys.stdout, sys.stderr) and not any(
        word.startswith(_OTHERWISE) for word in words
    )
