"""What a launcher tells its ranks through the environment."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

import msgspec

from halftrip.control.protocol import Address

JOB_VARIABLE = "HALFTRIP_JOB"
# Set by launchers that know it; under mpiexec MPI says.
RANK_VARIABLE = "HALFTRIP_RANK"


class Job(msgspec.Struct, frozen=True):
    """Where the launcher listens, and the token that proves who belongs to the job.

    `launcher` is its process, `ranks` is how many ranks there are. `mpi` says whether an mpiexec
    starts them, `threads` how many of a rank's threads call MPI, `library` which MPI library
    belongs to it, if that is known, and `directory` where it keeps its files.
    """

    address: Address
    token: str
    launcher: int
    ranks: int
    mpi: bool
    threads: int = 1
    library: str | None = None
    directory: str | None = None

    def environment(self) -> dict[str, str]:
        return {JOB_VARIABLE: msgspec.json.encode(self).decode()}

    @staticmethod
    def from_environment(environ: Mapping[str, str]) -> Job:
        return msgspec.json.decode(environ[JOB_VARIABLE], type=Job)


def new_token() -> str:
    return secrets.token_hex(16)
