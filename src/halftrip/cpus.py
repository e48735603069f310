"""What the kernel tells of processors, and of the NUMA nodes that they and memory belong to."""

from __future__ import annotations

import re

from halftrip.kernel_files import HOST_FILES, Reader

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"


def parse_list(text: str) -> list[int]:
    """The numbers of a kernel list such as ``0-3,8``."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def siblings_of(number: int, reader: Reader = HOST_FILES) -> list[int]:
    """The logical processors of a core's physical core, itself among them; itself where the kernel
    does not tell."""
    line = reader.line(f"{CPUS}/cpu{number}/topology/thread_siblings_list")
    return parse_list(line or "") or [number]


def node_of(number: int, reader: Reader = HOST_FILES) -> int | None:
    """The NUMA node of a processor; None where the kernel does not tell."""
    found = (re.fullmatch(r"node(\d{1,6})", name) for name in reader.names(f"{CPUS}/cpu{number}"))
    return next((int(match[1]) for match in found if match), None)


def nodes_with_memory(reader: Reader = HOST_FILES) -> list[int]:
    """The NUMA nodes that have memory, in order; none where the kernel knows no nodes."""
    return parse_list(reader.line(f"{NODES}/has_memory") or "")


def processors_of_node(node: int, reader: Reader = HOST_FILES) -> list[int]:
    """The processors of a NUMA node, in order."""
    return parse_list(reader.line(f"{NODES}/node{node}/cpulist") or "")


def nodes_with_processors(reader: Reader = HOST_FILES) -> list[int]:
    """The NUMA nodes that have processors, in order."""
    return parse_list(reader.line(f"{NODES}/has_cpu") or "")
