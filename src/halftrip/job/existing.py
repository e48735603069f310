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
    known, and the variable that has the rank."""

    rank: int
    size: int
    family: launcher.Family | None
    rank_variable: str


# The variables that launchers set, the most specific first: rank, size, and the MPI they stand for.
# `halftrip.__main__` repeats the names for ranks.
_VARIABLES: tuple[tuple[str, str, launcher.Family | None], ...] = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"),
    ("PMI_RANK", "PMI_SIZE", "mpich"),
    # The size is set within srun, not in the shell of a batch job.
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", None),
)


def existing_job(environ: Mapping[str, str]) -> ExistingJob | None:
    """The job of two ranks or more that this process was started in, or None."""
    for rank, size, family in _VARIABLES:
        if not (environ.get(rank, "").isdecimal() and environ.get(size, "").isdecimal()):
            continue
        if int(environ[size]) > 1:
            return ExistingJob(int(environ[rank]), int(environ[size]), family, rank)
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
    for program in (*_ancestors(), shutil.which("mpiexec")):
        beside = launcher.library_beside(Path(program), job.family) if program else None
        if beside is not None:
            return beside
    return None


def _ancestors(generations: int = 3) -> list[str]:
    """The programs of this process's ancestors, its parent first: one of them is the mpiexec, or
    what it runs on each host."""
    programs = []
    pid = os.getppid()
    for _ in range(generations):
        try:
            programs.append(os.readlink(f"/proc/{pid}/exe"))
            # State and parent follow the name, which is in brackets and may hold any character.
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return programs
