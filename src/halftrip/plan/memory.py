"""The memory of both ends, and how messages in a device's are staged, as options have them."""

from __future__ import annotations

import re
from typing import Any, Literal

from halftrip import cpus
from halftrip.errors import UsageError
from halftrip.kernel_files import HOST_FILES
from halftrip.plan.parsing import items, one_of
from halftrip.registry import MEMORIES
from halftrip.results.memory_name import both_memories, parse_memory
from halftrip.units import parse_size

# What a transport can do: take a device's pointers as they are, or send from the host's memory;
# "as-needed": the latter by itself, where its library does not take the pointers.
StagingKind = Literal["none", "staged", "as-needed"]
_CHUNK = "chunk="
_NODE = re.compile(r"\d{1,5}", re.ASCII)
# Nodes to compare, and ends.
_SEVERAL = 2


def staging_bytes(text: str) -> int | None:
    """The field of a configuration for ``none``, ``whole`` or ``chunk=SIZE``. Raises UsageError."""
    if text == "none":
        return None
    if text == "whole":
        return 0
    if not text.startswith(_CHUNK):
        raise UsageError(f"{text!r} is not none, whole or chunk=SIZE")
    if text == _CHUNK:
        raise UsageError(f"{text!r} has no size; write it as chunk=512K")
    size = parse_size(text.removeprefix(_CHUNK))
    if size < 1:
        raise UsageError(f"{text!r}: a chunk has at least one byte")
    return size


def staging_option(staging: int | None) -> str:
    """The text of which `staging_bytes` makes this."""
    if staging is None:
        return "none"
    return f"{_CHUNK}{staging}" if staging else "whole"


def both_of(memory: str) -> tuple[str, str]:
    """The names of both ends' memory."""
    names = both_memories(memory)
    if names is None:
        raise UsageError(f"memory: {memory!r} is no kind of memory, nor two of them")
    return names


def memories(value: Any) -> tuple[str, ...]:
    """Kinds of memory, each with or without its device: ``host``, ``cuda@0`` for both ends,
    ``pinned:cuda@0000:3b:00.0`` for the initiator and the responder."""
    found = []
    for item in items(value):
        ends = both_memories(str(item))
        if ends is None:
            raise UsageError(f"{item!r} is no kind of memory, nor two of them: KIND or KIND@DEVICE")
        for end in ends:
            kind, device = parse_memory(end)
            one_of(MEMORIES)(kind)
            if kind == "host" and device and not _NODE.fullmatch(device):
                said = f"host memory is of a NUMA node, as host@0, or pinned@{device}"
                raise UsageError(f"{end!r}: {said}")
        found.append(":".join(dict.fromkeys(ends)))
    return tuple(dict.fromkeys(found))


def of_nodes(value: Any) -> tuple[str, ...]:
    """Host memory of NUMA nodes: ``0`` for both ends, ``0:1`` for the initiator and the responder,
    ``all`` for each node of this host in turn."""
    if value == "all":
        found = cpus.nodes_with_memory(HOST_FILES)
        if len(found) < _SEVERAL:
            said = "this host has one NUMA node, and so nothing to compare"
            raise UsageError(f"{said}; name nodes by their numbers, 0 here")
        return tuple(f"host@{node}" for node in found)
    ends = [str(item).split(":") for item in items(value)]
    for nodes in ends:
        if len(nodes) > _SEVERAL or not all(map(_NODE.fullmatch, nodes)):
            raise UsageError(f"{':'.join(nodes)!r} is no NUMA node, nor two: 0, 0:1, or all")
    return memories([":".join(f"host@{int(node)}" for node in nodes) for nodes in ends])


def missing_node(memory: str) -> str | None:
    """Why this host has no such memory as a NUMA node's, or None."""
    known = cpus.nodes_with_memory(HOST_FILES)
    for kind, node in map(parse_memory, both_of(memory)):
        if kind == "host" and node and int(node) not in known:
            nodes = ", ".join(map(str, known)) or "the kernel tells of none"
            return f"no NUMA node {node} with memory here; nodes: {nodes}"
    return None


def stagings(value: Any) -> tuple[str, ...]:
    """Ways of staging, as written."""
    found = [str(item) for item in items(value)]
    for text in found:
        staging_bytes(text)
    return tuple(dict.fromkeys(found))
