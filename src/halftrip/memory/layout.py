"""How the buffers of a case lie in memory."""

from __future__ import annotations

from typing import NamedTuple

from halftrip.results.case import Case

# A strided message is made of blocks of this many bytes, this far apart.
BLOCK = 8
BLOCK_STRIDE = 16
_CACHE_LINE = 64
# Where messages are verified, each of a batch has a buffer of its own: about this many bytes of
# them, or as many as one untimed window and another need.
_VERIFIED_BYTES = 1 << 20
_VERIFIED_WINDOWS = 2
# A ring this many times larger than the cache leaves nothing of itself there.
_CACHES = 2


class Layout(NamedTuple):
    """`slots` buffers, `stride` bytes apart, each of `extent` bytes, and in each the words of a
    message, `step` bytes apart. A strided datatype has gaps as wide as its blocks."""

    slots: int
    stride: int
    extent: int
    step: int

    @property
    def bytes(self) -> int:
        """Of all buffers, from the first byte to the last."""
        return (self.slots - 1) * self.stride + self.extent


def layout(case: Case, cache_bytes: int) -> Layout:
    """The buffers of a case in one direction. `cache_bytes` is the largest last-level cache of the
    ranks."""
    extent, word = case.size, BLOCK
    if case.datatype == "vector":
        extent, word = case.size // BLOCK * BLOCK_STRIDE, BLOCK_STRIDE
    step = max(_CACHE_LINE, 2 * case.align)
    stride = -(-max(extent, 1) // step) * step
    slots = 1
    if case.verify:
        slots = max(_VERIFIED_WINDOWS * case.window, _VERIFIED_BYTES // stride)
    if case.cache == "cold":
        slots = max(slots, -(-_CACHES * cache_bytes // stride))
    return Layout(slots, stride, extent, word)
