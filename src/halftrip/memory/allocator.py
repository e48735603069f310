"""The contract of a kind of memory: it allocates buffers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from halftrip.results.configuration import Pages

Bytes = npt.NDArray[np.uint8]


class Memory(Protocol):
    """One kind of memory; `registry.MEMORIES` has all of them by name."""

    def missing(self, pages: Pages) -> str | None:
        """Why it is not available here with pages of this size, or None."""

    def available(self) -> int:
        """How many bytes this process may still allocate."""

    def allocate(self, size: int, pages: Pages) -> Bytes:
        """`size` bytes that begin on a page boundary, mapped and touched by the calling core.
        Raises Unavailable or OSError."""
