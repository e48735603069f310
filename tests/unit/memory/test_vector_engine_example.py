"""The example of docs/memory.md, a kind of memory of another package, with a module that plays
nlcpy."""

import mmap
import sys
import types

import numpy as np
import pytest

from halftrip.errors import Unavailable
from harness.vector_engine import NLCPY, example


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
