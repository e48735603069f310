"""A job as its launcher describes it to the ranks, in the environment."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import msgspec

from halftrip.control.protocol import Address

JOB_VARIABLE = "HALFTRIP_JOB"
# A rank's number, from launchers that know it; under an mpiexec, MPI knows it.
RANK_VARIABLE = "HALFTRIP_RANK"


class Job(msgspec.Struct, frozen=True):
    """The address at which the launcher listens, and the token that proves who belongs to the job.

    `launcher` is the launcher's process ID, and `ranks` the number of ranks. `mpi` says whether an
    mpiexec starts them, `threads` how many threads of a rank call MPI. `library` is the MPI library
    of the mpiexec, if that is known, and `directory` has its temporary files. `attach` is where a
    Dragon runtime says how to attach to it; `no_dragon` is why there is none, if there is not.
    """

    address: Address
    token: str
    launcher: int
    ranks: int
    mpi: bool
    threads: int = 1
    library: str | None = None
    directory: str | None = None
    attach: str | None = None
    no_dragon: str = ""

    def environment(self) -> dict[str, str]:
        return {JOB_VARIABLE: msgspec.json.encode(self).decode()}

    @staticmethod
    def from_environment(environ: Mapping[str, str]) -> Job:
        return msgspec.json.decode(environ[JOB_VARIABLE], type=Job)


def new_token() -> str:
    return secrets.token_hex(16)
