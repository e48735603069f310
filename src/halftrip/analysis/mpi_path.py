"""By which path an MPI sends between the ranks of a run, as far as its settings say."""

from __future__ import annotations

from typing import Literal

from halftrip.results.records import Environment
from halftrip.results.run import Run

Path = Literal["shm", "tcp"]

# What Open MPI's transfer layers and UCX call shared memory: of a name that is not here, such as
# `all`, the path is not known.
_SHARED = {"sm", "vader", "shm", "mm", "posix", "sysv", "cma", "knem", "xpmem"}
# What a process sends to itself by.
_SELF = {"self", ""}


def path_by_settings(run: Run) -> Path | None:
    """The only path that the variables of all ranks leave to their MPI: shared memory, or TCP; None
    where they leave several, or name another one."""
    found = {_path_of(each) for each in run.environments}
    return found.pop() if len(found) == 1 else None


def _path_of(environment: Environment) -> Path | None:
    of = environment.variables.get
    chosen = of("UCX_TLS")
    if "Open MPI" in (environment.mpi or "") and of("OMPI_MCA_pml") != "ucx":
        chosen = of("OMPI_MCA_btl") if of("OMPI_MCA_pml") in (None, "ob1") else None
    names = set((chosen or "").split(",")) - _SELF
    if not names:
        return None
    return "shm" if names <= _SHARED else "tcp" if names == {"tcp"} else None
