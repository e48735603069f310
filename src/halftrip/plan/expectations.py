"""What somebody expects of a network, as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from halftrip.errors import UsageError
from halftrip.plan.parsing import items, rate
from halftrip.units import parse_duration

_MESSAGES = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)\s*([kMG]?)", re.ASCII)
_MOST = 1e15
# How far a figure may be from what is expected, as a share of that, where nobody says.
DEFAULT_TOLERANCE = 0.1


def expectations(value: Any) -> str:
    """A text that `expected` reads."""
    text = ",".join(str(item) for item in items(value))
    expected(text)
    return text


def expected(text: str) -> dict[str, float]:
    """What is expected of each figure: ``latency=3us``, ``bandwidth=11GB/s`` and ``messages=1M/s``
    in base units: s, bytes per second, messages per second (k, M and G are powers of 1000)."""
    found: dict[str, float] = {}
    for item in items(text):
        name, _, number = (part.strip() for part in item.partition("="))
        if name not in _EXPECTED:
            allowed = "latency=3us, bandwidth=11GB/s, messages=1M/s"
            raise UsageError(f"{name!r} is not known; write {allowed}")
        if name in found:
            raise UsageError(f"{name} is expected twice")
        found[name] = _EXPECTED[name](number.removesuffix("/s"))
        if not 0 < found[name] < _MOST:
            raise UsageError(f"{name}: {number!r} is out of range; more than 0")
    return found


def _messages(text: str) -> float:
    match = _MESSAGES.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is not a number of messages; write 500k, 1.5M or 1500000")
    return float(match[1]) * {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}[match[2]]


# How each figure is read.
_EXPECTED: dict[str, Callable[[str], float]] = {
    "latency": parse_duration,
    "bandwidth": rate,
    "messages": _messages,
}
