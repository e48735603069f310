"""Which MPI is installed, and which of its components carry messages between two ranks.

The surest way to know is to start two ranks: each runs ``python -m halftrip.telemetry.doctor_mpi``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from halftrip.errors import Unavailable
from halftrip.interpreter import RUN_MODULE, install_command
from halftrip.mpi import launcher, library
from halftrip.telemetry.doctor import Check

_NAME = "MPI"
_TIMEOUT_SECONDS = 60
# Makes each MPI print the components that it chooses: Open MPI in its log, MPICH in a summary.
_VERBOSE = {
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "10",
    "MPIR_CVAR_DEBUG_SUMMARY": "1",
}
# Begins the line with the version, among all that an MPI prints.
_VERSION_MARK = "halftrip finds "


def check() -> Check:
    """Starts two ranks with the mpiexec that a run would use."""
    if importlib.util.find_spec("mpi4py") is None:
        said, advice = "mpi4py is not installed", "install it"
        return Check(_NAME, "warning", said, advice, commands=[install_command("mpi")])
    try:
        mpiexec = launcher.find_mpiexec()
    except Unavailable as error:
        advice = "name one with --mpiexec, or install one"
        return Check(_NAME, "warning", str(error), advice, commands=[install_command("mpi")])
    command = (*launcher.full_command(mpiexec), "-n", "2", *RUN_MODULE)
    path = (str(mpiexec.library),) if mpiexec.library is not None else ()
    try:
        ranks = subprocess.run(
            (*command, "halftrip.telemetry.doctor_mpi", *path),
            env=os.environ | launcher.root_environment() | _VERBOSE,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        found = f"{mpiexec.command[0]} started no ranks within {_TIMEOUT_SECONDS} s"
        return Check(_NAME, "warning", found, "try it with a small MPI program")
    output = ranks.stdout + ranks.stderr
    versions = re.findall(rf"{_VERSION_MARK}(.+)", output)
    if ranks.returncode != 0 or not versions:
        # The last line with words in it, not a frame around a message.
        lines = [line.strip() for line in output.splitlines() if re.search(r"[A-Za-z]{3}", line)]
        found = f"{mpiexec.command[0]} fails" + (f": {lines[-1]}" if lines else "")
        return Check(_NAME, "warning", found, "try it with a small MPI program")
    return Check(_NAME, "ok", f"{versions[0]}, {mpiexec.command[0]}{components(output)}")


def components(output: str) -> str:
    """The components that an MPI names in its output, as ``; pml ob1, btl self sm``; empty if
    none."""
    parts = []
    chosen = sorted(set(re.findall(r"select: component (\w+) selected", output)))
    if chosen:
        parts.append(f"pml {' '.join(chosen)}")
        transfers = sorted(set(re.findall(r"init of component (\w+) returned success", output)))
        parts.append(f"btl {' '.join(name for name in transfers if name not in chosen)}")
    device = re.search(r"MPICH Device:\s*(\S+)", output)
    if device is not None:
        parts.append(f"device {device[1]}")
    provider = re.search(r"provider(?:_name)?:\s*(\S+)", output)
    if provider is not None:
        parts.append(f"provider {provider[1]}")
    return f"; {', '.join(parts)}" if parts else ""


def _print_library() -> None:
    """Starts MPI on one of the two ranks; rank 0 prints which it is."""
    library.select_library(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    communicator = library.start(2)
    if communicator.Get_rank() == 0:
        print(f"{_VERSION_MARK}{library.library_version()}")
        print(library.full_version())
    communicator.Barrier()


if __name__ == "__main__":
    _print_library()
