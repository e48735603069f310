"""The buffers of a configuration, used in turn, and the messages in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.errors import HalftripError
from halftrip.memory.allocator import Bytes, Region, memory_named
from halftrip.results.configuration import Configuration, EndSettings

# A strided message is made of blocks of this many bytes, this far apart.
BLOCK = 8
BLOCK_STRIDE = 16
_CACHE_LINE = 64
# With --verify, each message of a batch has a buffer of its own. They take about this many bytes
# in all, and are at least enough for one untimed window and one timed window.
_VERIFIED_BYTES = 1 << 20
_VERIFIED_WINDOWS = 2
# A ring of this many times the cache's size: when a buffer is used again, the cache has lost it.
_CACHE_MULTIPLE = 2


class Layout(NamedTuple):
    """`slots` buffers of `extent` bytes each, which begin `stride` bytes apart. Within a buffer the
    words of a message begin `step` bytes apart: a strided datatype has gaps as wide as its blocks.
    """

    slots: int
    stride: int
    extent: int
    step: int

    @property
    def bytes(self) -> int:
        """The size of all buffers together, from the first byte to the last."""
        return (self.slots - 1) * self.stride + self.extent


def layout(
    configuration: Configuration, cache_bytes: int, most_verified: int | None = None
) -> Layout:
    """The buffers of a configuration in one direction. `cache_bytes` is the largest last-level
    cache of the ranks; `most_verified` limits how many small ones there are with --verify."""
    extent, step = configuration.size, BLOCK
    if configuration.datatype == "vector":
        extent, step = configuration.size // BLOCK * BLOCK_STRIDE, BLOCK_STRIDE
    unit = max(_CACHE_LINE, 2 * configuration.align)
    stride = -(-max(extent, 1) // unit) * unit
    slots = configuration.window if configuration.places == "own" else 1
    if configuration.verify:
        small = _VERIFIED_BYTES // stride
        small = small if most_verified is None else min(small, most_verified)
        slots = max(_VERIFIED_WINDOWS * configuration.window, small)
    if configuration.cache == "cold":
        slots = max(slots, -(-_CACHE_MULTIPLE * cache_bytes // stride))
    return Layout(slots, stride, extent, step)


Numbers = npt.NDArray[np.int64]


class Ring:
    """The buffers of a configuration in the memory `region`, which begins on a page boundary; see
    native/buffers.hpp. Messages in memory that the processor does not reach are written and checked
    by way of a copy of the whole region."""

    def __init__(self, region: Region, layout: Layout, configuration: Configuration) -> None:
        self.region = region
        self._layout = layout
        self._configuration = configuration
        self.native = self.in_memory(region, configuration.size)

    def in_memory(self, region: Region, size: int | None = None) -> _native.Ring:
        """Buffers that lie in `region` as these do here, for native code: of `size` bytes each, or
        with all bytes that a message spans, gaps included. `region` has to outlive them."""
        layout = self._layout
        extent = layout.extent if size is None else size
        first = region.pointer + self._configuration.align
        return _native.Ring(first, layout.slots, extent, layout.stride)

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many buffers there are, the bytes of a message, and from one buffer to the next."""
        return self._layout.slots, self._configuration.size, self._layout.stride

    @property
    def slots(self) -> int:
        return self._layout.slots

    @property
    def messages(self) -> Bytes:
        """The messages, shape (slots, bytes), in memory that the processor reaches."""
        if self.region.bytes is None:
            raise HalftripError("the processor does not reach this memory")
        return self._rows(self.region.bytes, self._configuration.size)

    @property
    def arrays(self) -> list[Any]:
        """The messages, each as an object that libraries for Python take."""
        first, layout = self._configuration.align, self._layout
        return [
            self.region.array(first + slot * layout.stride, self._configuration.size)
            for slot in range(layout.slots)
        ]

    def fill(self, slots: Numbers, seeds: Numbers) -> None:
        """Writes the messages of `seeds` into the buffers of the numbers `slots`; both have shape
        (n,)."""
        _native.fill(self._buffers, self._configuration.size, self._layout.step, slots, seeds)
        if self.region.bytes is None:
            self.region.write(self._image)

    def check(self, slots: Numbers, seeds: Numbers, header: int = 0) -> None:
        """Raises WrongByte unless these buffers hold the messages of `seeds`; the first `header`
        bytes of each are not compared, nor a last one by which its arrival is told."""
        if self.region.bytes is None:
            self.region.read(self._image)
        size = self._configuration.size - self._configuration.shape.is_polled
        found = _native.first_difference(
            self._buffers, size, self._layout.step, slots, seeds, header
        )
        if found is not None:
            raise WrongByte(*found)

    def close(self) -> None:
        """Frees the memory."""
        self.region.close()

    @cached_property
    def _image(self) -> Bytes:
        """The region as the processor reaches it: itself, or a copy."""
        if self.region.bytes is not None:
            return self.region.bytes
        return np.zeros(self.region.size, dtype=np.uint8)

    @cached_property
    def _buffers(self) -> Bytes:
        return self._rows(self._image, self._layout.extent)

    def _rows(self, region: Bytes, size: int) -> Bytes:
        """The buffers in `region`, shape (slots, size)."""
        first = region[self._configuration.align :]
        shape, strides = (self._layout.slots, size), (self._layout.stride, 1)
        return np.lib.stride_tricks.as_strided(first, shape, strides)


class WrongByte(HalftripError):
    """A byte arrived that differs from the one sent."""

    def __init__(self, offset: int, expected: int, found: int) -> None:
        super().__init__(f"byte {offset} is 0x{found:02x}, 0x{expected:02x} was sent")


def allocate_ring(layout: Layout, configuration: Configuration, end: EndSettings) -> Ring:
    """The buffers of one end of a configuration, touched, in that end's kind of memory. Raises
    Unavailable or OSError."""
    size = layout.bytes + configuration.align
    return Ring(memory_named(end.memory).allocate(size, end.pages), layout, configuration)


def message_seeds(rank: int, numbers: Numbers) -> Numbers:
    """The seeds, shape (n,), of the messages of these numbers that a rank sends in a configuration.
    No two messages of a configuration have the same seed."""
    return (rank << 48) + numbers
