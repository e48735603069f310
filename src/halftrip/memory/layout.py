"""How the buffers of a configuration lie in memory."""

from __future__ import annotations

from typing import NamedTuple

from halftrip.results.configuration import Configuration

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
