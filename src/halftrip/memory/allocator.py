"""What a kind of memory is: it allocates buffers."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from halftrip.results.case import Pages

Bytes = npt.NDArray[np.uint8]


class Memory(Protocol):
    """One kind of memory, by the name under which `registry.MEMORIES` has it."""

    def missing(self, pages: Pages) -> str | None:
        """Why it cannot be had here with pages of this size, or None."""

    def available(self) -> int:
        """How many bytes this process may still allocate."""

    def allocate(self, size: int, pages: Pages) -> Bytes:
        """`size` bytes that start a page, mapped and touched by the calling core. Raises
        Unavailable or OSError."""
