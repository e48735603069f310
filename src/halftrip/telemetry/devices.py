"""The devices whose memory a plan names: what they are, and which cores are near them."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.cpus import parse_list
from halftrip.cuda import driver as cuda
from halftrip.cuda import nvml
from halftrip.cuda.device import devices, find
from halftrip.errors import Unavailable
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.results.device import Device
from halftrip.results.memory_name import parse_memory

_OF_CUDA = ("cuda", "pinned", "managed")
_PCI = "/sys/bus/pci/devices"
_MODES = {0: "default", 2: "prohibited", 3: "exclusive process"}


def describe(memory: str, rank: int, reader: Reader = HOST_FILES) -> Device | None:
    """The device of a plan's memory as this process sees it; None where there is none, or none
    that can be used."""
    kind, name = parse_memory(memory)
    if kind not in _OF_CUDA:
        return None
    try:
        found = find(name)
        reaches = [
            other.uuid
            for other in devices()
            if other.number != found.number and found.reaches(other)
        ]
        mode = found.attribute(cuda.COMPUTE_MODE)
        return Device(
            rank=rank,
            memory=memory,
            index=found.index,
            name=found.name,
            uuid=found.uuid,
            pci=found.pci,
            cuda=cuda.driver().version,
            memory_bytes=found.memory_bytes,
            cache_bytes=found.attribute(cuda.L2_CACHE_BYTES),
            compute_mode=_MODES.get(mode, str(mode)),
            reaches=reaches,
            stand_in=cuda.driver().is_stand_in,
            numa_node=_numa_node(found.pci, reader),
            mps=found.mps,
            **nvml.facts(found.pci)._asdict(),
        )
    except Unavailable:
        # Why, its memory says where it is asked for.
        return None


def _numa_node(pci: str, reader: Reader) -> int | None:
    text = reader.line(f"{_PCI}/{pci}/numa_node")
    try:
        return int(text or "")
    except ValueError:
        return None


def near_cores(memory: str, reader: Reader = HOST_FILES) -> Sequence[int]:
    """The cores that the kernel says are local to the device of a plan's memory; none where it
    belongs to none, or to none that is here."""
    kind, name = parse_memory(memory)
    if kind not in _OF_CUDA:
        return ()
    try:
        pci = find(name).pci
    except Unavailable:
        return ()
    return parse_list(local_cores(pci, reader))


def local_cores(pci: str, reader: Reader = HOST_FILES) -> str:
    """The cores local to the device at a PCI address, as the kernel lists them; empty where it does
    not tell."""
    return reader.line(f"{_PCI}/{pci}/local_cpulist") or ""
