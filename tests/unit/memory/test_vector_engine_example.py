"""The example of docs/memory.md, a kind of memory of another package, with a module that plays
nlcpy. Like nlcpy's, its arrays have no bytes, and what is written to them happens when the engine
is synchronised."""

import mmap
import re
import sys
import types

import numpy as np
import pytest

from halftrip.errors import Unavailable
from harness.files import ROOT

NLCPY = """
import numpy as np


class Engine:
    status = {"main_total_memsize": 1 << 32, "main_mem_used": 1 << 30}

    def __init__(self):
        self.connected = False
        self.requests = []

    def connect(self):
        self.connected = True

    def __enter__(self):
        assert self.connected
        return self

    def __exit__(self, *error):
        pass

    def synchronize(self):
        for request in self.requests:
            request()
        self.requests.clear()


class venode:
    _engines = [Engine(), Engine()]

    @classmethod
    def VE(cls, number):
        return cls._engines[number]


class Array:
    def __init__(self, content):
        if content.dtype.itemsize < 4:
            raise TypeError(f"dtype '{content.dtype}' is not supported.")
        self._content = content

    @property
    def __ve_array_interface__(self):
        return {"data": (self._content.ctypes.data, False), "shape": self._content.shape}

    def __getitem__(self, where):
        return Array(self._content[where])

    def __setitem__(self, where, value):
        values = value._content.copy()
        venode._engines[0].requests.append(lambda: self._content.__setitem__(where, values))

    def get(self):
        return self._content.copy()


def full(shape, value, dtype):
    return Array(np.full(shape, value, dtype=dtype))


def asarray(array):
    return Array(array.copy())
"""


def example():
    """The code of the example."""
    (code,) = re.findall(
        r"^```python\n(.*?)^```$", (ROOT / "docs/memory.md").read_text(), re.MULTILINE | re.DOTALL
    )
    return code


def module(name, code):
    made = types.ModuleType(name)
    exec(compile(code, name, "exec"), made.__dict__)
    return made


@pytest.fixture
def kind(monkeypatch):
    monkeypatch.setenv("_MPI4PYVE_MPI_INITIALIZED", "")
    monkeypatch.setitem(sys.modules, "nlcpy", module("nlcpy", NLCPY))
    return module("example", example()).VectorEngineMemory


@pytest.mark.parametrize("size", [1, 8, 10001])
def test_what_is_written_is_read_back(kind, size):
    region = kind("").allocate(size, "4K")
    sent, received = np.arange(size).astype(np.uint8), np.zeros(size, dtype=np.uint8)
    region.write(sent)
    region.read(received)
    np.testing.assert_array_equal(received, sent)
    assert (region.size, region.pointer % mmap.PAGESIZE) == (size, 0)


def test_what_it_says_of_itself(kind):
    memory = kind("0")
    assert (memory.of_host, memory.taken_by_mpi) == (False, True)
    assert memory.available() == 3 << 30
    assert memory.missing("4K") is None
    assert memory.missing("huge").startswith("--pages huge: ")


def test_an_engine_that_is_not_there_is_a_reason(kind, monkeypatch):
    for device in ("9", "a"):
        with pytest.raises(Unavailable, match="no Vector Engine: "):
            kind(device)
    monkeypatch.setitem(sys.modules, "nlcpy", None)
    with pytest.raises(Unavailable, match="no Vector Engine: "):
        kind("")
