"""The limits of the machine, and of its devices: no path between two ranks is faster."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from halftrip import _native
from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import DeviceStream, find
from halftrip.errors import Unavailable
from halftrip.memory.allocator import Bytes, HostRegion
from halftrip.memory.cuda import CudaRegion
from halftrip.memory.host import HOST
from halftrip.memory.pinned import PinnedRegion
from halftrip.results.block import Times
from halftrip.results.device import Device, DeviceCopy, DeviceLatency, Direction
from halftrip.results.memory_name import parse_memory
from halftrip.results.records import CopyTime
from halftrip.stats.median import median

if TYPE_CHECKING:
    from halftrip.measure.setup import Setup

# One probe of a page: this many samples of this many round trips, some 5 to 30 us in all.
_LINE_SAMPLES = 3
_LINE_BATCH = 10
_LINE_WARM_UP = 3
# How many pages are probed. Where cores are far from each other, each page has a level of its own:
# which memory controller has it decides how far its lines travel, and nothing tells which one that
# is. If half of the pages are far, one of ten is near in all but a thousandth of the cases.
_PAGES = 10
# A single pause between two polls has to take less than this of the time that more of them take: it
# does so only where two cores share all caches.
_MOST_OF_MORE = 0.8
# One copy time: this many samples of about this length.
_COPY_SAMPLES = 15
_COPY_SAMPLE_NS = 400_000
COPY_SIZES = (4096, 65536, 1 << 20, 4 << 20, 32 << 20)
# Copies of more than this many of the largest message bound nothing: buffers are not larger than
# two windows, and memory is never faster than the caches that hold small copies. Those up to the
# second size are always taken, as the fastest copy is among them. The largest takes 0.1 s.
_MOST_MESSAGES = 16
_ALWAYS = 65536
# A copy by the kernel is hardly faster in any larger one.
_LARGEST_OF_KERNEL = 4 << 20


class Probed(NamedTuple):
    """The core-to-core round trip of a cache line in the nearest and in the farthest of the probed
    pages, ns; None: there is one page only."""

    nearest: float
    farthest: float | None = None


class CacheLineProbe:
    """Measures the round trip of a cache line between the cores of two ranks; each has a probe.

    The time depends on the page, so several are tried, and the fastest is the bound. And it depends
    on how close the polls lie. Two threads of one core answer within a single pause of the
    processor, and more pauses make half of the time; where caches are far apart, each poll takes
    the line away from its writer, and more pauses save a fifth. Cores move between the two, so a
    probe tries a single pause and `poll_pause` of them, and what suits stays set at both ends until
    the next probe.

    `pages` is memory that both ranks map, PROBED_BYTES of zeros at first, which begins a page.
    `poll_pause` is how many pauses the machine calls for, the same at both ends: what is set may be
    the choice of a probe with another rank.
    """

    def __init__(self, pages: Bytes, clock: Clock, poll_pause: int) -> None:
        # Lines at other places of each page: those at the same one share a set of the caches.
        self._lines = _native.CacheLines(pages, _PAGES, mmap.PAGESIZE + 2 * _native.cache_line)
        self._clock = clock
        self._pauses = sorted({1, poll_pause})
        # The initiator's choice, beside the last line.
        self._chosen = np.frombuffer(pages, dtype=np.uint8)[-1:]

    def initiate(self) -> Probed:
        """The median round trips of the pages. The other rank calls `respond` meanwhile."""
        found = []
        for pause in self._pauses:
            timestamps = self._run(self._lines.initiate, pause)
            # Sorted, because np.median would take longer than the probe.
            medians = np.sort(np.diff(timestamps, axis=1), axis=1)[:, _LINE_SAMPLES // 2]
            found.append(self._clock.durations(medians))
        single, more = found[0], found[-1]
        best = single if single.min() < _MOST_OF_MORE * more.min() else more
        self._chosen[0] = self._pauses[0 if best is single else -1]
        self._agree(self._lines.initiate)
        return Probed(float(best.min()) / _LINE_BATCH, float(best.max()) / _LINE_BATCH)

    def respond(self) -> None:
        for pause in self._pauses:
            self._run(self._lines.respond, pause)
        self._agree(self._lines.respond)

    def _run(self, part: Callable[..., None], pause: int) -> Times:
        """The timestamps of each page, shape (pages, samples + 1)."""
        _native.set_poll_pause(pause)
        timestamps = np.zeros(_PAGES * (_LINE_SAMPLES + 1), dtype=np.int64)
        part(_LINE_WARM_UP, _LINE_BATCH, timestamps, self._clock.source)
        return timestamps.reshape(_PAGES, _LINE_SAMPLES + 1)

    def _agree(self, part: Callable[..., None]) -> None:
        """Sets the initiator's choice, which the other end has seen after a round trip."""
        part(0, 1, np.zeros(2 * _PAGES, dtype=np.int64), self._clock.source)
        _native.set_poll_pause(int(self._chosen[0]))


