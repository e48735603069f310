"""Streams of a device, for timed code."""

from __future__ import annotations

from halftrip import _native
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import Device

# The functions that `_native.CudaStream` calls, in the order of its arguments.
_FUNCTIONS = (
    "cuMemcpyAsync",
    "cuStreamSynchronize",
    "cuStreamWriteValue32_v2",
    "cuGetErrorName",
    "cuGetErrorString",
)
_BATCH = "cuMemcpyBatchAsync"


class Stream:
    """A new stream of a device, for native code as `native`. With `engine`, its copies between two
    places in the memory of devices are made by copy engines, where the driver else may choose its
    own kernels. Raises Unavailable if the driver has no such choice: it came with CUDA 12.8."""

    def __init__(self, device: Device, engine: bool = False) -> None:
        driver = cuda.driver()
        functions = [driver.address(name) for name in _FUNCTIONS]
        batch = driver.address(_BATCH) if engine else 0
        self._device = device
        self._handle: cuda.Handle | None = device.new_stream()
        self.native = _native.CudaStream(functions, batch, self._handle.value or 0)

    def close(self) -> None:
        """Frees it; what was begun on it has been waited for."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._device.release("cuStreamDestroy_v2", handle)
