"""The names of memory: a kind, and the device that it belongs to, as ``cuda@0``."""

from __future__ import annotations

import re
from typing import NamedTuple

from halftrip.registry import MEMORIES

# A PCI address has colons, which else stand between the memory of both ends.
_PCI = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
_NAME = rf"[^:@]+(?:@(?:{_PCI}|[^:@]+))?"
_BOTH = re.compile(rf"(?P<initiator>{_NAME})(?::(?P<responder>{_NAME}))?")

# The kinds here that the processor reaches by plain loads and stores. One of a plug-in says so of
# itself.
HOST_KINDS = ("host", "pinned", "managed")


class MemoryName(NamedTuple):
    """`device` is empty where none is named."""

    kind: str
    device: str


def parse_memory(name: str) -> MemoryName:
    """The parts of a name such as ``cuda@0``."""
    kind, _, device = name.partition("@")
    return MemoryName(kind, device)


def both_memories(text: str) -> tuple[str, str] | None:
    """The names of the initiator's and the responder's memory in a text such as ``host`` or
    ``pinned:cuda@0``; None if it is no such text."""
    match = _BOTH.fullmatch(text)
    if match is None:
        return None
    initiator, responder = match.group("initiator", "responder")
    return initiator, responder or initiator


def is_of_host(name: str) -> bool:
    """Whether the processor reaches the memory of that name, which a plan may have. Raises
    UsageError for a plug-in that cannot be imported."""
    kind = parse_memory(name).kind
    if kind in MEMORIES.built_in or kind not in MEMORIES:
        return kind in HOST_KINDS
    return bool(getattr(MEMORIES.load(kind), "of_host", False))


def is_on_device(name: str) -> bool:
    """Whether the memory of that name in a run is, as far as its kind is known here, of a CUDA
    device alone."""
    return parse_memory(name).kind == "cuda"
