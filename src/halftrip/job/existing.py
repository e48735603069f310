"""Finds the job that another launcher has started this process in, by its environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

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
