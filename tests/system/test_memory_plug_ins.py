"""Kinds of memory from another package: one file each is all that is needed."""

import json
import sys
import time

import pytest

from harness.cuda import stand_in
from harness.mpi import quick_start
from harness.vector_engine import NLCPY, example

QUICK = ("-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate", "--verify")

# What a trial runs.
MODULE = "-m halftrip.transports.device_pointers"
# A file that is mapped, which the processor reaches.
MAPPED = """
import mmap
import tempfile

import numpy as np

from halftrip.errors import Unavailable
from halftrip.memory.allocator import HostRegion, Memory

_ROOM = 1 << 30


class MappedMemory(Memory):
    of_host = True

    def __init__(self, device):
        self.folder = {"": "/dev/shm", "tmp": None}.get(device, device)
        if device not in ("", "tmp"):
            raise Unavailable(f"no folder is called {device}")

    def missing(self, pages):
        return "--pages huge: files have pages of 4 KiB" if pages == "huge" else None

    def available(self):
        return _ROOM

    def allocate(self, size, pages):
        with tempfile.TemporaryFile(dir=self.folder) as file:
            file.truncate(max(size, 1))
            mapped = np.frombuffer(mmap.mmap(file.fileno(), 0), dtype=np.uint8)
        mapped[:] = 0xA5
        return HostRegion(mapped[:size])
"""

# What only the plug-in reaches, as far as halftrip knows; an MPI library takes its pointers.
FAR = """
import mmap

import numpy as np

from halftrip.memory.allocator import Memory, Region
from halftrip.memory.host import HOST


class FarMemory(Memory):
    def __init__(self, device):
        self.device = device

    def missing(self, pages):
        return None

    def available(self):
        return 1 << 30

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
"""
WITH_ARRAYS = """
    def array(self, offset, size):
        return self._kept.array(offset, size)
"""
# What knows itself whether an MPI library takes its pointers; it cannot be tried.
KNOWING = """
import sys

from example_arrays import FarMemory
from halftrip.errors import Unavailable


class KnowingMemory(FarMemory):
    def __init__(self, device):
        if "device_pointers" in sys.argv[0]:
            raise Unavailable("tried")
        self.taken_by_mpi = {"yes": True, "no": False}.get(device)
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
# Memory of a CUDA device, by what halftrip has for such.
STAGED = """
from halftrip.memory.cuda import CudaMemory


class StagedMemory(CudaMemory):
    pass
