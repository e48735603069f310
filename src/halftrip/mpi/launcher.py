"""Finds an mpiexec, and the MPI library that belongs to it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from halftrip.errors import Unavailable, UsageError

Family = Literal["openmpi", "mpich"]

# The library that mpi4py's wheels ask the loader for, and the file names that it may have instead.
_LIBRARY_NAMES: dict[Family, tuple[str, ...]] = {
    "openmpi": ("libmpi.so.40", "libmpi.so"),
    "mpich": ("libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi.so"),
}


class Mpiexec(NamedTuple):
    """A launcher of MPI jobs: its command, with the arguments that the user gave, and the family
    and the library of its MPI. `library` is None if none was found beside it: mpi4py then
    chooses."""

    command: tuple[str, ...]
    family: Family | None
    library: Path | None


def find_mpiexec(requested: str | None = None) -> Mpiexec:
    """The mpiexec to use: `requested`, or the one beside this Python, or the first on the PATH.

    Raises UsageError if `requested` is not a program, Unavailable if there is no mpiexec.
    """
    if requested is not None:
        command = [requested]
        if shutil.which(requested) is None:
            # No program by that whole name, which may have blanks: words of a command.
            try:
                command = shlex.split(requested)
            except ValueError as error:
                raise UsageError(f"--mpiexec: {requested!r}: {str(error).lower()}") from None
        program = shutil.which(command[0]) if command else None
        if program is None:
            raise UsageError(f"--mpiexec: {requested!r} is not a program that can be run")
        return _examine((program, *command[1:]))
    for directory in (os.path.dirname(sys.executable), None):
        program = shutil.which("mpiexec", path=directory)
        if program is not None:
            return _examine((program,))
    raise Unavailable("no mpiexec beside this Python or on the PATH")


def _examine(command: tuple[str, ...]) -> Mpiexec:
    family = _family(command[0])
    library = library_beside(Path(command[0]), family) if family else None
    return Mpiexec(command, family, library)


def _family(program: str) -> Family | None:
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = (answer.stdout + answer.stderr).lower()
    if any(name in version for name in ("open mpi", "openrte", "prrte", "open-mpi")):
        return "openmpi"
    if any(name in version for name in ("hydra", "mpich", "intel(r) mpi")):
        return "mpich"
    return None


def library_beside(program: Path, family: Family) -> Path | None:
    """The MPI library that was installed together with `program`, judging by their directories."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or "x86_64-linux-gnu"
    # First beside its name, then beside its file: /usr/bin may have a link to another directory.
    for path in (program, program.resolve()):
        prefix = path.parent.parent
        for directory in (prefix / "lib", prefix / "lib64", prefix / "lib" / multiarch):
            for name in _LIBRARY_NAMES[family]:
                # Where several MPIs share a directory, libmpi.so may belong to any of them.
                if os.path.exists(directory / name) and not _is_other(directory / name, family):
                    return directory / name
    return None


def _is_other(library: Path, family: Family) -> bool:
    """Whether a file called libmpi.so, which every MPI has, belongs to the other family."""
    if library.name != "libmpi.so":
        return False
    return ("libmpi.so.40" in library.resolve().name) != (family == "openmpi")


# Ranks pin themselves, and a machine with fewer cores than ranks is flagged, not refused.
_ARGUMENTS: dict[Family | None, dict[str, str]] = {
    "openmpi": {"--bind-to": "none", "--map-by": ":OVERSUBSCRIBE"},
    "mpich": {"-bind-to": "none"},
    None: {},
}


def full_command(mpiexec: Mpiexec) -> tuple[str, ...]:
    """Its command with the options that halftrip needs, except for those that the user gave."""
    added = _ARGUMENTS[mpiexec.family].items()
    return mpiexec.command + tuple(
        word for option in added if option[0] not in mpiexec.command for word in option
    )


# Where Linux lists network cards of the kinds that Open MPI's component btl/ofi can use.
_FABRICS = ("/sys/class/infiniband", "/sys/class/cxi", "/sys/class/hfi1")
_COMPONENTS = "OMPI_MCA_btl"
# Files of Open MPI's parameters, below a home directory and below the directory of an installation.
_PARAMETERS = (".openmpi/mca-params.conf", "etc/openmpi-mca-params.conf")


def quick_start(
    mpiexec: Mpiexec, environ: Mapping[str, str], fabrics: Sequence[str] = _FABRICS
) -> dict[str, str]:
    """Variables with which ranks on this host start sooner, and talk over the same components: Open
    MPI 5 sleeps for a second where it gives up btl/ofi, as it does on every host without a network
    card for it. Empty where there is such a card, and where somebody has chosen components."""
    if mpiexec.family != "openmpi" or _COMPONENTS in environ:
        return {}
    if any(os.path.isdir(path) and os.listdir(path) for path in fabrics):
        return {}
    installation = Path(mpiexec.command[0]).resolve().parent.parent
    for directory, name in zip((Path("~"), installation), _PARAMETERS, strict=True):
        try:
            text = Path(os.path.expanduser(directory / name)).read_text(errors="replace")
        except OSError:
            continue
        if re.search(r"^\s*btl\s*=", text, re.MULTILINE):
            return {}
    return {_COMPONENTS: "^ofi"}


# Set by schedulers under which an mpiexec may put ranks on other hosts without an argument, and by
# users who name a file of hosts.
_SPANNING_VARIABLES = (
    *("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_URI"),
    *("HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"),
)
# Options that say nothing about hosts, and options that name them, without the dashes, of which
# there may be one or two.
_LOCAL_OPTIONS = {
    *("bind-to", "map-by", "rank-by", "oversubscribe", "use-hwthread-cpus", "report-bindings"),
    *("n", "np", "x", "env", "genv", "q", "quiet", "v", "verbose", "allow-run-as-root"),
}
_HOST_OPTIONS = {"host", "hosts", "H"}


def may_span_hosts(mpiexec: Mpiexec, environ: Mapping[str, str]) -> bool:
    """Whether it may start ranks on other hosts than this: True unless all of its arguments are
    known to say nothing else."""
    if any(name in environ for name in _SPANNING_VARIABLES):
        return True
    here = {"localhost", "127.0.0.1", socket.gethostname()}
    option = ""
    for word in mpiexec.command[1:]:
        if word.startswith("-"):
            option, _, value = word.lstrip("-").partition("=")
            if option not in _LOCAL_OPTIONS | _HOST_OPTIONS:
                return True
        else:
            value = word
        if option not in _LOCAL_OPTIONS and value:
            hosts = {host.partition(":")[0] for host in value.split(",")}
            if not hosts <= here:
                return True
    return False


def root_environment() -> dict[str, str]:
    """The variables with which Open MPI lets root start jobs: most containers run as root."""
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
