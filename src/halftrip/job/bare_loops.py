"""The bare loops of native/bare, run in processes of their own."""

from __future__ import annotations

import contextlib
import os
import shlex
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.interpreter import RUN_MODULE
from halftrip.job.bare_program import BareProgram
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
                port = stack.enter_context(BareProgram(name, command)).line()
                program = BareProgram(self._name, (*words, other.name.rpartition("@")[2], port))
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

    def time(self, window: int, size: int, seconds: float) -> Timed:
        """Times a stream of such windows for about so long; 0: a ping-pong."""
        samples, median, p99 = self._program.ask(f"{window} {size} {1e3 * seconds:g}").split()
        return Timed(int(samples), float(median), float(p99))

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
    commands: list[tuple[str, ...]] = [(*idle, first, second)]
    if other is not None:
        commands = [(*idle, first), (*other.ssh, other.name, shlex.join((*idle, second)))]
    name = "what keeps cores from halting"
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(BareProgram(name, command)) for command in commands]
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