"""
# What a module has in it (None: there is none), and the end of the line that says what is wrong.
BROKEN = {
    "lost": (None, "cannot be loaded: No module named 'example_lost'"),
    "renamed": ("", "cannot be loaded: module 'example_renamed' has no attribute 'Kind'"),
    "faulty": ("1 / 0\n", "cannot be loaded: ZeroDivisionError: division by zero"),
    "careless": (
        "class Kind:\n    of_host = True\n    def __init__(self, device): 1 / 0\n",
        "ZeroDivisionError: division by zero",
    ),
}


@pytest.fixture
def installed(shell):
    """The environment in which the kinds are found, as an installer makes it."""
    modules = {
        "mapped": (MAPPED, "MappedMemory"),
        "far": (FAR, "FarMemory"),
        "arrays": (FAR + WITH_ARRAYS, "FarMemory"),
        "slow": (SLOW, "SlowMemory"),
        "knowing": (KNOWING, "KnowingMemory"),
        "staged": (STAGED, "StagedMemory"),
        "ve": (example(), "VectorEngineMemory"),
    } | {name: (code, "Kind") for name, (code, _) in BROKEN.items()}
    lines = ["[halftrip.memory]"]
    for name, (code, kind) in modules.items():
        lines.append(f"{name} = example_{name}:{kind}")
        if code is not None:
            (shell.directory / f"example_{name}.py").write_text(code)
    information = shell.directory / "example-1.0.dist-info"
    information.mkdir()
    metadata = "Metadata-Version: 2.1\nName: example\nVersion: 1.0\n"
    (information / "METADATA").write_text(metadata)
    (information / "entry_points.txt").write_text("\n".join([*lines, ""]))
    return {"PYTHONPATH": str(shell.directory)} | quick_start("wheel")


def rows(result, *columns):
    found = json.loads(result.show("--format", "json").out)["rows"]
    return {tuple(row[column] for column in columns) for row in found}


def reasons(result):
    return {skip.reason for skip in result.run.skips}


def test_memory_that_the_processor_reaches_is_for_every_transport(shell, installed):
    result = shell.run(
        *("-t", "mpi,shm,tcp,mpi4py", "--memory", "mapped,host:mapped@tmp", "-s", "8,10001"),
        *("-p", "pingpong,stream", "-W", "3", *QUICK),
        **installed,
    )
    assert result.status == 0, result.err
    assert not result.run.skips
    assert not result.run.failures
    memories, transports = ("mapped", "host:mapped@tmp"), ("mpi", "shm", "tcp", "mpi4py")
    assert rows(result, "transport", "memory") == {(t, m) for t in transports for m in memories}
    assert all(measurement.verified for measurement in result.run.measurements)
    # The table has it, also where the package is not installed.
    assert "host:mapped@tmp" in result.out
    assert "host:mapped@tmp" in result.show().out


@pytest.mark.extended
def test_what_it_says_of_itself_is_the_reason(shell, installed):
    result = shell.run(
        *("-t", "shm", "--memory", "host,mapped,mapped@attic", "--pages", "4K,huge", "-s", "8"),
        *QUICK,
        **installed,
    )
    assert result.status == 0, result.err
    found = reasons(result)
    assert "--memory mapped@attic: no folder is called attic" in found
    assert "--pages huge: files have pages of 4 KiB" in found
    assert ("mapped", "4K") in rows(result, "memory", "pages")


def test_memory_that_the_processor_does_not_reach_is_for_mpi(shell, installed):
    """Which is tried first, as it cannot be asked about this kind."""
    result = shell.run(
        *("-t", "mpi,mpi4py,shm", "--memory", "arrays@3,host:arrays", "-s", "8,10001"),
        *("-p", "pingpong,stream", "-W", "3", *QUICK),
        **installed,
    )
    assert result.status == 0, result.err
    assert not result.run.failures
    expected = {(t, m) for t in ("mpi", "mpi4py") for m in ("arrays@3", "host:arrays")}
    assert rows(result, "transport", "memory") == expected
    assert all(measurement.verified for measurement in result.run.measurements)
    assert reasons(result) == {"native code does not know how to copy from and to this memory"}


@pytest.mark.extended
def test_what_it_knows_of_mpi_is_not_tried(shell, installed):
    result = shell.run(
        *("-t", "mpi", "--memory", "knowing@yes,knowing@no,knowing", "-s", "8", *QUICK), **installed
    )
    assert result.status == 0, result.err
    assert rows(result, "memory") == {("knowing@yes",)}
    (refused, tried) = sorted(reasons(result), reverse=True)
    assert refused.startswith("--memory knowing@no: Open MPI v")
    assert refused.endswith(" does not take its pointers, as knowing says")
    assert tried.startswith("--memory knowing: Open MPI v")
    assert tried.endswith(" does not take its pointers: tried")


def test_a_trial_ends_with_its_process(shell, installed):
    """Whatever kills that: no launcher sees to it here."""
    code = "from halftrip.transports import device_pointers; device_pointers._trial('slow')"
    trying = shell.start(sys.executable, "-c", code, environment=installed)

    def trials():
        return [pid for pid, words in shell.marked.processes().items() if MODULE in words]

    begun = shell.directory / "begun"
    for _ in range(1200):
        if begun.exists() or trying.poll() is not None:
            break
        time.sleep(0.05)
    assert begun.exists()
    assert trials()
    trying.kill()
    for _ in range(200):
        if not trials():
            break
        time.sleep(0.05)
    assert not trials()


@pytest.mark.extended
def test_without_arrays_it_is_for_native_calls_alone(shell, installed):
    result = shell.run(
        *("-t", "mpi,mpi4py,mpi4py-object", "--object", "array", "--memory", "host,far"),
        *("-s", "8", *QUICK),
        **installed,
    )
    assert result.status == 0, result.err
    assert rows(result, "transport", "memory") == {
        *(("mpi", memory) for memory in ("host", "far")),
        *((transport, "host") for transport in ("mpi4py", "mpi4py-object")),
    }
    assert reasons(result) == {
        "this memory has no arrays that a library for Python takes",
        "--memory far: only an array in a CUDA device's memory is pickled",
    }


@pytest.mark.extended
def test_one_with_a_stage_is_for_every_byte_stream(shell, installed, cuda_libraries):
    result = shell.run(
        *("-t", "tcp,shm,mpi", "--memory", "staged@1,host:staged", "--staging", "whole,chunk=4K"),
        *("-s", "8,10001", *QUICK),
        **installed,
        **stand_in(cuda_libraries),
    )
    assert result.status == 0, result.err
    assert not result.run.skips
    assert not result.run.failures
    assert len(rows(result, "transport", "memory", "staging_bytes", "size_bytes")) == 24


@pytest.mark.extended
def test_the_example_of_a_vector_engine_measures(shell, installed):
    """With a module that plays nlcpy, whose arrays are in the host's memory."""
    (shell.directory / "nlcpy.py").write_text(NLCPY)
    result = shell.run(
        *("mpi4py-ve", "-t", "mpi4py,mpi", "--memory", "host,host:ve,ve,ve@0:ve@7"),
        *("-s", "8,10001", "--style", "mpi4py-ve", "--buffers", "separate", "--verify"),
        **installed,
    )
    assert result.status == 0, result.err
    assert not result.run.failures
    expected = {(t, m) for t in ("mpi4py", "mpi") for m in ("host", "host:ve", "ve")}
    assert rows(result, "transport", "memory") == expected
    assert all(measurement.verified for measurement in result.run.measurements)
    assert reasons(result) == {"--memory ve@7: no Vector Engine: list index out of range"}
    assert result.out.count("'dev1': 'vh', 'dev2': 've'") == 2
    assert result.out.count("'dev1': 've', 'dev2': 've'") == 2


@pytest.mark.parametrize(
    "name",
    [
        name if name == "careless" else pytest.param(name, marks=pytest.mark.extended)
        for name in BROKEN
    ],
)
def test_one_that_fails_is_a_mistake_in_one_line(shell, installed, name):
    _, said = BROKEN[name]
    result = shell.run("-t", "shm", "--memory", f"host,{name}", "-s", "8", *QUICK, **installed)
    assert (result.status, result.out) == (2, "")
    (line,) = result.err.splitlines()
    assert line.startswith(f"halftrip: halftrip.memory '{name}'")
    assert line.endswith(said)


def test_a_kind_that_is_not_there_is_named(shell):
    result = shell.run("-t", "shm", "--memory", "veram@0", "-s", "8")
    assert (result.status, result.out) == (2, "")
    assert result.err.startswith("halftrip: --memory: 'veram' is not known")
