"""How far messages are from what one copy by the kernel leaves, in words and as values."""

from __future__ import annotations

from typing import Any

from halftrip.analysis.figure import as_written
from halftrip.analysis.single_copies import SingleCopy
from halftrip.units import significant, size_in_words

_COPY = "one copy by the kernel (process_vm_readv)"


def sentence(name: str, found: SingleCopy) -> str:
    """What is said of the curve of this name."""
    speed, limit = (f"{significant(each / 1e9, 3)} GB/s" for each in (found.speed, found.limit))
    at = f"at {size_in_words(found.size)}"
    if found.is_excluded:
        return f"{name}: {at} {speed}, more than {_COPY} alone, {limit} here: it goes another way"
    if found.begins is None:
        return f"{name}: {at} {speed}; {_COPY}, if it is made, is limited to {limit} here"
    begins = size_in_words(found.begins)
    return (
        f"{name}: from {begins} on {_COPY}: {speed} {at}, where such a copy alone has {limit} here"
    )


def content(found: SingleCopy | None) -> dict[str, Any] | None:
    """The same for programs: bytes, and bytes per second."""
    if found is None:
        return None
    return {
        "size_bytes": found.size,
        "bytes_per_s": as_written(found.speed),
        "limit_bytes_per_s": as_written(found.limit),
        "from_bytes": found.begins,
        "excluded": found.is_excluded,
    }
