"""Memory of a CUDA device, which the processor does not reach: cuMemAlloc."""

from __future__ import annotations

import ctypes
import mmap
from functools import cached_property

from halftrip.cuda import driver as cuda
from halftrip.cuda.device import CudaDevice, DeviceStream, find
from halftrip.memory.allocator import Bytes, Memory, Region, Stage
from halftrip.memory.host import HOST
from halftrip.memory.pinned import PinnedRegion
from halftrip.results.configuration import Pages


class DeviceMemory(Memory):
    """What the kinds of memory that CUDA's driver allocates have in common. Raises Unavailable
    where there is no such device."""

    def __init__(self, name: str) -> None:
        self.device: CudaDevice = find(name)

    def missing(self, pages: Pages) -> str | None:
        if pages == "huge":
            return "--pages huge: memory that CUDA allocates has pages of the driver's choice"
        return None

    def available(self) -> int:
        return self.device.memory()[0]

    def enter(self) -> None:
        self.device.enter()


class CudaMemory(DeviceMemory):
    """The kind ``cuda``."""

    @cached_property
    def cache_bytes(self) -> int:  # type: ignore[override]
        return self.device.attribute(cuda.L2_CACHE_BYTES)

    def stage(self, size: int) -> Stage:
        return Stage(
            PinnedRegion(self.device, HOST.allocate(size, "4K").bytes), DeviceStream(self.device)
        )

    def allocate(self, size: int, pages: Pages) -> CudaRegion:
        return CudaRegion(self.device, size)


class CudaRegion(Region):
    """`allocation` is the address that the driver gave, of which `pointer` is the first multiple of
    a page."""

    def __init__(self, device: CudaDevice, size: int) -> None:
        self._device = device
        self._driver = cuda.driver()
        self.size = size
        allocation = ctypes.c_uint64()
        device.enter()
        self._driver.call(
            "cuMemAlloc_v2", ctypes.byref(allocation), ctypes.c_size_t(size + mmap.PAGESIZE)
        )
        self.allocation = allocation.value
        self.pointer = self.allocation + -self.allocation % mmap.PAGESIZE
        # Any value but zero, as in the host's memory.
        self._call("cuMemsetD8_v2", ctypes.c_ubyte(0xA5), ctypes.c_size_t(size))
        self._driver.call("cuCtxSynchronize")

    def write(self, data: Bytes) -> None:
        self._call("cuMemcpyHtoD_v2", ctypes.c_void_p(data.ctypes.data), _size(data))
        # It may return before the bytes are there, and other streams do not wait for it.
        self._driver.call("cuCtxSynchronize")

    def read(self, data: Bytes) -> None:
        self._device.enter()
        source = ctypes.c_uint64(self.pointer)
        self._driver.call("cuMemcpyDtoH_v2", ctypes.c_void_p(data.ctypes.data), source, _size(data))

    def array(self, offset: int, size: int) -> DeviceArray:
        return DeviceArray(self, offset, size)

    def close(self) -> None:
        if self.allocation:
            self._device.release("cuMemFree_v2", ctypes.c_uint64(self.allocation))
            self.allocation = 0

    def _call(self, name: str, *arguments: object) -> None:
        """Calls a function of the driver whose first argument is the address of the region."""
        self._device.enter()
        self._driver.call(name, ctypes.c_uint64(self.pointer), *arguments)


class DeviceArray:
    """Bytes of a region as libraries for Python take them: version 3 of the CUDA array interface
    (Numba's documentation has it)."""

    def __init__(self, region: CudaRegion, offset: int, size: int) -> None:
        self.region = region
        self.size = size
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (region.pointer + offset, False),
            "version": 3,
            "strides": None,
            # All that writes there has been waited for.
            "stream": None,
        }


def _size(data: Bytes) -> ctypes.c_size_t:
    return ctypes.c_size_t(data.size)
