"""The MPI library, found at run time: which one is loaded, its start, and its functions."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING

from halftrip import _native
from halftrip.errors import Unavailable

if TYPE_CHECKING:
    from mpi4py import MPI

_MPICH_SONAME = "libmpi.so.12"
# The variable by which mpi4py is told which library to load.
LIBRARY_VARIABLE = "MPI4PY_LIBMPI"
# Unlikely to be anybody else's. Timed messages have the one before it; a rank's second thread has
# the one before that, and so on.
GROUP_TAG = 18517
TIMED_TAG = GROUP_TAG - 1


def select_library(library: Path | None) -> None:
    """Makes mpi4py load `library` when it is first imported; None leaves the choice to mpi4py.

    Debian's MPICH is called libmpich.so.12 inside and out, but mpi4py's wheel asks for
    libmpi.so.12. An empty library of that name, built with halftrip, answers the question, and the
    functions are found in the real one, which is loaded before and for all to see.
    """
    if library is None:
        return
    if library.name in ("libmpich.so.12", "libmpi_cray.so.12"):
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        ctypes.CDLL(str(Path(_native.__file__).with_name(_MPICH_SONAME)))
    else:
        os.environ[LIBRARY_VARIABLE] = str(library)


def start(expected_size: int | None, threads: int = 1) -> MPI.Intracomm:
    """Initialises MPI, for so many threads of this process, and returns COMM_WORLD, which holds
    `expected_size` ranks.

    Not a duplicate of it: every communicator more makes messages slower in some MPIs, and it is
    COMM_WORLD that programs use. Tags keep what is timed (TIMED_TAG) apart from the group's own
    messages (GROUP_TAG). Raises Unavailable if there is no MPI, or if it does not see
    the job that it was started in.
    """
    try:
        import mpi4py
    except ImportError:
        raise Unavailable("mpi4py is not installed; pip install 'halftrip[mpi]'") from None
    # As MPI_Init does. Other threads of ours never call MPI, and any higher level costs time in
    # every call: in Open MPI 4 even MPI_THREAD_FUNNELED adds a third to a small message.
    mpi4py.rc.thread_level = "single" if threads == 1 else "multiple"
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise Unavailable(f"no MPI library: {str(error).splitlines()[-1]}") from None
    size = MPI.COMM_WORLD.Get_size()
    if expected_size is not None and size != expected_size:
        raise Unavailable(
            f"the launcher started {expected_size} ranks but {library_version()} sees {size}: it "
            f"belongs to another MPI (name its library in {LIBRARY_VARIABLE}), or it is srun "
            "without --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH)"
        )
    return MPI.COMM_WORLD


def library_says() -> str:
    """All that the loaded MPI library says of itself: several lines, for some."""
    from mpi4py import MPI

    return str(MPI.Get_library_version())


def library_version() -> str:
    """The first line of what the loaded MPI library says of itself, as ``Open MPI v5.0.11``."""
    first = library_says().splitlines()[0]
    return " ".join(first.partition(",")[0].replace("Version:", "").split())


def library_path() -> str | None:
    """The file from which the MPI functions come."""

    class Info(ctypes.Structure):
        _fields_ = (
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("address", ctypes.c_void_p),
        )

    info = Info()
    dladdr = ctypes.CDLL(None).dladdr
    found = dladdr(ctypes.c_void_p(function_address("MPI_Send")), ctypes.byref(info))
    return os.fsdecode(info.file) if found and info.file else None


def function_address(name: str) -> int:
    """Where the MPI function `name` is in the library that mpi4py has loaded."""
    from mpi4py import MPI

    # The module's own dependencies first; then what is loaded for all to see.
    for handle in (ctypes.CDLL(MPI.__file__), ctypes.CDLL(None)):
        function = getattr(handle, name, None)
        if function is not None:
            address = ctypes.cast(function, ctypes.c_void_p).value
            if address is not None:
                return address
    raise Unavailable(f"the MPI library has no {name}")
