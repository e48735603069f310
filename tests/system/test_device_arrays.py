"""mpi4py's calls with arrays in a device's memory. CuPy is played by a module that reaches the
stand-in's memory as its own: it proves halftrip's calls, not CuPy's."""

import json

import pytest

from harness.choice import extended
from harness.cuda import stand_in
from harness.mpi import quick_start

QUICK = ("-i", "20", "--warmup", "2", "--slices", "1", "--no-message-rate", "--verify")

CUPY = '''
import ctypes

import numpy as np


class ndarray:
    """Bytes at an address. Like CuPy's, it has no buffer protocol, and refuses arrays of numpy."""

    def __init__(self, size, address, owner):
        self.size = size
        self.address = address
        self.owner = owner

    @property
    def _bytes(self):
        return np.ctypeslib.as_array((ctypes.c_ubyte * self.size).from_address(self.address))

    @property
    def __cuda_array_interface__(self):
        data = (self.address, False)
        return {"shape": (self.size,), "typestr": "|u1", "data": data, "version": 3}

    def __array__(self, *arguments, **names):
        raise TypeError("implicit conversion to a numpy array is not allowed")

    def __setitem__(self, where, value):
        if not isinstance(value, ndarray):
            raise TypeError(f"unsupported type {type(value)}")
        assert where is Ellipsis
        self._bytes[:] = value._bytes

    def get(self):
        return self._bytes.copy()

    def __reduce__(self):
        return _from_host, (self.get(),)


def _from_host(array):
    kept = array.copy()
    return ndarray(kept.size, kept.ctypes.data, kept)


def asarray(given):
    if isinstance(given, ndarray):
        return given
    interface = getattr(given, "__cuda_array_interface__", None)
    if interface is None:
        return _from_host(given)
    (size,), (address, _) = interface["shape"], interface["data"]
    return ndarray(size, address, given)
'''


@pytest.fixture
def measure(shell, cuda_libraries):
    """Runs mpi4py-object between memory that the module above reaches."""

    def run(*arguments, has_cupy=True):
        environment = stand_in(cuda_libraries, readable=1) | quick_start("wheel")
        if has_cupy:
            (shell.directory / "cupy.py").write_text(CUPY)
            environment["PYTHONPATH"] = str(shell.directory)
        return shell.run(
            *("-t", "mpi4py-object", "-s", "8,10001", *arguments, *QUICK), **environment
        )

    return run


@pytest.mark.parametrize(
    ("mode", "patterns"),
    [
        ("blocking", "pingpong,stream,exchange,pingping"),
        *extended(("nonblocking", "pingpong,bidirectional"), ("ssend", "stream")),
    ],
)
def test_arrays_of_a_device_are_pickled(measure, mode, patterns):
    memories = "cuda,host:cuda,cuda@1:host"
    result = measure(
        "--object", "array", "--memory", memories, "--mode", mode, "-p", patterns, "-W", "3"
    )
    assert result.status == 0, result.err
    rows = json.loads(result.show("--format", "json").out)["rows"]
    assert len(rows) == 2 * 3 * len(patterns.split(","))
    assert not result.run.failures
    assert not result.run.skips


@pytest.mark.extended
def test_without_cupy_there_are_no_such_arrays(measure):
    result = measure("--object", "array", "--memory", "host,host:cuda", has_cupy=False)
    assert result.status == 0, result.err
    reasons = {skip.reason for skip in result.run.skips}
    assert reasons == {"arrays in a device's memory are CuPy's: No module named 'cupy'"}
    assert {row["memory"] for row in result.rows()} == {"host"}


@pytest.mark.extended
def test_only_an_array_is_in_the_memory_of_a_device(measure):
    result = measure("--object", "bytes,array", "--memory", "cuda")
    assert result.status == 0, result.err
    assert {row["object"] for row in result.rows()} == {"array"}
    reasons = {skip.reason for skip in result.run.skips}
    assert reasons == {"--object bytes: only an array is in a device's memory"}
