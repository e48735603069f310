"""A job that another launcher has started this process in: how it is found, by its environment, and
how MPI starts in it.

MPI starts when all ranks take part. So a rank that has found a mistake starts it too, and then all
agree on what is wrong; and where a rank leaves before that, a watch ends those that wait for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from halftrip import _native
from halftrip.control.collectives import MpiGroup
from halftrip.control.protocol import Abort
from halftrip.errors import HalftripError, Unavailable, UsageError
from halftrip.job.shm_cleanup import PREFIXES
from halftrip.job.signals import STOPPING
from halftrip.mpi import launcher, library


class ExistingJob(NamedTuple):
    """This process's rank in the job, how many ranks it has, the MPI of its launcher, if that is
    known, the variable that has the rank, and how many ranks it has on this host, 0 if that is not
    known."""

    rank: int
    size: int
    family: launcher.Family | None
    rank_variable: str
    here: int = 0


# The variables that launchers set, the most specific first: rank, size, size on this host, and the
# MPI they stand for. `halftrip.__main__` repeats the names for ranks.
_VARIABLES: tuple[tuple[str, str, str, launcher.Family | None], ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "openmpi"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "mpich"),
    # The size is set within srun, not in the shell of a batch job.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", None),
)

# Those that have a rank's number.
RANK_VARIABLES = tuple(rank for rank, *_ in _VARIABLES)


def existing_job(environ: Mapping[str, str]) -> ExistingJob | None:
    """The job of two ranks or more that this process was started in, or None."""
    for rank, size, here, family in _VARIABLES:
        if not (environ.get(rank, "").isdecimal() and environ.get(size, "").isdecimal()):
            continue
        if int(environ[size]) > 1:
            local = environ.get(here, "")
            return ExistingJob(
                rank=int(environ[rank]),
                size=int(environ[size]),
                family=family,
                rank_variable=rank,
                here=int(local) if local.isdecimal() else 0,
            )
    return None


def speaks(rank: int, reason: str) -> bool:
    """Whether this rank is the one to tell the user the reason: rank 0, or rank 1 where rank 0
    died."""
    return rank == (1 if reason.startswith("rank 0 ") else 0)


# An mpiexec takes half a second from a death to the end of all other ranks.
_KILL_SECONDS = 2.0


def await_kill(reason: str) -> None:
    """Where a rank has died, waits until the launcher ends this one, too, but no longer than 2 s:
    if this one ended by itself before an mpiexec has seen either end, that of Open MPI would now
    and then not print what was said here."""
    if reason.startswith("rank ") and reason.endswith(" died"):
        time.sleep(_KILL_SECONDS)


def library_of(job: ExistingJob) -> Path | None:
    """The MPI library of the launcher that started this process; None where it is unknown, or where
    the user has named a library."""
    if library.LIBRARY_VARIABLE in os.environ or job.family is None:
        return None
    for program in (*_launchers(job.rank_variable), shutil.which("mpiexec")):
        beside = launcher.library_beside(Path(program), job.family) if program else None
        if beside is not None:
            return beside
    return None


def _launchers(rank_variable: str, generations: int = 4) -> list[str]:
    """The programs of this process's ancestors, the nearest first, without scripts that are
    themselves ranks: one of them is the mpiexec, or what it runs on each host."""
    programs = []
    pid = os.getppid()
    for _ in range(generations):
        process = Path(f"/proc/{pid}")
        try:
            if f"{rank_variable}=".encode() not in (process / "environ").read_bytes():
                programs.append(os.readlink(process / "exe"))
            # State and parent follow the name, which is in brackets and may hold any character.
            pid = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return programs


def start_group(job: ExistingJob, threads: int = 1, refusal: Abort | None = None) -> MpiGroup:
    """Starts MPI, for calls from `threads` threads, and returns the group of all ranks. `refusal`
    is what this rank has found wrong. Raises, on every rank, the error of the first that has found
    something, with its number if others have not found the same; and Unavailable if there is no
    MPI."""
    library.select_library(library_of(job))
    # Of a signal to the whole job, one rank speaks. A signal that this process was started with
    # ignored stays ignored.
    signals = {
        number: f"stopped by {number.name}" if job.rank == 0 else ""
        for number in STOPPING
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    with watched(job, refusal, signals):
        communicator = library.start(job.size, threads)
    _Agreed.now = True
    group = MpiGroup(communicator)
    refusals = group.allgather(refusal, Abort | None)
    for rank, found in enumerate(refusals):
        if found is not None:
            is_common = all(other == found for other in refusals)
            reason = found.reason if is_common else f"rank {rank}: {found.reason}"
            raise Abort(reason, found.usage).error()
    return group


def shared(error: UsageError) -> HalftripError:
    """What to report of a mistake that this process has found: in a job of several ranks, what all
    of them report."""
    job = existing_job(os.environ)
    if job is None or _Agreed.now:
        return error
    try:
        start_group(job, refusal=Abort.from_error(error, job.rank))
    except Unavailable:
        # Without MPI, the watches of other ranks notice that this one leaves.
        return error
    except HalftripError as agreed:
        return agreed
    return error


class _Agreed:
    """Whether the ranks have agreed that they can begin, or that they cannot."""

    now = False


@contextlib.contextmanager
def watched(
    job: ExistingJob,
    refusal: Abort | None = None,
    signals: Mapping[signal.Signals, str] | None = None,
) -> Iterator[None]:
    """Ends this process where a rank of this host or the launcher ends before MPI has started, and
    says so, or the `refusal`; and at one of the `signals`, with its text."""
    usage = refusal is not None and refusal.usage
    watch = _native.StartWatch(
        rank_variable=job.rank_variable,
        ranks=job.here,
        signals={int(number): text for number, text in (signals or {}).items()},
        reason=refusal.reason if refusal is not None else "",
        status=2 if usage else 1,
        segments=list(PREFIXES),
    )
    try:
        yield
    finally:
        watch.stop()
