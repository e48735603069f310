"""Memory whose pages go to whoever touches them, the processor or a CUDA device."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

from halftrip.cuda import driver as cuda
from halftrip.cuda.device import CudaDevice
from halftrip.memory.allocator import Bytes, HostRegion
from halftrip.memory.cuda import DeviceMemory
from halftrip.results.configuration import Pages

# To be reached from any stream: CU_MEM_ATTACH_GLOBAL.
_GLOBAL = 1


class ManagedMemory(DeviceMemory):
    """The kind ``managed``: cuMemAllocManaged. Its pages begin in the device's memory."""

    of_host = True

    def missing(self, pages: Pages) -> str | None:
        if not self.device.attribute(cuda.CONCURRENT_MANAGED_ACCESS):
            return "this device has no managed memory that the processor reaches at any time"
        return super().missing(pages)

    def allocate(self, size: int, pages: Pages) -> ManagedRegion:
        return ManagedRegion(self.device, size)


class ManagedRegion(HostRegion):
    """Raises Unavailable where the driver gives no such memory."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        self._device = device
        pointer = ctypes.c_uint64()
        device.enter()
        driver = cuda.driver()
        room = ctypes.c_size_t(size + mmap.PAGESIZE)
        driver.call("cuMemAllocManaged", ctypes.byref(pointer), room, _GLOBAL)
        self._allocation = pointer.value
        driver.call("cuMemsetD8_v2", pointer, ctypes.c_ubyte(0xA5), room)
        driver.call("cuCtxSynchronize")
        first = self._allocation + -self._allocation % mmap.PAGESIZE
        super().__init__(_mapped(first, size))

    def close(self) -> None:
        if self._allocation:
            self._device.release("cuMemFree_v2", ctypes.c_uint64(self._allocation))
            self._allocation = 0


def _mapped(address: int, size: int) -> Bytes:
    return np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address))
