"""The bare loops of native/bare, run in processes of their own."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.interpreter import RUN_MODULE
from halftrip.mpi import launcher
from halftrip.mpi.library import LIBRARY_VARIABLE

# The paths that have a bare loop, those of them that go between hosts, and those that have no
# stream: a bare loop has no answer to a datagram that is lost.
PATHS = ("shm", "pipe", "unix", "tcp", "udp", "mpi")
BETWEEN_HOSTS = ("tcp", "udp")
WITHOUT_STREAM = ("udp",)
LARGEST_DATAGRAM = 65507
_PROGRAM = Path(_native.__file__).with_name("bare_loops")
# Names the file of the MPI library; see native/bare/mpi.c.
_LIBRARY_VARIABLE = "BARE_MPI"
# Names the abstract socket from which its orders come.
_ORDERS_VARIABLE = "BARE_ORDERS"
_TIMEOUT_SECONDS = 60.0
# Processes that were told to end have so long.
_END_SECONDS = 5.0


class Timed(NamedTuple):
    """What a loop has timed of one pattern and size: so many samples, their median and 99th
    percentile, ns, of one message, one way."""

    samples: int
    median: float
    p99: float


class OtherHost(NamedTuple):
    """Where the second end runs, and the command that starts a command there."""

    name: str
    ssh: tuple[str, ...]


class BareLoops:
    """The bare loops of `path` on two cores, in processes that sleep while nothing is asked of
    them. Between two hosts, each end is on the first core that it may use. Raises Unavailable where
    the path has none here."""

    def __init__(self, path: str, cores: Sequence[int], other: OtherHost | None = None) -> None:
        self._path = path
        # A pipe would be full at some time.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._processes: list[subprocess.Popen[bytes]] = []
        # An mpiexec does not tell its ranks that its own input has ended.
        self._listener: socket.socket | None = None
        self._connection: socket.socket | None = None
        words = (str(_PROGRAM), path, *map(str, cores))
        try:
            if other is None:
                self._start_both(words)
            else:
                self._start((*other.ssh, other.name, shlex.join((*words, "listen"))))
                port = self._line().strip()
                self._start((*words, other.name.rpartition("@")[2], port))
        except Unavailable:
            self.close()
            raise

    def _start_both(self, words: tuple[str, ...]) -> None:
        prefix: tuple[str, ...] = ()
        environment = dict(os.environ)
        if self._path == "mpi":
            mpiexec = launcher.find_mpiexec()
            prefix = (*launcher.full_command(mpiexec), "-n", "2")
            environment |= launcher.root_environment()
            environment[_LIBRARY_VARIABLE] = _mpi_library(mpiexec)
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind("")  # The kernel finds a name.
            self._listener.listen()
            environment[_ORDERS_VARIABLE] = self._listener.getsockname()[1:].decode()
        self._start((*prefix, *words), environment)

    def _start(self, command: Sequence[str], environment: dict[str, str] | None = None) -> None:
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
            )
        except OSError as error:
            raise self._failed(str(error)) from None
        self._processes.append(process)

    def wait(self) -> None:
        """Waits until both ends are connected. Raises Unavailable if they are not to be."""
        if self._listener is not None:
            # Either comes, or its process ends.
            ended = os.pidfd_open(self._processes[-1].pid)
            try:
                either = (self._listener.fileno(), ended)
                select.select(either, [], [], _TIMEOUT_SECONDS)
                self._listener.setblocking(False)
                self._connection, _ = self._listener.accept()
            except BlockingIOError:
                raise self._failed() from None
            finally:
                os.close(ended)
        self._line()

    def time(self, window: int, size: int, seconds: float) -> Timed:
        """Times a stream of such windows for about so long; 0: a ping-pong. Raises Unavailable if
        it fails."""
        to = self._connection or self._processes[-1].stdin
        assert to is not None
        try:
            os.write(to.fileno(), f"{window} {size} {1e3 * seconds:g}\n".encode())
        except OSError:
            raise self._failed() from None
        samples, median, p99 = self._line().split()
        return Timed(int(samples), float(median), float(p99))

    def close(self) -> None:
        """Ends the processes."""
        for each in filter(None, (self._listener, self._connection)):
            each.close()
        for process in reversed(self._processes):
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._errors.close()

    def _line(self) -> str:
        source = self._connection or self._processes[-1].stdout
        assert source is not None
        line = b""
        until = time.monotonic() + _TIMEOUT_SECONDS
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise self._failed(f"no answer within {_TIMEOUT_SECONDS:g} s")
            read = os.read(source.fileno(), 4096)
            if not read:
                raise self._failed()
            line += read
        return line.decode()

    def _failed(self, why: str | None = None) -> Unavailable:
        """The error of a loop that has ended, or that cannot go on."""
        if why is None:
            # Its last words precede its end.
            process = self._processes[-1]
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").split("\n")
            said = [line.strip() for line in lines if line.strip()]
            why = said[-1] if said else f"ended with status {process.poll()}"
        return Unavailable(f"the bare loop over {self._path}: {why}")


@contextlib.contextmanager
def no_idle_core(cores: Sequence[int], other: OtherHost | None = None) -> Iterator[None]:
    """Meanwhile these two cores always have something to do, which gives way to all else: a core
    that halts takes an ever different time to wake, many times that of a message. With another
    host, the second core is there."""
    first, second = map(str, cores)
    idle = (str(_PROGRAM), "idle")
    commands: list[tuple[str, ...]] = [(*idle, first, second)]
    if other is not None:
        commands = [(*idle, first), (*other.ssh, other.name, shlex.join((*idle, second)))]
    with contextlib.ExitStack() as stack:
        for command in commands:
            process = subprocess.Popen(command, stdin=subprocess.PIPE)
            stack.enter_context(process)
            stack.callback(process.communicate)
        yield


def _mpi_library(mpiexec: launcher.Mpiexec) -> str:
    """The library that ranks started by `mpiexec` load: mpi4py knows, if nobody has named one."""
    named = os.environ.get(LIBRARY_VARIABLE) or mpiexec.library
    if named is not None:
        return str(named)
    try:
        asked = subprocess.run(
            (*RUN_MODULE, __name__),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"no MPI library is known: {error}") from None
    if asked.returncode != 0 or not asked.stdout.strip():
        raise Unavailable("no MPI library is known")
    return asked.stdout.strip()


def _print_library() -> None:
    """Prints the library that mpi4py chooses, without starting MPI."""
    import mpi4py

    mpi4py.rc.initialize = False
    from halftrip.mpi import library

    print(library.library_path() or "")


if __name__ == "__main__":
    _print_library()
