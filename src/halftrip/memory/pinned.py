"""The host's memory, page-locked so that a CUDA device copies from and to it by itself."""

from __future__ import annotations

import ctypes

from halftrip.cuda import driver as cuda
from halftrip.cuda.device import CudaDevice, find
from halftrip.memory.allocator import Bytes, HostRegion, Memory
from halftrip.memory.host import HOST
from halftrip.results.configuration import Pages

# For all contexts, and mapped into the device's address space: CU_MEMHOSTREGISTER_*.
_PORTABLE, _DEVICEMAP = 0x01, 0x02


class PinnedMemory(Memory):
    """The kind ``pinned``: the host's memory, registered with the driver (cuMemHostRegister), so
    that it has the pages that were asked for and is first touched by the core that uses it. Raises
    Unavailable where there is no such device."""

    of_host = True

    def __init__(self, name: str) -> None:
        self.device = find(name)

    def missing(self, pages: Pages) -> str | None:
        return HOST.missing(pages)

    def available(self) -> int:
        return HOST.available()

    def allocate(self, size: int, pages: Pages) -> PinnedRegion:
        return PinnedRegion(self.device, HOST.allocate(size, pages).bytes)

    def enter(self) -> None:
        self.device.enter()


class PinnedRegion(HostRegion):
    """Memory of this process, `memory`, that is page-locked until it is closed. Raises
    Unavailable."""

    def __init__(self, device: CudaDevice, memory: Bytes) -> None:
        super().__init__(memory)
        self._device = device
        device.enter()
        cuda.driver().call(
            "cuMemHostRegister_v2",
            ctypes.c_void_p(self.pointer),
            ctypes.c_size_t(self.size),
            _PORTABLE | _DEVICEMAP,
        )
        self._is_registered = True

    @property
    def device_pointer(self) -> int:
        """Its address for the device."""
        self._device.enter()
        found = ctypes.c_uint64()
        cuda.driver().call(
            "cuMemHostGetDevicePointer_v2",
            ctypes.byref(found),
            ctypes.c_void_p(self.pointer),
            0,
        )
        return found.value

    def close(self) -> None:
        if self._is_registered:
            self._is_registered = False
            self._device.release("cuMemHostUnregister", ctypes.c_void_p(self.pointer))
