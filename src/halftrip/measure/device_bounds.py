"""The limits of devices: no path that ends in their memory is faster."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import DeviceStream, find
from halftrip.errors import Unavailable
from halftrip.measure.bounds import copy_sizes
from halftrip.memory.allocator import HostRegion
from halftrip.memory.cuda import CudaRegion
from halftrip.memory.host import HOST
from halftrip.memory.pinned import PinnedRegion
from halftrip.results.block import Times
from halftrip.results.device import Device, DeviceCopy, DeviceLatency, Direction
from halftrip.results.memory_name import parse_memory
from halftrip.stats.median import median

# One figure: this many samples, of this length, ns, or of one copy.
_SAMPLES = 9
_SAMPLE_NS = 300_000
# An empty kernel, which every driver since CUDA 9 compiles for its device.
_PTX = b""".version 6.0
.target sm_50
.address_size 64
.visible .entry halftrip_empty() { ret; }
"""
_KERNEL = b"halftrip_empty"

_Timer = Callable[[int, Times], None]


class DeviceBounds(msgspec.Struct, frozen=True):
    """What a rank has measured of its devices; `reasons` say why there is no more of some."""

    copies: list[DeviceCopy]
    latencies: list[DeviceLatency]
    reasons: list[str]


def measure_devices(
    group: Group, devices: Sequence[Device], hosts: Sequence[str], largest: int, clock: Clock
) -> list[DeviceBounds]:
    """The bounds of rank 0's `devices`, for messages of which up to `largest` bytes are under way.
    All ranks call this; `hosts` is by rank, and what counts is rank 0's. Rank 0 gets what each rank
    has measured, in order of rank; the others get nothing."""
    turns: list[list[Device]]
    turns, largest = group.broadcast(
        (turns_of(devices, hosts), largest), tuple[list[list[Device]], int]
    )
    every = [device for turn in turns for device in turn]
    copies: list[DeviceCopy] = []
    latencies: list[DeviceLatency] = []
    reasons: list[str] = []
    for turn in turns:
        for device in turn:
            if device.rank != group.rank:
                continue
            try:
                for found in device_bounds(device, every, largest, clock):
                    if isinstance(found, DeviceCopy):
                        copies.append(found)
                    else:
                        latencies.append(found)
            except (Unavailable, OSError, _native.DeviceError) as error:
                reasons.append(f"not all bounds of {device.memory} are known: {error}")
        group.barrier()
    if not turns:
        return []
    return group.gather(DeviceBounds(copies, latencies, reasons), DeviceBounds) or []


def turns_of(devices: Sequence[Device], hosts: Sequence[str]) -> list[list[Device]]:
    """The devices that have memory of the plan's, each once, as the first rank has found it. Those
    of a turn are of different hosts, so that no copy is beside another one."""
    once: dict[str, Device] = {}
    for device in devices:
        # Of page-locked memory, nothing is on the device.
        if parse_memory(device.memory).kind != "pinned":
            once.setdefault(device.uuid, device)
    of_hosts: dict[str, list[Device]] = {}
    for device in once.values():
        of_hosts.setdefault(hosts[device.rank], []).append(device)
    most = max(map(len, of_hosts.values()), default=0)
    return [[own[turn] for own in of_hosts.values() if turn < len(own)] for turn in range(most)]


def device_bounds(
    device: Device, devices: Sequence[Device], largest: int, clock: Clock
) -> Iterator[DeviceCopy | DeviceLatency]:
    """The bounds of a device that this rank has found, and of its copies to those of `devices` that
    it reaches. Raises Unavailable or DeviceError where a device fails."""
    others = [other for other in devices if other.uuid in device.reaches]
    with contextlib.ExitStack() as resources, contextlib.suppress(_NoRoomError):
        yield from _Bounds(device, others, copy_sizes(largest), clock, resources).all()


def _memory_of(device: Device) -> str:
    """The name of its memory, which the plan may not have: that of managed memory is another."""
    is_its_own = parse_memory(device.memory).kind == "cuda"
    return device.memory if is_its_own else f"cuda@{device.index}"


class _NoRoomError(Exception):
    """The device has no memory left for even the smallest copy."""


class _Kind(NamedTuple):
    """A kind of copies: from one address to another, and, where it goes both ways, back."""

    direction: Direction
    to: int
    from_: int
    host: str = ""
    peer: str = ""
    back: tuple[int, int] | None = None


class _Bounds:
    def __init__(
        self,
        device: Device,
        others: Sequence[Device],
        sizes: Sequence[int],
        clock: Clock,
        resources: contextlib.ExitStack,
    ) -> None:
        self._rank, self._memory = device.rank, _memory_of(device)
        self._clock = clock
        self._device = find(device.uuid)
        self._resources = resources
        self._others = others
        self._in_use: list[HostRegion] = []
        # Two regions, and what else the driver keeps.
        room = self._device.memory()[0] // 4
        self._sizes = [size for size in sizes if size <= room]
        if not self._sizes:
            raise _NoRoomError
        self._streams = [self._new_stream() for _ in range(2)]

    def _new_stream(self) -> _native.CudaStream:
        stream = DeviceStream(self._device)
        self._resources.callback(stream.close)
        return stream.native

    def all(self) -> Iterator[DeviceCopy | DeviceLatency]:
        for kind in self._kinds(max(self._sizes)):
            for size in self._sizes:
                yield DeviceCopy(
                    rank=self._rank,
                    memory=self._memory,
                    direction=kind.direction,
                    host=kind.host,  # type: ignore[arg-type]
                    size=size,
                    ns=max(self._copy(kind, size), 1e-9),
                    peer=kind.peer,
                    both_ways=kind.back is not None,
                )
        yield self._latency()

    def _kinds(self, size: int) -> Iterator[_Kind]:
        one, other = self._on(self._device.uuid, size), self._on(self._device.uuid, size)
        for name in ("pageable", "pinned"):
            there, back = (self._in_host(name, size) for _ in range(2))
            yield _Kind("host to device", one, there, name)
            yield _Kind("device to host", there, one, name)
            if name == "pinned":
                yield _Kind("host to device", one, there, name, back=(back, other))
        yield _Kind("device to device", other, one)
        for device in self._others:
            self._device.reach(find(device.uuid))
            far, farther = self._on(device.uuid, size), self._on(device.uuid, size)
            one_way = _Kind("device to device", far, one, peer=_memory_of(device))
            yield one_way
            yield one_way._replace(back=(other, farther))

    def _on(self, uuid: str, size: int) -> int:
        region = CudaRegion(find(uuid), size)
        self._resources.callback(region.close)
        return region.pointer

    def _in_host(self, name: str, size: int) -> int:
        memory = HOST.allocate(size, "4K")
        # Mapped until the copies are over.
        self._in_use.append(memory)
        if name == "pinned":
            pinned = PinnedRegion(self._device, memory.bytes)
            self._resources.callback(pinned.close)
        return memory.pointer

    def _copy(self, kind: _Kind, size: int) -> float:
        """The median time of a copy, ns."""
        there, back = self._streams
        returned = (back, *kind.back) if kind.back is not None else (None, 0, 0)
        self._device.enter()

        def time(count: int, timestamps: Times) -> None:
            source = self._clock.source
            _native.device_copy(
                there, kind.to, kind.from_, size, count, timestamps, source, *returned
            )

        return self._median(time)

    def _median(self, time: _Timer) -> float:
        def sampled(count: int, samples: int) -> float:
            timestamps = np.zeros(samples + 1, dtype=np.int64)
            time(count, timestamps)
            return median(self._clock.intervals(timestamps)) / count

        once = max(sampled(1, 3), 1.0)
        return sampled(max(1, int(_SAMPLE_NS / once)), _SAMPLES)

    def _latency(self) -> DeviceLatency:
        stream, source = self._streams[0], self._clock.source
        self._device.enter()
        idle = self._median(
            lambda count, stamps: _native.device_copy(stream, 0, 0, 0, count, stamps, source)
        )
        kernel, refused = None, ""
        try:
            function = self._empty_kernel()
            launch = cuda.driver().address("cuLaunchKernel")
            kernel = self._median(
                lambda count, stamps: _native.device_kernel(
                    stream, launch, function, count, stamps, source
                )
            )
        except Unavailable as error:
            refused = str(error)
        return DeviceLatency(
            rank=self._rank,
            memory=self._memory,
            synchronize=max(idle, 1e-9),
            kernel=kernel,
            refused=refused,
        )

    def _empty_kernel(self) -> int:
        """The kernel, compiled by the driver. Raises Unavailable if it takes none."""
        driver, module, function = cuda.driver(), ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(module), _PTX)
        self._resources.callback(self._device.release, "cuModuleUnload", module)
        driver.call("cuModuleGetFunction", ctypes.byref(function), module, _KERNEL)
        return function.value or 0
