"""Buffers in a process's own memory, and their pages."""

import mmap
from functools import partial

import pytest

from halftrip.errors import Unavailable
from halftrip.memory import host, numa
from halftrip.memory.allocator import memory_named
from halftrip.memory.host import HOST, HostMemory
from halftrip.memory.ring import allocate_ring, layout
from halftrip.registry import MEMORIES
from harness.kernel import TWO_NODES, Kernel
from harness.need import need
from harness.runs import configuration

THP = "sys/kernel/mm/transparent_hugepage/enabled"


@pytest.mark.parametrize("size", [0, 1, mmap.PAGESIZE, 10_000])
def test_a_buffer_starts_a_page_and_is_touched(size):
    buffer = HOST.allocate(size, "4K").bytes
    assert buffer.size == size
    assert buffer.ctypes.data % mmap.PAGESIZE == 0
    # Zero pages are a special case for some paths.
    assert (buffer != 0).all()


def test_a_kernel_without_huge_pages_gives_plain_ones(monkeypatch):
    # Every kernel refuses this advice, with the same error as an advice that it does not have.
    monkeypatch.setattr(mmap, "MADV_NOHUGEPAGE", 9999)
    buffer = HOST.allocate(10_000, "4K").bytes
    assert buffer.size == 10_000
    assert buffer.ctypes.data % mmap.PAGESIZE == 0
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)
    with pytest.raises(OSError, match="Invalid argument"):
        HOST.allocate(10_000, "huge")


def test_where_the_kernel_gives_no_huge_page_they_are_unavailable(monkeypatch):
    monkeypatch.setattr(host, "_is_huge", lambda address: False)
    with pytest.raises(Unavailable, match="the kernel gave no huge page"):
        HOST.allocate(1, "huge")


@pytest.mark.parametrize(
    ("mode", "missing"), [("always", False), ("madvise", False), ("never", True), (None, True)]
)
def test_huge_pages_are_missing_where_the_kernel_has_turned_them_off(tmp_path, mode, missing):
    files = {} if mode is None else {THP: f"some [{mode}]\n"}
    memory = HostMemory(Kernel(tmp_path, files).reader)
    assert (memory.missing("huge") is not None) == missing
    assert memory.missing("4K") is None


def test_available_memory_is_read_from_the_same_kernel(tmp_path):
    group = {"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/memory.max": "5000\n",
             "sys/fs/cgroup/job/memory.current": "2000\n"}  # fmt: skip
    assert HostMemory(Kernel(tmp_path, group).reader).available() == 3000


def test_a_ring_is_in_the_memory_and_pages_of_its_own_end(monkeypatch):
    asked = []

    class OtherMemory:
        def __init__(self, name, device):
            self.name = name, device

        def allocate(self, size, pages):
            asked.append((*self.name, size, pages))
            return HOST.allocate(size, "4K")

    monkeypatch.setattr(MEMORIES, "load", lambda name: partial(OtherMemory, name))
    memory_named.cache_clear()
    the_configuration = configuration(
        initiator=configuration(memory="one@7", pages="4K").initiator,
        responder=configuration(memory="other", pages="huge").responder,
        align=8,
    )
    found = layout(the_configuration, 0)
    for end in the_configuration.ends:
        allocate_ring(found, the_configuration, end)
    memory_named.cache_clear()
    bytes_ = found.bytes + 8
    assert asked == [("one", "7", bytes_, "4K"), ("other", "", bytes_, "huge")]


# On a NUMA node.


def test_memory_of_a_node_is_there():
    need(memory_named("host@0").missing("4K") is None, "a kernel with NUMA nodes")
    buffer = memory_named("host@0").allocate(100_000, "4K").bytes
    assert numa.node_of_page(buffer) == 0
    assert buffer.size == 100_000
    assert (buffer != 0).all()
    with pytest.raises(Unavailable, match="the kernel refuses mbind: invalid argument"):
        HostMemory(node=999).allocate(1, "4K")


def test_memory_of_another_node_than_was_asked_for_is_refused(monkeypatch):
    monkeypatch.setattr(numa, "bind", lambda memory, node: None)
    monkeypatch.setattr(numa, "node_of_page", lambda memory: 0)
    with pytest.raises(Unavailable, match="the kernel gave memory of NUMA node 0, not 1"):
        HostMemory(node=1).allocate(1, "4K")


@pytest.mark.parametrize(
    ("files", "node", "said"),
    [
        (TWO_NODES, 1, None),
        (TWO_NODES, 2, "no NUMA node 2 with memory here (nodes: 0, 1)"),
        ({}, 0, "no NUMA node 0 with memory here (nodes: the kernel tells of none)"),
    ],
)
def test_a_node_that_is_not_there_is_missing(tmp_path, files, node, said):
    assert HostMemory(Kernel(tmp_path, files).reader, node).missing("4K") == said
