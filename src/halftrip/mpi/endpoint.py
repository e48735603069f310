"""Native endpoints over the MPI library that mpi4py has loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from halftrip import _native
from halftrip.mpi.library import function_address

if TYPE_CHECKING:
    from mpi4py import MPI

# The functions that a blocking endpoint calls after the one that sends, in the order of its
# arguments.
_BLOCKING = ("MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Wait")


def kind(name: str) -> Any:
    """The native type of that name for this MPI's handles: an int in MPICH and its relatives, a
    pointer in Open MPI and in MPI 5's own ABI."""
    from mpi4py import MPI

    kinds = {4: "Int", 8: "Pointer"}
    return getattr(_native, name + kinds[MPI._sizeof(MPI.Comm)])


def addresses(names: Sequence[str]) -> list[int]:
    """The addresses of these functions. Raises Unavailable if the library lacks one."""
    return [function_address(name) for name in names]


def native_path(
    communicator: MPI.Intracomm | None,
    peer: int,
    tag: int,
    datatype: MPI.Datatype | None = None,
    size: int = 0,
) -> Any:
    """The native path to `peer`. Messages of `size` bytes are one element of `datatype`, all others
    plain bytes; None: all are."""
    from mpi4py import MPI

    typed = MPI.BYTE if datatype is None else datatype
    return kind("MpiPath")(
        communicator=MPI._addressof(communicator),
        byte=MPI._addressof(MPI.BYTE),
        datatype=MPI._addressof(typed),
        typed_size=0 if datatype is None else size,
        typed_extent=typed.Get_true_extent()[1],
        peer=peer,
        tag=tag,
    )


def blocking_end(path: Any, send: str = "MPI_Send") -> Any:
    """A native endpoint over a native path, whose messages are sent by the function `send`."""
    return kind("Mpi")(path, addresses((send, *_BLOCKING)))
