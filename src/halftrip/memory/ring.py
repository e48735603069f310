"""The buffers of a case, and what they hold: one for each message in turn, or one for all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.errors import HalftripError
from halftrip.memory.host import BLOCK, BLOCK_STRIDE, Bytes, Geometry, allocate
from halftrip.model import Case


class Ring:
    """Buffers in the memory `region`, which holds them as `lay` says; see native/buffers.hpp.

    `case` says how long a message is and how it lies in its buffer.
    """

    def __init__(self, region: Bytes, lay: Geometry, case: Case) -> None:
        self.region = region
        self._lay = lay
        self._case = case
        strides = (lay.stride, 1)
        shape = (lay.slots, case.size)
        self._slots: npt.NDArray[np.uint8] = np.lib.stride_tricks.as_strided(
            region, shape if lay.slots > 1 else (1, case.size), strides
        )
        self.native = _native.Ring(self._slots)

    @property
    def slots(self) -> int:
        return self._lay.slots

    def _buffer(self, slot: int) -> Bytes:
        start = slot * self._lay.stride
        return self.region[start : start + self._lay.extent]

    def _payload(self, slot: int) -> Bytes:
        """The bytes of the message in a buffer, side by side: a copy where they do not lie so."""
        buffer = self._buffer(slot)
        if self._case.datatype != "vector":
            return buffer
        return np.ascontiguousarray(buffer.reshape(-1, BLOCK_STRIDE)[:, :BLOCK]).reshape(-1)

    def fill(self, slot: int, seed: int) -> None:
        """Writes the message that `seed` names into a buffer."""
        if self._case.datatype != "vector":
            _native.fill(self._buffer(slot), seed)
            return
        payload = np.empty(self._case.size, dtype=np.uint8)
        _native.fill(payload, seed)
        self._buffer(slot).reshape(-1, BLOCK_STRIDE)[:, :BLOCK] = payload.reshape(-1, BLOCK)

    def check(self, slot: int, seed: int, header: int = 0) -> None:
        """Raises WrongByte unless a buffer holds the message that `seed` names, but for its first
        `header` bytes."""
        payload = self._payload(slot)
        if header:
            sent = np.empty(self._case.size, dtype=np.uint8)
            _native.fill(sent, seed)
            payload = payload.copy()
            payload[:header] = sent[:header]
        found = _native.first_difference(payload, seed)
        if found is not None:
            offset, expected = found
            raise WrongByte(offset, expected, int(payload[offset]))


class WrongByte(HalftripError):
    """A byte that arrived is not the one that was sent."""

    def __init__(self, offset: int, expected: int, found: int) -> None:
        super().__init__(f"byte {offset} is 0x{found:02x}, 0x{expected:02x} was sent")


def allocate_ring(lay: Geometry, case: Case) -> Ring:
    """Touched buffers in this process's own memory. Raises Unavailable."""
    return Ring(aligned(allocate(lay.bytes + case.align, case.pages), case), lay, case)


def aligned(region: Bytes, case: Case) -> Bytes:
    """`region`, which starts a page, from where the case's buffers are to start."""
    return region[case.align :]


def message_seed(rank: int, batch: int, slot: int) -> int:
    """The seed of the message that a rank sends from a buffer in a batch: no two have the same."""
    return (rank << 48) + (batch << 24) + slot
