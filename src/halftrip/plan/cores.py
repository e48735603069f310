"""Which core each rank gets, as plans name them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from halftrip import cpus
from halftrip.errors import UsageError
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.plan.parsing import items

_SPAN = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?", re.ASCII)
_MOST_CORES = 16_384
# Two of each node make a pair on it.
_OF_A_NODE = 2


def cores(value: Any) -> tuple[int, ...] | Literal["none"]:
    """A reader of core numbers such as ``0,2-5``; of ``all`` that this process may use; of
    ``physical``, of which none is another thread of the same; of ``nodes``, two of each NUMA node,
    one after the other; of ``none``. Raises UsageError."""
    if isinstance(value, str) and value in _CHOSEN:
        return _CHOSEN[value](HOST_FILES)
    if value == "none":
        return "none"
    cores: list[int] = []
    for item in items(value):
        match = _SPAN.fullmatch(str(item))
        if match is None:
            words = ", ".join(_CHOSEN)
            said = f"write core numbers as 0,1 or 0-3, or {words} or none"
            raise UsageError(f"{item!r} is not a core; {said}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"{item!r} ends before it begins; write core numbers as 0,1 or 0-3")
        if len(cores) + last - first >= _MOST_CORES:
            raise UsageError(f"{item!r} names too many cores; at most {_MOST_CORES}")
        cores.extend(range(first, last + 1))
    return tuple(cores)


def _all(_: Reader) -> tuple[int, ...]:
    return _several(sorted(os.sched_getaffinity(0)))


def _physical(reader: Reader) -> tuple[int, ...]:
    return _several(_first_threads(sorted(os.sched_getaffinity(0)), reader))


def _first_threads(allowed: Sequence[int], reader: Reader) -> list[int]:
    """The first of these of each physical core."""
    first = {min(cpus.siblings_of(core, reader)): core for core in reversed(allowed)}
    return sorted(first.values())


def _several(found: Sequence[int], where: str = "") -> tuple[int, ...]:
    if len(found) == 1:
        raise UsageError(f"{where}this process may use core {found[0]} alone; a pair needs two")
    return tuple(found)


def _of_nodes(reader: Reader) -> tuple[int, ...]:
    """The last two physical cores of each node, as the first of all gets most interrupts; the two
    threads of one, where a node has no other."""
    allowed = os.sched_getaffinity(0)
    chosen: list[int] = []
    for node in cpus.nodes_with_processors(reader):
        own = [core for core in cpus.processors_of_node(node, reader) if core in allowed]
        physical = _first_threads(own, reader)
        found = physical if len(physical) >= _OF_A_NODE else own
        chosen += _several(found[-_OF_A_NODE:], f"of node {node} ")
    if not chosen:
        raise UsageError("the kernel tells of no NUMA nodes here; name cores, as 0,1")
    return tuple(chosen)


_CHOSEN: Mapping[str, Callable[[Reader], tuple[int, ...]]] = MappingProxyType(
    {"all": _all, "physical": _physical, "nodes": _of_nodes}
)
