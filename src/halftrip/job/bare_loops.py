"""The bare loops of native/bare, run in processes of their own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.interpreter import RUN_MODULE
from halftrip.mpi import launcher
from halftrip.mpi.library import LIBRARY_VARIABLE

# The paths that have a bare loop, and those of them that have no stream: a bare loop has no answer
# to a datagram that is lost.
PATHS = ("shm", "pipe", "unix", "tcp", "udp", "mpi")
WITHOUT_STREAM = ("udp",)
LARGEST_DATAGRAM = 65507
_PROGRAM = Path(_native.__file__).with_name("bare_loops")
# Names the file of the MPI library; see native/bare/mpi.c.
_LIBRARY_VARIABLE = "BARE_MPI"
_TIMEOUT_SECONDS = 60.0


class Timed(NamedTuple):
    """What a loop has timed of one pattern and size: so many samples, their median and 99th
    percentile, ns, of one message, one way."""

    pattern: str
    size: int
    samples: int
    median: float
    p99: float


class BareLoops:
    """The bare loops on two cores. Raises Unavailable where `path` has none here."""

    def __init__(self, path: str, cores: Sequence[int], sizes: Sequence[int], window: int) -> None:
        self._path = path
        of_path = [size for size in sizes if path != "udp" or size <= LARGEST_DATAGRAM]
        self._words = (*map(str, cores), *(str(window), *map(str, of_path)))
        self._prefix: tuple[str, ...] = ()
        self._environment = dict(os.environ)
        if path == "mpi":
            mpiexec = launcher.find_mpiexec()
            self._prefix = (*launcher.full_command(mpiexec), "-n", "2")
            self._environment |= launcher.root_environment()
            self._environment[_LIBRARY_VARIABLE] = _mpi_library(mpiexec)

    def run(self, seconds: float) -> list[Timed]:
        """Runs the loops for about so long for each pattern and size. Raises Unavailable if they
        fail."""
        first, second, *rest = self._words
        words = (self._path, first, second, f"{1e3 * seconds:g}", *rest)
        try:
            ended = subprocess.run(
                (*self._prefix, str(_PROGRAM), *words),
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"the bare loop over {self._path}: {error}") from None
        if ended.returncode != 0:
            lines = ended.stderr.strip().splitlines() or [f"status {ended.returncode}"]
            raise Unavailable(f"the bare loop over {self._path}: {lines[-1]}")
        return [_timed(line) for line in ended.stdout.splitlines() if line.strip()]


def _timed(line: str) -> Timed:
    pattern, size, samples, median, p99 = line.split()
    return Timed(pattern, int(size), int(samples), float(median), float(p99))


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
