"""Buffers in this process's own memory, with the page size that the case asks for."""

from __future__ import annotations

import contextlib
import mmap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import psutil

from halftrip.errors import Unavailable, UsageError
from halftrip.results.case import Case, Pages
from halftrip.units import parse_size

Bytes = npt.NDArray[np.uint8]

_CPUS = Path("/sys/devices/system/cpu")
_USUAL_CACHE = 32 << 20
HUGE_PAGE = 2 * 1024 * 1024
THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_ROOT = Path("/")


class Geometry(NamedTuple):
    """How the buffers of a case lie: `slots` of them, `stride` bytes apart, each of `extent` bytes,
    and in each the words of a message, `step` bytes apart.

    A strided datatype has as much room between its blocks as they take themselves.
    """

    slots: int
    stride: int
    extent: int
    step: int

    @property
    def bytes(self) -> int:
        return (self.slots - 1) * self.stride + self.extent


# A strided message is made of blocks of so many bytes, this far apart.
BLOCK = 8
BLOCK_STRIDE = 16
_LINE = 64
# Where messages are verified, each of a batch has a buffer of its own, in about so many bytes; or
# in as many as it takes for a window that goes first, untimed, and another.
_VERIFIED_BYTES = 1 << 20
_VERIFIED_WINDOWS = 2
# A ring that is walked through is so much larger than the cache that nothing of it is left there.
_CACHES = 2


def geometry(case: Case, cache_bytes: int) -> Geometry:
    """The buffers of a case, in one direction. `cache_bytes` is the largest last-level cache of the
    ranks."""
    extent, word = case.size, BLOCK
    if case.datatype == "vector":
        extent, word = case.size // BLOCK * BLOCK_STRIDE, BLOCK_STRIDE
    step = max(_LINE, 2 * case.align)
    stride = -(-max(extent, 1) // step) * step
    slots = 1
    if case.verify:
        slots = max(_VERIFIED_WINDOWS * case.window, _VERIFIED_BYTES // stride)
    if case.cache == "cold":
        slots = max(slots, -(-_CACHES * cache_bytes // stride))
    return Geometry(slots, stride, extent, word)


def last_level_cache(core: int, root: Path = _CPUS) -> int:
    """The size of a core's last cache, bytes; 32 MiB where the kernel does not tell."""
    sizes = []
    for index in (root / f"cpu{core}" / "cache").glob("index*"):
        try:
            level = int((index / "level").read_text())
            sizes.append((level, parse_size((index / "size").read_text().strip())))
        except (OSError, ValueError, UsageError):
            continue
    return max(sizes)[1] if sizes else _USUAL_CACHE


def refuses(case: Case, lay: Geometry, ends_on_host: int) -> str | None:
    """Why buffers for this case cannot be had on this host, or None."""
    if case.pages == "huge":
        mode = THP.read_text() if THP.exists() else "[never]"
        if "[never]" in mode:
            return f"transparent huge pages are off ({THP})"
    # Out and in, or one for both; and, one-sided, a window.
    rings = 1 + (case.buffers == "separate") + (case.mode == "onesided")
    needed = rings * (lay.bytes + case.align) * ends_on_host
    left = available()
    if needed > left:
        return f"buffers need {needed >> 20} MiB on one host, where {left >> 20} MiB are left"
    return None


def available(root: Path = _ROOT) -> int:
    """How many bytes this process may still have: of the host's, and of every control group (v2)
    that it is in."""
    left = [psutil.virtual_memory().available]
    group = _read(root / "proc/self/cgroup").strip().rpartition("::")[2]
    top = root / "sys/fs/cgroup"
    directory = top / group.lstrip("/")
    for place in (directory, *directory.parents):
        limit, used = _read(place / "memory.max").strip(), _read(place / "memory.current").strip()
        if limit.isdecimal() and used.isdecimal():
            left.append(int(limit) - int(used) + _cached(_read(place / "memory.stat")))
        if place == top:
            break
    return max(min(left), 0)


def _cached(statistics: str) -> int:
    """What a control group holds of files that nobody has used for long: the kernel takes it back
    when memory is wanted."""
    for line in statistics.splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdecimal():
            return int(value)
    return 0


def _read(path: Path) -> str:
    """A file of the kernel's, empty where there is none to read."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def allocate(size: int, pages: Pages) -> Bytes:
    """`size` bytes that start a page and have been touched, so by the core that the caller runs on.

    Raises Unavailable, or OSError, if the kernel gives no huge pages where they are asked for.
    """
    step = HUGE_PAGE if pages == "huge" else mmap.PAGESIZE
    length = max(-(-size // step), 1) * step
    region = mmap.mmap(-1, length + step, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer = np.frombuffer(region, dtype=np.uint8)
    offset = -buffer.ctypes.data % step
    if pages == "huge":
        region.madvise(mmap.MADV_HUGEPAGE, offset, length)
    else:
        # A kernel without huge pages knows no such advice, and needs none.
        with contextlib.suppress(OSError):
            region.madvise(mmap.MADV_NOHUGEPAGE, offset, length)
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
