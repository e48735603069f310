"""The bare loops of native/bare, run in processes of their own."""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halftrip import _native
from halftrip.errors import Unavailable, system_reason
from halftrip.interpreter import RUN_MODULE
from halftrip.job.deaths import how_ended
from halftrip.job.processes import ProcessOutput
from halftrip.mpi import launcher
from halftrip.mpi.library import LIBRARY_VARIABLE

# It may have to start MPI first.
_ANSWER_SECONDS = 60.0
# One that has been told to end has so long.
_END_SECONDS = 5.0


class BareProgram:
    """A process that answers each line of its input with a line, and ends with its input. `name` is
    what errors call it. With a `listener`, lines go over the connection that it makes to that: an
    mpiexec does not tell its ranks that its own input has ended. One that `reaches` another host
    has a session of its own, as the launcher's ssh has, so that it cannot ask at the terminal, and,
    where the other host is a container of this machine, the kernel's autogroups treat both alike.
    Raises Unavailable, here and in all methods but `close`, if the process cannot be started, ends,
    or does not answer."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: dict[str, str] | None = None,
        listener: socket.socket | None = None,
        reaches: bool = False,
    ) -> None:
        self._name = name
        self._listener = listener
        self._connection: socket.socket | None = None
        # A pipe would be full at some time.
        self._errors = ProcessOutput()
        try:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors.file,
                start_new_session=reaches,
            )
        except OSError as error:
            self._errors.file.close()
            why = f"{command[0]}: {system_reason(error).lower()}"
            raise Unavailable(f"{name}: {why}") from None

    def __enter__(self) -> BareProgram:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def ask(self, line: str) -> str:
        """The answer to a line."""
        self.tell(line)
        return self.line()

    def tell(self, line: str) -> None:
        """Gives it a line."""
        to = self._connection or self.process.stdin
        assert to is not None
        try:
            os.write(to.fileno(), f"{line}\n".encode())
        except OSError:
            raise self._failed() from None

    def line(self) -> str:
        """The next line."""
        if self._listener is not None and self._connection is None:
            self._connection = self._accept(self._listener)
        source = self._connection or self.process.stdout
        assert source is not None
        line = b""
        until = time.monotonic() + _ANSWER_SECONDS
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([source], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise self._failed(f"no answer within {_ANSWER_SECONDS:g} s")
            try:
                read = os.read(source.fileno(), 4096)
            except ConnectionError:
                read = b""
            if not read:
                raise self._failed()
            line += read
        return line.decode().strip()

    def check(self) -> None:
        """Raises Unavailable if it has ended."""
        if self.process.poll() is not None:
            raise self._failed()

    def close(self) -> None:
        """Ends it: by the end of its input, or else by a signal."""
        if self._connection is not None:
            self._connection.close()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        for end in (self.process.terminate, self.process.kill):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_SECONDS)
                break
            end()
        self.process.wait()
        self._errors.file.close()

    def _accept(self, listener: socket.socket) -> socket.socket:
        ended = os.pidfd_open(self.process.pid)
        try:
            # Either comes, or the process ends.
            either = (listener.fileno(), ended)
            ready, _, _ = select.select(either, (), (), _ANSWER_SECONDS)
        finally:
            os.close(ended)
        if listener.fileno() not in ready:
            raise self._failed(None if ready else f"no connection within {_ANSWER_SECONDS:g} s")
        return listener.accept()[0]

    def _failed(self, why: str | None = None) -> Unavailable:
        """The error of a process that has ended, or that (`why`) cannot go on."""
        return Unavailable(f"{self._name}: {why or self._last_words()}")

    def _last_words(self) -> str:
        # They precede its end.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        said = self._errors.lines()
        if said:
            return said[-1].strip()
        status = self.process.poll()
        return "its output has ended" if status is None else how_ended(status)


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


class BareTimes(NamedTuple):
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
    them; with another host, the second end is there. Raises Unavailable where the path has none
    here, and in `wait` and `time` if it fails."""

    def __init__(self, path: str, cores: Sequence[int], other: OtherHost | None = None) -> None:
        self._name = f"the bare loop over {path}"
        self._open = contextlib.ExitStack()
        words = (str(_PROGRAM), path, *map(str, cores))
        with contextlib.ExitStack() as stack:
            if other is not None:
                name = f"{self._name} on {other.name}"
                command = (*other.ssh, other.name, shlex.join((*words, "listen")))
                # Who may connect to the other end knows it.
                word = secrets.token_hex(16)
                port = stack.enter_context(BareProgram(name, command, reaches=True)).ask(word)
                program = BareProgram(self._name, (*words, other.name.rpartition("@")[2], port))
                program.tell(word)
            elif path == "mpi":
                program = self._start_ranks(words, stack)
            else:
                program = BareProgram(self._name, words)
            self._program = stack.enter_context(program)
            self._open = stack.pop_all()

    def _start_ranks(self, words: tuple[str, ...], stack: contextlib.ExitStack) -> BareProgram:
        mpiexec = launcher.find_mpiexec()
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind("")  # The kernel finds a name.
        listener.listen()
        environment = dict(os.environ) | launcher.root_environment()
        environment[_LIBRARY_VARIABLE] = _mpi_library(mpiexec)
        environment[_ORDERS_VARIABLE] = listener.getsockname()[1:].decode()
        command = (*launcher.full_command(mpiexec), "-n", "2", *words)
        return BareProgram(self._name, command, environment, listener)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """That of the first end, or the mpiexec."""
        return self._program.process

    def wait(self) -> None:
        """Waits until both ends are connected."""
        self._program.line()

    def time(self, window: int, size: int, seconds: float) -> BareTimes:
        """Times a stream of such windows for about so long; 0: a ping-pong."""
        samples, median, p99 = self._program.ask(f"{window} {size} {1e3 * seconds:g}").split()
        return BareTimes(int(samples), float(median), float(p99))

    def close(self) -> None:
        """Ends the processes."""
        self._open.close()


@contextlib.contextmanager
def no_idle_core(cores: Sequence[int], other: OtherHost | None = None) -> Iterator[None]:
    """Keeps two cores from halting, by a program of the lowest priority on each: how long a halted
    core takes to wake differs from moment to moment, by many times what a message takes. With
    another host, the second core is one of that. Raises Unavailable if the program fails."""
    first, second = map(str, cores)
    idle = (str(_PROGRAM), "idle")
    # Whether each reaches another host.
    commands: list[tuple[bool, tuple[str, ...]]] = [(False, (*idle, first, second))]
    if other is not None:
        there = (*other.ssh, other.name, shlex.join((*idle, second)))
        commands = [(False, (*idle, first)), (True, there)]
    name = "what keeps cores from halting"
    with contextlib.ExitStack() as stack:
        programs = [
            stack.enter_context(BareProgram(name, command, reaches=reaches))
            for reaches, command in commands
        ]
        for program in programs:
            program.line()
        yield
        for program in programs:
            program.check()


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
