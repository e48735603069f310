"""The MPI library, found at run time: selects and starts it, and finds its functions."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.interpreter import install_command
from halftrip.libraries import NO_DEBUGGER, defaults, file_of

if TYPE_CHECKING:
    from mpi4py import MPI

_MPICH_SONAME = "libmpi.so.12"
# The variable that tells mpi4py which library to load.
LIBRARY_VARIABLE = "MPI4PY_LIBMPI"
# Tags that no other software is likely to use: two for each thread of a rank, one for timed
# messages and one for those by which ranks coordinate.
_FIRST_TAG = 18517


def group_tag(thread: int) -> int:
    """The tag of messages by which thread number `thread` of two ranks coordinate."""
    return _FIRST_TAG - 2 * thread


def timed_tag(thread: int) -> int:
    """The tag of timed messages between thread number `thread` of two ranks."""
    return _FIRST_TAG - 2 * thread - 1


@defaults(NO_DEBUGGER)
def select_library(library: Path | None) -> None:
    """Makes mpi4py load `library` when it is first imported; None leaves the choice to mpi4py.

    Debian's MPICH is called libmpich.so.12 inside and out, but mpi4py's wheel asks for
    libmpi.so.12. It gets an empty library of that name, built with halftrip. It finds the functions
    in the real one, which is loaded first, with its symbols visible to all libraries.
    """
    if library is None:
        return
    if library.name in ("libmpich.so.12", "libmpi_cray.so.12"):
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(Path(_native.__file__).with_name(_MPICH_SONAME)))
    else:
        os.environ[LIBRARY_VARIABLE] = str(library)


def no_mpi4py() -> str:
    """That mpi4py is not installed, and what does that."""
    return f"mpi4py is not installed; {install_command('mpi')}"


@defaults(NO_DEBUGGER)
def start(expected_size: int, threads: int = 1) -> MPI.Intracomm:
    """Initialises MPI, for calls from `threads` threads of this process, and returns COMM_WORLD.

    Not a duplicate of it: every additional communicator makes messages slower in some MPIs, and
    programs use COMM_WORLD. Tags keep timed messages apart from the group's own. Raises Unavailable
    if there is no MPI, or if it does not see the `expected_size` ranks of the job.
    """
    try:
        import mpi4py
    except ImportError:
        raise Unavailable(no_mpi4py()) from None
    # As MPI_Init does. Other threads of halftrip never call MPI, and any higher level costs time in
    # every call: in Open MPI 4 even MPI_THREAD_FUNNELED adds a third to a small message.
    mpi4py.rc.thread_level = "single" if threads == 1 else "multiple"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise Unavailable(f"no MPI library: {str(error).splitlines()[-1]}") from None
    size = MPI.COMM_WORLD.Get_size()
    if size != expected_size:
        raise Unavailable(
            f"the launcher started {expected_size} ranks but {library_version()} sees {size}: it "
            f"belongs to another MPI (name its library in {LIBRARY_VARIABLE}), or it is srun "
            "without --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)"
        )
    return MPI.COMM_WORLD


def full_version() -> str:
    """The version text of the loaded MPI library: several lines, for some."""
    from mpi4py import MPI

    return str(MPI.Get_library_version())


def library_version() -> str:
    """The name and version of the loaded MPI library, such as ``Open MPI v5.0.11``."""
    return short_version(full_version())


# What stands around the name and the version in the texts of MPICH, Intel, Cray and MVAPICH.
_AROUND_NAME = re.compile(
    r"^MPI VERSION\s*:|\(.*?\)|\bLibrary\b|\bversion\b\s*:?|\bfor Linux\S* OS\b", re.IGNORECASE
)


def short_version(text: str) -> str:
    """The name and version in the text of an MPI library, which is never without any."""
    first = text.strip().partition("\n")[0].partition(",")[0]
    return " ".join(_AROUND_NAME.sub(" ", first).split()) or "unnamed"


def library_path() -> str | None:
    """The file that has the MPI functions, if that is known."""
    return file_of(function_address("MPI_Send"))


def function_address(name: str) -> int:
    """The address of the MPI function `name` in the library that mpi4py has loaded. Raises
    Unavailable if there is none."""
    from mpi4py import MPI

    # First the dependencies of mpi4py's module, then the symbols that are visible to all libraries.
    for handle in (ctypes.CDLL(MPI.__file__), ctypes.CDLL(None)):
        function = getattr(handle, name, None)
        if function is not None:
            address = ctypes.cast(function, ctypes.c_void_p).value
            if address is not None:
                return address
    raise Unavailable(f"the MPI library has no {name}")


# The functions that a blocking endpoint calls after the one that sends, in the order of its
# arguments.
_BLOCKING = ("MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Wait")


def kind(name: str) -> Any:
    """The native type of that name for this MPI's handles: an int in MPICH and its relatives, a
    pointer in Open MPI and in MPI 5's own ABI."""
    from mpi4py import MPI

    kinds = {4: "Int", 8: "Pointer"}
    return getattr(_native, name + kinds[MPI._sizeof(MPI.Comm)])


# What a count of type int holds, and of MPI_Count, which MPI-4's functions that end in _c take.
INT_MAX, COUNT_MAX = 2**31 - 1, 2**63 - 1
_COUNTING = ("Send", "Ssend", "Recv", "Sendrecv", "Isend", "Irecv", "Send_init", "Recv_init")
_COUNTED = {f"MPI_{name}" for name in (*_COUNTING, "Put", "Get")}


@cache
def counts_to() -> int:
    """The longest message, bytes, that the library's functions can count."""
    try:
        function_address("MPI_Send_c")
    except Unavailable:
        return INT_MAX
    return COUNT_MAX


# Made once for each size and kept: types are few, and requests may outlive a configuration.
@cache
def contiguous(size: int) -> MPI.Datatype:
    """A type of which one element has so many bytes, more than an int counts, too."""
    from mpi4py import MPI

    return MPI.BYTE.Create_contiguous(size).Commit()


def addresses(names: Sequence[str], size: int = 0) -> list[int]:
    """The addresses of these functions, for messages of `size` bytes: where an int cannot count
    them, of those that can, if there are any. Raises Unavailable if the library lacks one."""
    end = "_c" if INT_MAX < size <= counts_to() else ""
    return [function_address(f"{each}{end if each in _COUNTED else ''}") for each in names]


def native_path(
    communicator: MPI.Intracomm | None,
    peer: int,
    tag: int,
    datatype: MPI.Datatype | None = None,
    size: int = 0,
) -> Any:
    """The native path to `peer`, for messages of up to `size` bytes. Those of this size are one
    element of `datatype`, all others plain bytes; None: all are."""
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
        most=INT_MAX if size <= INT_MAX else counts_to(),
    )


def blocking_end(path: Any, send: str = "MPI_Send", size: int = 0) -> Any:
    """A native endpoint over a native path, whose messages, of up to `size` bytes, are sent by the
    function `send`."""
    return kind("Mpi")(path, addresses((send, *_BLOCKING), size))
