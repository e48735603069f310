"""The buffers of a configuration, used in turn, and the messages in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.errors import HalftripError
from halftrip.memory.allocator import Bytes, Memory
from halftrip.memory.layout import Layout
from halftrip.registry import MEMORIES
from halftrip.results.configuration import Configuration, EndSettings

Numbers = npt.NDArray[np.int64]


class Ring:
    """The buffers of a configuration in the memory `region`; see native/buffers.hpp."""

    def __init__(self, region: Bytes, layout: Layout, configuration: Configuration) -> None:
        self.region = region
        self._layout = layout
        self._configuration = configuration
        self._buffers = _rows(region, layout, layout.extent)
        # The messages, shape (slots, bytes), and the same memory for native code.
        self.messages = _rows(region, layout, configuration.size)
        self.native = _native.Ring(self.messages)

    def in_memory(self, region: Bytes) -> _native.Ring:
        """Buffers that lie in `region` as these do here, for native code: each with all bytes that
        a message spans, gaps included."""
        return _native.Ring(_rows(region, self._layout, self._layout.extent))

    @property
    def slots(self) -> int:
        return self._layout.slots

    def fill(self, slots: Numbers, seeds: Numbers) -> None:
        """Writes the messages of `seeds` into the buffers of the numbers `slots`; both have shape
        (n,)."""
        _native.fill(self._buffers, self._configuration.size, self._layout.step, slots, seeds)

    def check(self, slots: Numbers, seeds: Numbers, header: int = 0) -> None:
        """Raises WrongByte unless these buffers hold the messages of `seeds`; the first `header`
        bytes of each are not compared."""
        found = _native.first_difference(
            self._buffers, self._configuration.size, self._layout.step, slots, seeds, header
        )
        if found is not None:
            raise WrongByte(*found)


def _rows(region: Bytes, layout: Layout, size: int) -> Bytes:
    """The buffers, shape (slots, size)."""
    return np.lib.stride_tricks.as_strided(region, (layout.slots, size), (layout.stride, 1))


class WrongByte(HalftripError):
    """A byte arrived that differs from the one sent."""

    def __init__(self, offset: int, expected: int, found: int) -> None:
        super().__init__(f"byte {offset} is 0x{found:02x}, 0x{expected:02x} was sent")


def allocate_ring(layout: Layout, configuration: Configuration, end: EndSettings) -> Ring:
    """The buffers of one end of a configuration, touched, in that end's kind of memory. Raises
    Unavailable or OSError."""
    memory: Memory = MEMORIES.load(end.memory)
    region = memory.allocate(layout.bytes + configuration.align, end.pages)
    return Ring(aligned(region, configuration), layout, configuration)


def aligned(region: Bytes, configuration: Configuration) -> Bytes:
    """The part of `region` that the configuration's buffers are in. `region` begins on a page
    boundary, or `align` is 0."""
    return region[configuration.align :]


def message_seeds(rank: int, numbers: Numbers) -> Numbers:
    """The seeds, shape (n,), of the messages of these numbers that a rank sends in a configuration.
    No two messages of a configuration have the same seed."""
    return (rank << 48) + numbers
