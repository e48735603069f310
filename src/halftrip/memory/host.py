"""Buffers in this process's own memory, with the page size that the case asks for."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import numpy.typing as npt
import psutil

from halftrip.errors import Unavailable
from halftrip.model import Case, Pages

Bytes = npt.NDArray[np.uint8]

HUGE_PAGE = 2 * 1024 * 1024
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def refuses(case: Case, ranks_on_host: int) -> str | None:
    """Why buffers for this case cannot be had on this host, or None."""
    if case.pages == "huge":
        mode = THP.read_text() if THP.exists() else "[never]"
        if "[never]" in mode:
            return f"transparent huge pages are off ({THP})"
    needed = 2 * case.size * ranks_on_host
    available = psutil.virtual_memory().available
    if needed > available:
        return f"buffers need {needed >> 20} MiB on one host, which has {available >> 20} MiB left"
    return None


def allocate(size: int, pages: Pages) -> Bytes:
    """`size` bytes that start a page and have been touched, so by the core that the caller runs on.

    Raises Unavailable if the kernel gives no huge pages where they are asked for.
    """
    step = HUGE_PAGE if pages == "huge" else mmap.PAGESIZE
    length = max(-(-size // step), 1) * step
    region = mmap.mmap(-1, length + step, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer = np.frombuffer(region, dtype=np.uint8)
    offset = -buffer.ctypes.data % step
    region.madvise(mmap.MADV_HUGEPAGE if pages == "huge" else mmap.MADV_NOHUGEPAGE, offset, length)
    buffer = buffer[offset : offset + length]
    # Any value but zero: some paths treat zero pages as a special case.
    buffer[:] = 0xA5
    if pages == "huge" and not _is_huge(buffer.ctypes.data):
        raise Unavailable("the kernel gave no huge page (memory is fragmented, or limited)")
    return buffer[:size]


def _is_huge(address: int) -> bool:
    """Whether the mapping at `address` has huge pages, as /proc/self/smaps tells."""
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split(None, 1)[0]
        if "-" in first and not first.endswith(":"):
            low, high = (int(end, 16) for end in first.split("-"))
            inside = low <= address < high
        elif inside and first == "AnonHugePages:":
            return int(line.split()[1]) > 0
    return False
