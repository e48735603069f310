"""Ranks as forks of one process that has imported what a rank needs: the launcher's end of it.

``halftrip run`` imports this before all else, to start that process while it imports the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys

from halftrip.interpreter import RUN_MODULE

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
    """A process that waits to be told of a job, forks its ranks, and ends, so that they become
    children of this one. Nothing is forked here, where threads, CUDA or MPI may be. Raises OSError
    if it cannot be started."""

    def __init__(self, token: str) -> None:
        self.token = token
        self._environ = dict(os.environ)
        self._requests = self._answers = -1
        requests, self._requests = os.pipe()
        ends = [requests]
        try:
            self._answers, answers = os.pipe()
            ends.append(answers)
            if min(*ends, self._requests, self._answers) <= 2:
                raise OSError("a standard stream is closed")
            self._process = subprocess.Popen(
                (*RUN_MODULE, _MODULE, *map(str, ends)),
                env=os.environ | {SERVER_VARIABLE: token},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=ends,
            )
        except BaseException:
            self._close()
            raise
        finally:
            for end in ends:
                os.close(end)

    @property
    def suits(self) -> bool:
        """Whether what it has inherited is what ranks would inherit now."""
        return self._environ == dict(os.environ)

    def fork(
        self, environment: Mapping[str, str], ranks: int, wanted: Callable[[], bool]
    ) -> Sequence[ForkedRank]:
        """Forks ranks with these variables added to their environment, and ends the server. None
        are returned if it could not, or if they are not `wanted` any longer. Raises Killed."""
        import json

        request = json.dumps({"environment": dict(environment), "ranks": ranks}).encode()
        with _Adopting() as adopts:
            if not adopts:
                self.end()
                return []
            try:
                pids = json.loads(self._ask(request, wanted).strip() or b"[]")
            finally:
                self._close()
                if not wanted():
                    self._process.kill()
                code = self._process.wait()
        if code < 0 and wanted():
            raise Killed(self._process.pid, -code)
        return [ForkedRank(pid) for pid in pids]

    def _ask(self, request: bytes, wanted: Callable[[], bool]) -> bytes:
        """The server's answer; what there is of it when it has ended."""
        import select

        try:
            os.write(self._requests, request)
        except BrokenPipeError:
            return b""
        # The end of the request.
        os.close(self._requests)
        self._requests = -1
        poll = select.poll()
        poll.register(self._answers, select.POLLIN)
        answer = b""
        while wanted():
            if poll.poll(_LOOK_SECONDS * 1e3):
                part = os.read(self._answers, 1 << 16)
                if not part:
                    return answer
                answer += part
        return b""

    def settle(self) -> None:
        """Returns when it has imported everything, and waits."""
        import select

        select.select([self._answers], [], [], _SETTLE_SECONDS)

    def end(self) -> None:
        """Ends it without forks."""
        self._close()
        self._process.kill()
        self._process.wait()

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


# The server that was started before it was known what is to be measured, if one was.
_early: list[ForkServer] = []


def begin(words: Sequence[str]) -> None:
    """Starts a server for ``halftrip run`` with these arguments if it will probably want one. If
    not, that has cost some time of another core."""
    if not _is_probable(words):
        return
    try:
        _early.append(ForkServer(os.urandom(16).hex()))
    except OSError:
        # Too few processes or descriptors: whoever starts ranks says so.
        return


def take(token: str) -> ForkServer | None:
    """The server that was begun for this token if it suits, or a new one; None if there can be
    none."""
    early = [server for server in _early if server.token == token]
    if early and early[0].suits:
        _early.clear()
        return early[0]
    discard()
    try:
        return ForkServer(token)
    except OSError:
        return None


def early_token() -> str | None:
    """The token of the server that was begun."""
    return _early[0].token if _early else None


def settle() -> None:
    """Returns when the server that was begun keeps no core busy."""
    for server in _early:
        server.settle()


def discard() -> None:
    """Ends the server that was begun, if it was not taken."""
    while _early:
        _early.pop().end()


# Whose ranks something else starts, or which has none.
_OTHERWISE = (
    *("--launch", "--until-ci", "--vary", "--resume", "--against", "--mpiexec", "--host", "--peer"),
    *("--help", "-h"),
)


def _is_probable(words: Sequence[str]) -> bool:
    """Whether a run with these arguments has one launch of ranks on this host, as far as that can
    be told without the time that it takes to read options."""
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
