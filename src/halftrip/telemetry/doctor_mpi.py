"""Which MPI is there, and through which of its components two ranks would talk.

The surest way to know is to start two ranks and look: each of them runs
``python -m halftrip.telemetry.doctor_mpi``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from halftrip.errors import Unavailable
from halftrip.mpi import launcher, library
from halftrip.telemetry.doctor import Check

_NAME = "MPI"
_SECONDS = 60
_INSTALL = "pip install 'halftrip[mpi]'"
# Makes each MPI say what it chooses: Open MPI in its log, MPICH in a summary.
_TALKATIVE = {
    "OMPI_MCA_pml_base_verbose": "10",
    "OMPI_MCA_btl_base_verbose": "10",
    "MPIR_CVAR_DEBUG_SUMMARY": "1",
}
_MARK = "halftrip finds "


def check() -> Check:
    """Starts two ranks with the mpiexec that a run would use."""
    if importlib.util.find_spec("mpi4py") is None:
        return Check(_NAME, "warning", "mpi4py is not installed", _INSTALL)
    try:
        mpiexec = launcher.find_mpiexec()
    except Unavailable as error:
        return Check(_NAME, "warning", str(error), f"{_INSTALL}, or name one with --mpiexec")
    command = (*launcher.full_command(mpiexec), "-n", "2", sys.executable, "-m")
    path = (str(mpiexec.library),) if mpiexec.library is not None else ()
    try:
        answer = subprocess.run(
            (*command, "halftrip.telemetry.doctor_mpi", *path),
            env=os.environ | launcher.root_environment() | _TALKATIVE,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        found = f"{mpiexec.command[0]} started no ranks within {_SECONDS} s"
        return Check(_NAME, "warning", found, "try it with a small MPI program")
    said = answer.stdout + answer.stderr
    versions = re.findall(rf"{_MARK}(.+)", said)
    if answer.returncode != 0 or not versions:
        words = [line.strip() for line in said.splitlines() if re.search(r"[A-Za-z]{3}", line)]
        found = f"{mpiexec.command[0]} fails" + (f": {words[-1]}" if words else "")
        return Check(_NAME, "warning", found, "try it with a small MPI program")
    return Check(_NAME, "ok", f"{versions[0]}, {mpiexec.command[0]}{components(said)}")


def components(said: str) -> str:
    """The components that a talkative MPI names, as ``; pml ob1, btl self sm``; empty if none."""
    parts = []
    chosen = sorted(set(re.findall(r"select: component (\w+) selected", said)))
    if chosen:
        parts.append(f"pml {' '.join(chosen)}")
        transfers = sorted(set(re.findall(r"init of component (\w+) returned success", said)))
        parts.append(f"btl {' '.join(name for name in transfers if name not in chosen)}")
    device = re.search(r"MPICH Device:\s*(\S+)", said)
    if device is not None:
        parts.append(f"device {device[1]}")
    provider = re.search(r"provider(?:_name)?:\s*(\S+)", said)
    if provider is not None:
        parts.append(f"provider {provider[1]}")
    return f"; {', '.join(parts)}" if parts else ""


def _say() -> None:
    """What a rank runs."""
    library.select_library(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    communicator = library.start(2)
    if communicator.Get_rank() == 0:
        print(f"{_MARK}{library.library_version()}")
        print(library.full_version())
    communicator.Barrier()


if __name__ == "__main__":
    _say()
