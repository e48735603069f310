"""Kinds of memory from another package: one file each is all that is needed."""

import sys

import pytest

from harness.limits import until
from harness.mpi import quick_start
from harness.packages import install

QUICK = ("-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate", "--verify")

# What a trial runs.
MODULE = "-m halftrip.transports.device_pointers"
# Memory that the processor reaches, of devices with names.
MAPPED = """
from halftrip.errors import Unavailable
from halftrip.memory.allocator import Memory
from halftrip.memory.host import HOST


class MappedMemory(Memory):
    of_host = True

    def __init__(self, device):
        if device not in ("", "tmp"):
            raise Unavailable(f"no folder is called {device}")

    def missing(self, pages):
        return None

    def available(self):
        return 1 << 30

    def allocate(self, size, pages):
        return HOST.allocate(size, "4K")
"""

# What only the plug-in reaches, as far as halftrip knows; an MPI library takes its pointers.
FAR = """
from example_mapped import MappedMemory
from halftrip.memory.allocator import Region
from halftrip.memory.host import HOST


class FarMemory(MappedMemory):
    of_host = False

    def __init__(self, device):
        self.device = device

    def allocate(self, size, pages):
        return FarRegion(size)


class FarRegion(Region):
    def __init__(self, size):
        self._kept = HOST.allocate(size, "4K")
        self.pointer = self._kept.pointer
        self.size = size

    def write(self, data):
        self._kept.write(data)

    def read(self, data):
        self._kept.read(data)

    def array(self, offset, size):
        return self._kept.array(offset, size)
"""
# What is never done with its trial.
SLOW = """
import sys
import time

from example_arrays import FarMemory


class SlowMemory(FarMemory):
    def __init__(self, device):
        if "device_pointers" in sys.argv[0]:
            open("begun", "w").close()
            time.sleep(60)
"""
CARELESS = "class Kind:\n    of_host = True\n    def __init__(self, device): 1 / 0\n"

MODULES = {
    "mapped": (MAPPED, "MappedMemory"),
    "arrays": (FAR, "FarMemory"),
    "slow": (SLOW, "SlowMemory"),
    "careless": (CARELESS, "Kind"),
}


@pytest.fixture
def installed(shell):
    """The environment in which the kinds are found."""
    return install(shell.directory, "halftrip.memory", MODULES) | quick_start("wheel")


@pytest.mark.extended
def test_memory_that_the_processor_reaches_is_for_every_transport(shell, installed):
    result = shell.measure(
        *("-t", "mpi,shm,tcp,mpi4py", "--memory", "mapped,host:mapped@tmp,mapped@attic"),
        *("-s", "8,10001", "-p", "pingpong,stream", "-W", "3", *QUICK),
        **installed,
    )
    assert result.reasons() == {"--memory mapped@attic: no folder is called attic"}
    assert not result.run.failures
    memories, transports = ("mapped", "host:mapped@tmp"), ("mpi", "shm", "tcp", "mpi4py")
    assert result.cells("transport", "memory") == {(t, m) for t in transports for m in memories}
    assert all(measurement.verified for measurement in result.run.measurements)
    # The table has it, also where the package is not installed.
    assert "host:mapped@tmp" in result.out
    assert "host:mapped@tmp" in result.show().out


@pytest.mark.extended
def test_memory_that_the_processor_does_not_reach_is_for_mpi(shell, installed):
    """Which is tried first, as it cannot be asked about this kind."""
    result = shell.measure(
        *("-t", "mpi,mpi4py,shm", "--memory", "arrays@3,host:arrays", "-s", "8,10001"),
        *("-p", "pingpong,stream", "-W", "3", *QUICK),
        **installed,
    )
    assert not result.run.failures
    expected = {(t, m) for t in ("mpi", "mpi4py") for m in ("arrays@3", "host:arrays")}
    assert result.cells("transport", "memory") == expected
    assert all(measurement.verified for measurement in result.run.measurements)
    assert result.reasons() == {"native code does not know how to copy from and to this memory"}


@pytest.mark.extended
def test_a_trial_ends_with_its_process(shell, installed):
    """Whatever kills that: no launcher sees to it here."""
    code = "from halftrip.transports import device_pointers; device_pointers._trial('slow')"
    # As in a job: what Open MPI leaves when it is killed goes with the folder.
    segments = {"OMPI_MCA_btl_sm_backing_directory": str(shell.directory)}
    trying = shell.start(sys.executable, "-c", code, environment=installed | segments)

    def trials():
        return [pid for pid, words in shell.marked.processes().items() if MODULE in words]

    begun = shell.directory / "begun"
    until(lambda: begun.exists() or trying.poll() is not None)
    assert begun.exists()
    assert trials()
    trying.kill()
    until(lambda: not trials(), seconds=10)


def test_one_that_fails_is_a_mistake_in_one_line(shell, installed):
    """As it is of a transport that cannot be loaded."""
    result = shell.run("-t", "shm", "--memory", "host,careless", "-s", "8", *QUICK, **installed)
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert line.startswith("halftrip: halftrip.memory 'careless'")
    assert line.endswith("ZeroDivisionError: division by zero")
