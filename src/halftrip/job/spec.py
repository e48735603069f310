"""A job as its launcher describes it to the ranks, in the environment or in a file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

import msgspec

from halftrip.control.listener import Reach
from halftrip.control.network import ANY, Network
from halftrip.control.protocol import Address
from halftrip.interpreter import RUN_MODULE

# The command that a rank runs.
RANK_COMMAND = (*RUN_MODULE, "halftrip.job.worker")
JOB_VARIABLE = "HALFTRIP_JOB"
# A rank's number, from launchers that know it; under an mpiexec, MPI knows it.
RANK_VARIABLE = "HALFTRIP_RANK"
# The descriptor of a rank's connection to its launcher, where that was made for it, the token of
# the job, and the keys of the connection.
CONTROL_VARIABLE = "HALFTRIP_CONTROL"


class Job(msgspec.Struct, frozen=True):
    """The address at which the launcher listens, and the token that proves who belongs to the job.

    `launcher` is the launcher's process ID, and `ranks` the number of ranks. `mpi` says whether an
    mpiexec starts them, `threads` how many threads of a rank call MPI. `library` is the MPI library
    of the mpiexec, if that is known, and `directories` have temporary files. `attach` is where a
    Dragon runtime says how to attach to it; `no_dragon` and `no_mpi` are why there is no runtime,
    and no MPI, if there is not. `network` says how ranks are reached from other hosts. If the job
    `calls_upwards`, a rank connects to those above it, not to those below. This part of it `serves`
    a launcher on another host, which may use `libraries` of this one or not. Ranks that are
    `absent`, by number, were to run on a host of that name, which was lost: processes on the
    launcher's host take their places, and do not talk.
    """

    address: Address
    token: str
    launcher: int
    ranks: int
    mpi: bool = False
    threads: int = 1
    library: str | None = None
    directories: tuple[str, ...] = ()
    attach: str | None = None
    no_dragon: str = ""
    no_mpi: str = "the ranks were not started by an mpiexec (--launcher mpiexec)"
    network: Network = ANY
    calls_upwards: bool = False
    serves: bool = False
    libraries: bool = False
    absent: dict[int, str] = {}

    @property
    def reach(self) -> Reach:
        """From where ranks, and their launcher, are reached."""
        return self.network if self.address.unix is None else "unix"

    def environment(self) -> dict[str, str]:
        return {JOB_VARIABLE: msgspec.json.encode(self).decode()}

    @staticmethod
    def from_environment(environ: Mapping[str, str]) -> Job:
        return msgspec.json.decode(environ[JOB_VARIABLE], type=Job)

    def write(self, path: Path) -> None:
        """Writes a new file, which only this user may read: it has the token."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(msgspec.json.encode(self))

    @staticmethod
    def from_file(path: str) -> Job:
        return msgspec.json.decode(Path(path).read_bytes(), type=Job)


def new_token() -> str:
    return secrets.token_hex(16)
