"""Buffers in this process's own memory, with the page size that the configuration asks for."""

from __future__ import annotations

import contextlib
import mmap

import numpy as np

from halftrip import cpus
from halftrip.errors import Unavailable
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.memory import numa
from halftrip.memory.allocator import HostRegion, Memory
from halftrip.results.configuration import Pages
from halftrip.telemetry import environment
from halftrip.telemetry.memory import available_memory

HUGE_PAGE = 2 * 1024 * 1024


class HostMemory(Memory):
    """Anonymous memory of this process, on the NUMA node `node` (None: that of who touches it)."""

    of_host = True

    def __init__(self, reader: Reader = HOST_FILES, node: int | None = None) -> None:
        self._reader = reader
        self._node = node

    def missing(self, pages: Pages) -> str | None:
        if self._node is not None:
            nodes = cpus.nodes_with_memory(self._reader)
            if self._node not in nodes:
                there = ", ".join(map(str, nodes)) or "the kernel tells of none"
                return f"no NUMA node {self._node} with memory here (nodes: {there})"
        if pages == "huge" and environment.thp(self._reader) in (None, "never"):
            return f"transparent huge pages are off ({environment.THP})"
        return None

    def available(self) -> int:
        return available_memory(self._reader)

    def allocate(self, size: int, pages: Pages) -> HostRegion:
        """Raises Unavailable or OSError if the kernel gives no huge pages."""
        step = HUGE_PAGE if pages == "huge" else mmap.PAGESIZE
        length = max(-(-size // step), 1) * step
        region = mmap.mmap(-1, length + step, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        buffer = np.frombuffer(region, dtype=np.uint8)
        offset = -buffer.ctypes.data % step
        if pages == "huge":
            region.madvise(mmap.MADV_HUGEPAGE, offset, length)
        else:
            # A kernel without huge pages refuses this advice, and does not need it.
            with contextlib.suppress(OSError):
                region.madvise(mmap.MADV_NOHUGEPAGE, offset, length)
        buffer = buffer[offset : offset + length]
        if self._node is not None:
            numa.bind(buffer, self._node)
        # Any value but zero: some paths treat zero pages as a special case.
        buffer[:] = 0xA5
        if pages == "huge" and not _is_huge(buffer.ctypes.data):
            raise Unavailable("the kernel gave no huge page (memory is fragmented, or limited)")
        if self._node is not None and (found := numa.node_of_page(buffer)) != self._node:
            raise Unavailable(f"the kernel gave memory of NUMA node {found}, not {self._node}")
        return HostRegion(buffer[:size])


HOST = HostMemory()


def host(device: str) -> HostMemory:
    """The kind ``host``; its device is a NUMA node. Raises Unavailable for another one."""
    if not device:
        return HOST
    if not device.isdecimal():
        raise Unavailable(f"host@{device}: the host's memory is of a NUMA node, as host@0")
    return HostMemory(node=int(device))


def _is_huge(address: int) -> bool:
    """Whether the mapping at `address` has huge pages, by /proc/self/smaps."""
    inside = False
    for line in (HOST_FILES.text("/proc/self/smaps") or "").splitlines():
        first = line.split(None, 1)[0]
        if "-" in first and not first.endswith(":"):
            low, high = (int(end, 16) for end in first.split("-"))
            inside = low <= address < high
        elif inside and first == "AnonHugePages:":
            return int(line.split()[1]) > 0
    return False
