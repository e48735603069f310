"""The memory of CUDA devices between two processes of one host: each opens the other's buffers by
their IPC handles, and the sender copies there."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import msgspec

from halftrip import _native
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import CudaDevice, DeviceStream, find
from halftrip.errors import Unavailable
from halftrip.memory.allocator import memory_named
from halftrip.memory.cuda import CudaMemory, CudaRegion
from halftrip.memory.pinned import PinnedRegion
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, NativeWindow, patterns_of

# Where two devices can access each other, an opened handle makes them do so:
# CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.
_ENABLE_PEER_ACCESS = 1


class _IpcHandle(ctypes.Structure):
    """CUipcMemHandle."""

    _fields_ = (("reserved", ctypes.c_ubyte * 64),)


class CudaIpcTransport(Transport):
    capabilities = Capabilities(
        patterns={
            "blocking": patterns_of("CudaIpc"),
            "nonblocking": patterns_of("CudaIpcNonblocking"),
            "onesided": patterns_of("CudaIpcWindow"),
        },
        waits=("spin",),
        no_other_wait="cuda-ipc polls a word in memory; there is nothing in it to sleep on",
        of_host=False,
        memories=("cuda",),
        opens_memory=True,
        settings={"device_copy": ("driver", "engine")},
    )

    def missing(self, pair: PairContext) -> str | None:
        return cuda.missing() or pair.different_hosts

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.touch != "none":
            return f"--touch {configuration.touch}: the processor does not reach a device's memory"
        return super().refuses(configuration)

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return CudaIpcPath(pair)


class CudaIpcPath(Path):
    """There is nothing to open before the buffers are known."""

    def __init__(self, pair: PairContext) -> None:
        self._pair = pair

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        if configuration.is_one_sided:
            return CudaIpcWindow(self._pair, configuration, buffers)
        return CudaIpcMessages(self._pair, configuration, buffers)


class Shared(msgspec.Struct, frozen=True):
    """Memory of a device, as the other end opens it: `handle` is that of an allocation, in which
    the buffers begin `offset` bytes from its start. `words` is where the initiator's end has the
    words that both map; None at the responder's."""

    device: str
    handle: bytes
    offset: int
    slots: int
    size: int
    stride: int
    words: SharedOffer | None


class _Sharing:
    """One end's part of what both share: a segment of words, and the peer's opened memory."""

    def __init__(self, pair: PairContext, configuration: Configuration) -> None:
        self._pair = pair
        memory: CudaMemory = memory_named(pair.end_of(configuration).memory)  # type: ignore[assignment]
        self.device = memory.device
        self._resources = contextlib.ExitStack()
        stream = DeviceStream(self.device, configuration.device_copy == "engine")
        self._resources.callback(stream.close)
        self._stream = stream.native
        self._segment: SharedSegment | None = None
        if pair.initiates:
            self._segment = SharedSegment(_native.cuda_ipc_segment_size)
            self._resources.callback(self._segment.close)

    def address(
        self, region: CudaRegion, configuration: Configuration, shape: tuple[int, int, int]
    ) -> Any:
        """What the peer opens. Raises Unavailable where the driver gives no handle, as in some
        containers."""
        handle = _IpcHandle()
        self.device.enter()
        cuda.driver().call(
            "cuIpcGetMemHandle", ctypes.byref(handle), ctypes.c_uint64(region.allocation)
        )
        offset = region.pointer - region.allocation + configuration.align
        words = None if self._segment is None else self._segment.offer
        shared = Shared(self.device.uuid, bytes(handle), offset, *shape, words)
        return msgspec.to_builtins(shared, builtin_types=(bytes,))

    def open(self, shared: Shared) -> tuple[_native.CudaIpcLink, int]:
        """The words of both ends, for native code, and the address of the peer's first buffer.
        Raises Unavailable."""
        self._check_reach(find(shared.device))
        if self._segment is not None:
            words = self._segment.bytes
        elif shared.words is not None:
            words = open_offer(shared.words)
        else:
            raise Unavailable("neither end has the words that both need")
        registered = PinnedRegion(self.device, words)
        self._resources.callback(registered.close)
        opened = self._open_handle(shared.handle)
        link = _native.CudaIpcLink(
            stream=self._stream,
            segment=words,
            device_segment=registered.device_pointer,
            side=0 if self._pair.initiates else 1,
            yields=self._pair.shares_core,
        )
        return link, opened + shared.offset

    def _check_reach(self, other: CudaDevice) -> None:
        if not self.device.reaches(other):
            raise Unavailable(
                f"cuda@{self.device.index} cannot access the memory of {other.name} ({other.pci})"
            )

    def _open_handle(self, handle: bytes) -> int:
        opened = ctypes.c_uint64()
        self.device.enter()
        driver = cuda.driver()
        driver.call(
            "cuIpcOpenMemHandle_v2",
            ctypes.byref(opened),
            _IpcHandle.from_buffer_copy(handle),
            _ENABLE_PEER_ACCESS,
        )
        self._resources.callback(self.device.release, "cuIpcCloseMemHandle", opened)
        return opened.value

    def close(self) -> None:
        self._resources.close()


class CudaIpcMessages(NativeEndpoint):
    """The peer copies into the receive buffers of this end."""

    def __init__(
        self, pair: PairContext, configuration: Configuration, buffers: EndpointBuffers
    ) -> None:
        super().__init__(None, configuration, pair.initiates, buffers)
        self._sharing = _Sharing(pair, configuration)
        region: CudaRegion = buffers.in_.region  # type: ignore[assignment]
        try:
            self.address = self._sharing.address(region, configuration, buffers.in_.shape)
        except Unavailable:
            self.close()
            raise

    def connect(self, address: Any) -> None:
        shared = msgspec.convert(address, Shared)
        link, first = self._sharing.open(shared)
        target = _native.Ring(first, shared.slots, shared.size, shared.stride)
        if self._configuration.mode == "nonblocking":
            window = self._configuration.window
            self._end = _native.CudaIpcNonblocking(link, target, max_window=window)
        else:
            self._end = _native.CudaIpc(link, target)

    def close(self) -> None:
        super().close()
        self._sharing.close()


class CudaIpcWindow(NativeWindow):
    """The initiator copies into and out of memory that the other end exposes."""

    def __init__(
        self, pair: PairContext, configuration: Configuration, buffers: EndpointBuffers
    ) -> None:
        super().__init__(None, configuration, pair.initiates, buffers)
        self._sharing = _Sharing(pair, configuration)
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            self._exposed = CudaRegion(self._sharing.device, buffers.exposed_bytes)
            undo.callback(self._exposed.close)
            shape = (1, self._exposed.size - configuration.align, 0)
            self.address = self._sharing.address(self._exposed, configuration, shape)
            undo.pop_all()
        self.expose(self._exposed)

    def connect(self, address: Any) -> None:
        shared = msgspec.convert(address, Shared)
        link, first = self._sharing.open(shared)
        self._end = _native.CudaIpcWindow(link, window=first, size=shared.size)

    def close(self) -> None:
        super().close()
        self._sharing.close()

    def free(self) -> None:
        self._exposed.close()
