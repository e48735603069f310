"""The contract of a kind of memory: it allocates regions, which hold the buffers.

Another package adds a kind by an entry point of the group ``halftrip.memory``; see docs/memory.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halftrip.registry import MEMORIES
from halftrip.results.configuration import Pages
from halftrip.results.memory_name import parse_memory

Bytes = npt.NDArray[np.uint8]


class Region(ABC):
    """`size` bytes of memory at the address `pointer`, which a library that knows this kind of
    memory takes. `bytes` is the same memory as an array, shape (size,), if the processor can reach
    it; else None."""

    pointer: int
    size: int
    bytes: Bytes | None = None

    @abstractmethod
    def write(self, data: Bytes) -> None:
        """Copies `data`, shape (size,), there. Raises Unavailable."""

    @abstractmethod
    def read(self, data: Bytes) -> None:
        """Copies what is there to `data`, shape (size,). Raises Unavailable."""

    def array(self, offset: int, size: int) -> Any:
        """`size` bytes from `offset` on, as an object that libraries for Python take: of the
        buffer protocol, or with `__cuda_array_interface__`."""
        if self.bytes is None:
            raise NotImplementedError
        return self.bytes[offset : offset + size]

    def close(self) -> None:  # noqa: B027 (most memory is freed with its object)
        """Frees the memory."""


class HostRegion(Region):
    """Memory that the processor reaches."""

    def __init__(self, memory: Bytes) -> None:
        self.bytes: Bytes = memory
        self.pointer = memory.ctypes.data
        self.size = memory.size

    def write(self, data: Bytes) -> None:
        self.bytes[:] = data

    def read(self, data: Bytes) -> None:
        data[:] = self.bytes


class Memory(ABC):
    """One kind of memory, of one device where it belongs to one. `registry.MEMORIES` has the
    kinds, each a function of the device's name, which is empty if none was given; it may raise
    Unavailable.

    `cache_bytes` is the size of the device's own cache, bytes; 0: the processor's cache it is.
    `copies` moves bytes between this memory and the host's from timed code; None where the
    processor reaches it, or where there is no such thing: then a path cannot be staged.
    """

    cache_bytes: int = 0
    copies: Any = None

    @abstractmethod
    def missing(self, pages: Pages) -> str | None:
        """Why it is not available here with pages of this size, or None."""

    @abstractmethod
    def available(self) -> int:
        """How many bytes this process may still allocate."""

    @abstractmethod
    def allocate(self, size: int, pages: Pages) -> Region:
        """`size` bytes that begin on a page boundary, mapped, and written to: host memory by the
        calling core. Raises Unavailable or OSError."""

    def enter(self) -> None:  # noqa: B027 (most memory belongs to all threads)
        """Makes it usable in the calling thread. Raises Unavailable."""


@cache
def memory_named(name: str) -> Memory:
    """The memory of a name as a configuration has it: ``host``, ``cuda@0``. Raises Unavailable if
    it is not there."""
    kind, device = parse_memory(name)
    found: Memory = MEMORIES.load(kind)(device)
    return found
