"""Memory that two ranks on one host share. It has no name, so none can be left behind."""

from __future__ import annotations

import contextlib
import mmap
import os

import msgspec
import numpy as np

from halftrip.errors import Unavailable, system_reason
from halftrip.memory.allocator import Bytes


class SharedOffer(msgspec.Struct, frozen=True):
    """Where the other rank finds the segment: a file descriptor of this process."""

    pid: int
    descriptor: int
    size: int


class SharedSegment:
    """`size` bytes of zeros that another rank can map with `open_offer`.

    A memfd: its memory is reserved here, so that timed code cannot run out of it, and is freed when
    the last process that maps it ends, in whatever way.
    """

    def __init__(self, size: int) -> None:
        self._descriptor = os.memfd_create("halftrip", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(self._descriptor, 0, size)
            self.bytes = _map(self._descriptor, size)
        except OSError as error:
            os.close(self._descriptor)
            raise Unavailable(f"no shared memory: {system_reason(error)}") from None
        self.offer = SharedOffer(os.getpid(), self._descriptor, size)

    def close(self) -> None:
        """Closes the descriptor; the mapping lives as long as `bytes` does."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def open_offer(offer: SharedOffer) -> Bytes:
    """Maps another rank's segment. Raises Unavailable if this process may not."""
    try:
        descriptor = os.open(f"/proc/{offer.pid}/fd/{offer.descriptor}", os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise Unavailable(
            f"cannot open the shared memory of process {offer.pid}: {system_reason(error)}"
        ) from None
    try:
        return _map(descriptor, offer.size)
    finally:
        os.close(descriptor)


def _map(descriptor: int, size: int) -> Bytes:
    return np.frombuffer(mmap.mmap(descriptor, size, mmap.MAP_SHARED), dtype=np.uint8)
