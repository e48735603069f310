"""The records of devices: what they are, and how fast they copy."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.bounds import Amount, Count, Name, Number, Positive, Rank, Size, Text

Direction = Literal["host to device", "device to host", "device to device"]


class Device(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="device"):
    """A device whose memory a plan names, as `rank` found it: `memory` is how the plan names it.
    What is None is not known.

    `driver` is the version of the driver, `cuda` that of CUDA which it has. The link to the host is
    PCI Express of a generation and so many lanes, at that moment and at most; `numa_node` is -1
    where the host has one. `power_limit` is W, clocks are MHz at most. With `mps`, processes share
    a context of it (CUDA's Multi-Process Service). `reaches` has the UUIDs of the other devices
    whose memory it accesses directly. With `stand_in`, the driver is one for
    tests: figures of such a run say nothing of a device.
    """

    rank: Rank
    memory: Name
    index: Number
    name: Text
    uuid: Text
    pci: Text
    cuda: Text
    memory_bytes: Size
    cache_bytes: Size
    compute_mode: Text
    reaches: list[Text]
    stand_in: bool
    driver: Text | None = None
    link_generation: Count | None = None
    link_generation_max: Count | None = None
    link_width: Count | None = None
    link_width_max: Count | None = None
    numa_node: int | None = None
    power_limit: Amount | None = None
    graphics_clock: Amount | None = None
    memory_clock: Amount | None = None
    ecc: bool | None = None
    mig: bool | None = None
    mps: bool | None = None
    launch: Number = 0

    def is_called(self, name: str) -> bool:
        """Whether a plan means it by what stands behind the ``@``: its index (0 if that is empty),
        the beginning of its UUID, or its PCI address."""
        if not name or name.isdecimal():
            return str(self.index) == (name.lstrip("0") or "0")
        return self.uuid.lower().startswith(name.lower()) or _address(name) == _address(self.pci)


def _address(text: str) -> tuple[str, list[str]]:
    """A PCI address as its domain, without zeros in front, and the rest: a domain of 0 may be left
    out, and NVML writes it with eight digits."""
    parts = text.lower().split(":")
    return "".join(parts[:-2]).lstrip("0"), parts[-2:]


class DeviceCopy(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="device-copy"):
    """The median time of one copy of `size` bytes that rank `rank` has begun and waited for, ns.
    `memory` is how the plan names the device. `host` is how the memory of the host is kept (empty:
    none is part of it), `peer` the other device of a copy between two. With `both_ways`, as many
    bytes go back at the same time."""

    rank: Rank
    memory: Name
    direction: Direction
    host: Literal["", "pageable", "pinned"]
    size: Size
    ns: Positive
    peer: Name = ""
    both_ways: bool = False


class DeviceLatency(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="device-latency"
):
    """The median time that rank `rank` waits for an idle stream of a device, and, with `kernel`,
    that it takes to launch an empty kernel and to wait for it, ns. Where the driver takes no such
    kernel, `refused` says why."""

    rank: Rank
    memory: Name
    synchronize: Positive
    kernel: Positive | None = None
    refused: Text = ""