PROBED_BYTES = _PAGES * mmap.PAGESIZE


def copy_sizes(largest: int) -> list[int]:
    """The sizes of the copies that bound messages of up to `largest` bytes."""
    most = max(_MOST_MESSAGES * largest, _ALWAYS)
    return [size for size in COPY_SIZES if size <= most]


def copy_time(size: int, clock: Clock, by_kernel: bool = False) -> float:
    """The median time of one copy of `size` bytes from one buffer to another, ns: a memcpy, or
    `by_kernel`, with process_vm_readv. Raises OSError where that is not allowed."""
    source, target = (HOST.allocate(size, "4K").bytes for _ in range(2))

    def time(batch: int, samples: int) -> float:
        """The median time of a copy, ns, in samples of `batch` copies."""
        timestamps = np.zeros(samples + 1, dtype=np.int64)
        _native.copy(target, source, batch, timestamps, clock.source, by_kernel)
        return median(clock.intervals(timestamps)) / batch

    once = max(time(1, 3), 1.0)
    return time(max(1, int(_COPY_SAMPLE_NS / once)), _COPY_SAMPLES)


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


def measure_copies(
    setup: Setup,
    launch: int,
    record: Callable[[CopyTime | DeviceCopy | DeviceLatency], None],
    note: Callable[[int, Sequence[str]], None],
) -> None:
    """Measures how fast a rank copies, while the others rest, and then how fast the devices do
    whose memory is in the plan. All ranks call this; rank 0 records what each has found, and notes
    why there is no more of some."""
    group = setup.group
    # A device is at its fastest with all messages of a window at once.
    real = [setting for setting in setup.plans.settings if not setting.is_simulated]
    under_way = max(each.bytes_in_flight for each in real)
    # Cores differ, and what else runs beside them: another rank in every other launch.
    turn = launch % min(2, group.size)
    if turn in setup.absent:
        turn = 0
    sizes = copy_sizes(max(each.size for each in real)) if group.rank == turn else []
    copies = [CopyTime(rank=turn, size=size, ns=copy_time(size, setup.clock)) for size in sizes]
    if any(each.capabilities.copied_once for each in setup.transports.values()):
        # A container may not allow it.
        with contextlib.suppress(OSError):
            copies += [
                CopyTime(rank=turn, size=s, ns=copy_time(s, setup.clock, True), by_kernel=True)
                for s in sizes
                if s <= _LARGEST_OF_KERNEL
            ]
    for found_by_rank in group.gather(copies, list[CopyTime]) or []:
        for copy_of_host in found_by_rank:
            record(copy_of_host)
    group.barrier()
    devices = [each for each in setup.devices if each.rank not in setup.absent]
    found = measure_devices(group, devices, setup.hosts, under_way, setup.clock)
    for rank, measured in enumerate(found):
        for copy in measured.copies:
            record(copy)
        for latency in measured.latencies:
            record(latency)
        note(rank, measured.reasons)


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
