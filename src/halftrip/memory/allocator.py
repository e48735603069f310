"""The contract of a kind of memory: it allocates regions, which hold the buffers.

Another package adds a kind by an entry point of the group ``halftrip.memory``; see docs/memory.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.errors import HalftripError, Unavailable, UsageError
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
        buffer protocol, or with an interface such as `__cuda_array_interface__`. Raises Unavailable
        where there is no such object."""
        if self.bytes is None:
            raise Unavailable("this memory has no arrays that a library for Python takes")
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


class Stage(NamedTuple):
    """Memory of the host that messages in a device's memory are sent from and received into, and
    the stream that copies between the two, for native code as its `native`."""

    region: Region
    stream: Any

    def close(self) -> None:
        """Frees both."""
        self.stream.close()
        self.region.close()


class Memory(ABC):
    """One kind of memory, of one device where it belongs to one. `registry.MEMORIES` has the
    kinds, each a function of the device's name, which is empty if none was given; it may raise
    Unavailable.

    `cache_bytes` is the size of the device's own cache, bytes; 0: the processor's cache it is.
    `of_host`, an attribute of the class, is whether the processor reaches the memory. Where it does
    not, `taken_by_mpi` is whether the MPI library takes pointers to it; None: that is tried.
    """

    cache_bytes: int = 0
    of_host: bool = False
    taken_by_mpi: bool | None = None

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

    def stage(self, size: int) -> Stage:
        """What messages are staged with, of which `size` bytes are under way at once. Raises
        Unavailable."""
        raise Unavailable("native code does not know how to copy from and to this memory")

    def enter(self) -> None:  # noqa: B027 (most memory belongs to all threads)
        """Makes it usable in the calling thread. Raises Unavailable."""


@cache
def memory_named(name: str) -> Memory:
    """The memory of a name as a configuration has it: ``host``, ``cuda@0``. Raises Unavailable if
    it is not there, and UsageError for a plug-in that fails in another way."""
    kind, device = parse_memory(name)
    make = MEMORIES.load(kind)
    try:
        found: Memory = make(device)
    except Exception as error:
        if kind in MEMORIES.built_in or isinstance(error, HalftripError):
            raise
        said = (str(error) or "no reason given").splitlines()[0]
        problem = f"{MEMORIES.group} {kind!r}: {type(error).__name__}: {said}"
        raise UsageError(problem) from None
    return found
