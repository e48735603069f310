"""Whether the MPI library that mpi4py has loaded takes pointers to a device's memory.

Where the library can be asked about CUDA, it is: by `MPIX_Query_cuda_support`, which Open MPI and
MPICH have; a plug-in's kind of memory may know. Otherwise a process of its own tries it, since a
library that does not know the device reads from the pointer and crashes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np

from halftrip.errors import HalftripError, Unavailable
from halftrip.memory.allocator import Memory, memory_named
from halftrip.mpi import library
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host, parse_memory
from halftrip.transports.base import PairContext

_CUDA = "cuda"
_QUERY = "MPIX_Query_cuda_support"
# Longer than any library takes to start.
_TRIAL_SECONDS = 30.0
_TRIAL_BYTES = 1 << 16
# Variables by which a launcher tells a process that it is a rank. Those by which a user sets the
# library up stay: some libraries take device pointers only if they are told to.
_OF_LAUNCHERS = (
    *("PMI_", "PMI2_", "PMIX_", "PRTE_", "HYDI_", "HYDRA_", "MPI_LOCAL"),
    *("PALS_", "SLURM_", "DRAGON_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_SIZE"),
    *("OMPI_MCA_ess", "OMPI_MCA_orte_", "OMPI_MCA_pmix"),
)
# The option of prctl that has a process killed when its parent ends: PR_SET_PDEATHSIG.
_SET_PARENT_DEATH_SIGNAL = 1
_ADVICE = "; -t mpi --staging whole sends by way of the host's memory"


def obstacle(configuration: Configuration, pair: PairContext) -> str | None:
    """Why the library does not take this end's buffers, or None."""
    memory = pair.end_of(configuration).memory
    if configuration.staging is not None or is_of_host(memory):
        return None
    said = _refusal(memory)
    if said is None:
        return None
    can_be_staged = type(memory_named(memory)).stage is not Memory.stage
    return f"--memory {memory}: {said}{_ADVICE if can_be_staged else ''}"


@cache
def _refusal(memory: str) -> str | None:
    kind, name = parse_memory(memory).kind, library.library_version()
    takes = _query() if kind == _CUDA else memory_named(memory).taken_by_mpi
    if takes is None:
        failed = _trial(memory)
        return f"{name} does not take its pointers: {failed}" if failed else None
    if takes:
        return None
    if kind == _CUDA:
        return f"{name} says that it takes no pointers to devices ({_QUERY})"
    return f"{name} does not take its pointers, as {kind} says"


def _query() -> bool | None:
    """The library's own answer; None: it has no such question."""
    try:
        address = library.function_address(_QUERY)
    except Unavailable:
        return None
    return bool(ctypes.CFUNCTYPE(ctypes.c_int)(address)())


def _trial(memory: str) -> str:
    """Why a message from a device to itself has failed in another process; empty: it has not."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_OF_LAUNCHERS)
    }
    command = [sys.executable, "-m", __name__, memory, library.library_path() or ""]
    try:
        ended = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TRIAL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"a trial did not end within {_TRIAL_SECONDS:g} s"
    if ended.returncode == 0:
        return ""
    if ended.returncode < 0:
        return f"a trial was ended by {_signal_name(-ended.returncode)}"
    lines = ended.stderr.strip().splitlines()
    return lines[-1] if lines else f"a trial ended with status {ended.returncode}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _try(memory: str, path: str) -> str:
    """Sends bytes from one region to another; what went wrong, or empty."""
    library.select_library(Path(path) if path else None)
    from mpi4py import MPI

    there, back = (memory_named(memory).allocate(_TRIAL_BYTES, "4K") for _ in range(2))
    sent = np.arange(_TRIAL_BYTES, dtype=np.uint64).astype(np.uint8)
    there.write(sent)
    out, into = (MPI.buffer.fromaddress(each.pointer, _TRIAL_BYTES) for each in (there, back))
    MPI.COMM_SELF.Sendrecv([out, MPI.BYTE], 0, 0, [into, MPI.BYTE], 0, 0)
    received = np.zeros_like(sent)
    back.read(received)
    return "" if (received == sent).all() else "other bytes arrived than were sent"


def main() -> None:
    """The trial: the name of the memory, and the library's file."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGKILL))
    memory, path = sys.argv[1:]
    try:
        said = _try(memory, path)
    except HalftripError as error:
        said = str(error)
    sys.exit(said or None)


if __name__ == "__main__":
    main()
