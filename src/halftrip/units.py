"""Reads sizes and times that people write; formats numbers for people."""

from __future__ import annotations

import math
import re

from halftrip.errors import UsageError

_SIZE_UNITS = {
    "": 1,
    "b": 1,
    "k": 1024,
    "kib": 1024,
    "kb": 1000,
    "m": 1024**2,
    "mib": 1024**2,
    "mb": 1000**2,
    "g": 1024**3,
    "gib": 1024**3,
    "gb": 1000**3,
}
_TIME_UNITS = {
    "": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "ns": 1e-9,
    "min": 60.0,
    "m": 60.0,
    "h": 3600.0,
}
# No memory is larger, and a series of sizes without a limit could go on for ever.
_LARGEST_SIZE = 1 << 60
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)", re.IGNORECASE | re.ASCII)


def _split(text: str, units: dict[str, float] | dict[str, int]) -> tuple[str, float] | None:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return None
    unit = units.get(match[2].lower())
    return None if unit is None else (match[1], unit)


def parse_size(text: str) -> int:
    """Bytes from ``8``, ``64K``, ``1.5MiB``, ``2MB``: K, M, G and KiB, MiB, GiB are powers of 1024,
    kB, MB, GB powers of 1000.

    Raises UsageError if it is not a size, not a whole number of bytes, or more than any memory.
    """
    parts = _split(text, _SIZE_UNITS)
    if parts is None:
        raise UsageError(f"{text!r} is not a size; write bytes as 8, 64K, 4M, 2MB or 1GiB")
    size = float(parts[0]) * parts[1]
    if size > _LARGEST_SIZE:
        raise UsageError(f"{text[:40]!r} is more than any memory holds")
    if size != int(size):
        raise UsageError(f"{text!r} is not a whole number of bytes")
    return int(parts[0]) * int(parts[1]) if parts[0].isdecimal() else int(size)


def parse_duration(text: str) -> float:
    """Seconds from ``0.3s``, ``300ms``, ``2min`` or a bare number of seconds. Raises
    UsageError if it is not a time."""
    parts = _split(text, _TIME_UNITS)
    if parts is None:
        raise UsageError(f"{text!r} is not a time; write 0.3s, 300ms, 2min or seconds")
    return float(parts[0]) * parts[1]


def parse_share(text: str) -> float:
    """The number 0.01 from ``1%`` or ``0.01``. Raises UsageError if it is neither."""
    number = text.strip().removesuffix("%")
    try:
        share = float(number) / (100.0 if text.strip().endswith("%") else 1.0)
    except ValueError:
        raise UsageError(f"{text!r} is not a share; write 1% or 0.01") from None
    return share


def format_size(size: int | None) -> str:
    """Whole K, M or G (powers of 1024) where that is exact, else bytes: ``64K``, ``1536``; ``?``
    for a size that is not known."""
    if size is None:
        return "?"
    for unit, factor in (("G", 1024**3), ("M", 1024**2), ("K", 1024)):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return str(size)


def size_name(size: int | None) -> str:
    """As rows are called by it: ``64K``, or ``8 B``, since a bare number could be anything."""
    text = format_size(size)
    return f"{text} B" if text.isdecimal() else text


def size_in_words(size: int | None) -> str:
    """A size with its unit: ``8 B``, ``64 KiB``, or ``? B``."""
    text = format_size(size)
    return f"{text} B" if text.isdecimal() or size is None else f"{text[:-1]} {text[-1]}iB"


def significant(value: float, digits: int = 4) -> str:
    """`value` with at least `digits` significant digits, thousands grouped, no exponent, or as
    ``nan`` and ``inf``.

    >>> significant(0.15234), significant(81.126), significant(13122.7)
    ('0.1523', '81.13', '13,123')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    # What rounds up to the next power of ten has a digit more before the point.
    value = float(f"{value:.{max(1, digits) - 1}e}") if abs(value) < 10.0 ** (digits - 1) else value
    before_point = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    leading_zeros = 0
    if before_point == 0:
        leading_zeros = -int(f"{abs(value):e}".partition("e")[2]) - 1
    decimals = max(0, digits - before_point + leading_zeros)
    return f"{value:,.{decimals}f}"
