"""The buffers of a case, and what they hold: one for each message in turn, or one for all."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.errors import HalftripError
from halftrip.memory.host import Bytes, Geometry, allocate
from halftrip.results.case import Case

Numbers = npt.NDArray[np.int64]


class Ring:
    """Buffers in the memory `region`, which holds them as `lay` says; see native/buffers.hpp.

    `case` says how long a message is and how it lies in its buffer.
    """

    def __init__(self, region: Bytes, lay: Geometry, case: Case) -> None:
        self.region = region
        self._lay = lay
        self._case = case
        self._buffers = _rows(region, lay, lay.extent)
        self.native = _native.Ring(_rows(region, lay, case.size))

    @property
    def slots(self) -> int:
        return self._lay.slots

    def fill(self, slots: Numbers, seeds: Numbers) -> None:
        """Writes the messages that `seeds` name into the buffers of these numbers, both of shape
        (n,)."""
        _native.fill(self._buffers, self._case.size, self._lay.step, slots, seeds)

    def check(self, slots: Numbers, seeds: Numbers, header: int = 0) -> None:
        """Raises WrongByte unless these buffers hold the messages that `seeds` name, but for the
        first `header` bytes of each."""
        found = _native.first_difference(
            self._buffers, self._case.size, self._lay.step, slots, seeds, header
        )
        if found is not None:
            raise WrongByte(*found)


def _rows(region: Bytes, lay: Geometry, size: int) -> Bytes:
    """The buffers, shape (slots, size)."""
    return np.lib.stride_tricks.as_strided(region, (lay.slots, size), (lay.stride, 1))


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


def message_seeds(rank: int, numbers: Numbers) -> Numbers:
    """The seeds of the messages of these numbers, shape (n,), that a rank sends in a case: no two
    have the same."""
    return (rank << 48) + numbers
