"""The buffers of a configuration, used in turn, and the messages in them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.errors import HalftripError
from halftrip.memory.allocator import Bytes, Region, memory_named
from halftrip.memory.layout import Layout
from halftrip.results.configuration import Configuration, EndSettings

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
        bytes of each are not compared."""
        if self.region.bytes is None:
            self.region.read(self._image)
        found = _native.first_difference(
            self._buffers, self._configuration.size, self._layout.step, slots, seeds, header
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
