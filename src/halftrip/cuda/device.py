"""The CUDA devices of a host, found by index, UUID or PCI address, and their primary contexts."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
from functools import cache, cached_property

from halftrip import _native
from halftrip.cuda import driver as cuda
from halftrip.cuda import nvml
from halftrip.errors import Unavailable

# As 0000:3b:00.0, 3b:00.0 or, as NVML writes it, 00000000:3B:00.0.
_PCI = re.compile(
    r"(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<slot>[0-9a-f]{2})\.(?P<part>[0-7])",
    re.IGNORECASE,
)

# An index has at most so many.
_DIGITS = 4
# CU_CTX_SCHED_SPIN.
_SCHED_SPIN = 1


class CudaDevice:
    """A device of this process, by its number in the driver's order, which CUDA_VISIBLE_DEVICES
    may change."""

    def __init__(self, index: int) -> None:
        self.index = index
        self._driver = cuda.driver()
        number = ctypes.c_int()
        self._driver.call("cuDeviceGet", ctypes.byref(number), index)
        self.number = number.value

    @cached_property
    def name(self) -> str:
        text = ctypes.create_string_buffer(256)
        self._driver.call("cuDeviceGetName", text, len(text), self.number)
        return text.value.decode(errors="replace")

    @cached_property
    def uuid(self) -> str:
        """As nvidia-smi writes it: ``GPU-`` or, of a part of a device, ``MIG-``, and 32 digits.
        Where MIG is on, CUDA shows parts only; the driver API does not tell which it is."""
        raw = (ctypes.c_ubyte * 16)()
        self._driver.call("cuDeviceGetUuid_v2", ctypes.byref(raw), self.number)
        digits = bytes(raw).hex()
        cuts = (0, 8, 12, 16, 20, 32)
        kind = "MIG-" if nvml.facts(self.pci).mig else "GPU-"
        return kind + "-".join(digits[a:b] for a, b in itertools.pairwise(cuts))

    @cached_property
    def pci(self) -> str:
        """The PCI address as the kernel writes it: ``0000:3b:00.0``."""
        domain, bus, slot = (
            self.attribute(which)
            for which in (cuda.PCI_DOMAIN_ID, cuda.PCI_BUS_ID, cuda.PCI_DEVICE_ID)
        )
        return f"{domain:04x}:{bus:02x}:{slot:02x}.0"

    def attribute(self, which: int) -> int:
        """A CUdevice_attribute."""
        value = ctypes.c_int()
        self._driver.call("cuDeviceGetAttribute", ctypes.byref(value), which, self.number)
        return value.value

    @property
    def mps(self) -> bool | None:
        """Whether processes share a context of it, by CUDA's Multi-Process Service; None if the
        driver does not tell."""
        try:
            return bool(self.attribute(cuda.MPS_ENABLED))
        except cuda.CudaError:
            return None

    @cached_property
    def memory_bytes(self) -> int:
        """The size of its memory, for which it needs no context."""
        total = ctypes.c_size_t()
        self._driver.call("cuDeviceTotalMem_v2", ctypes.byref(total), self.number)
        return total.value

    def memory(self) -> tuple[int, int]:
        """Free and total bytes of its memory. Raises Unavailable."""
        self.enter()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._driver.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def reaches(self, other: CudaDevice) -> bool:
        """Whether this device can access the memory of another one."""
        if other.number == self.number:
            return True
        answer = ctypes.c_int()
        self._driver.call("cuDeviceCanAccessPeer", ctypes.byref(answer), self.number, other.number)
        return bool(answer.value)

    @cached_property
    def context(self) -> cuda.Handle:
        """The primary context, which is kept until this process ends: what a library in the same
        process uses, too. Raises Unavailable, as where the device belongs to another process."""
        if self.attribute(cuda.COMPUTE_MODE) == cuda.PROHIBITED:
            raise Unavailable(f"cuda@{self.index} is in compute mode Prohibited")
        context = cuda.Handle()
        # Waits poll, as the timed loops of other paths do; else the driver chooses by the number of
        # cores and contexts.
        self._driver.call("cuDevicePrimaryCtxSetFlags_v2", self.number, _SCHED_SPIN)
        try:
            self._driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
        except cuda.CudaError as error:
            if self.attribute(cuda.COMPUTE_MODE) == cuda.EXCLUSIVE_PROCESS:
                raise Unavailable(
                    f"cuda@{self.index} is in compute mode Exclusive_Process, and another process "
                    f"has it: {error}"
                ) from None
            raise
        return context

    def enter(self) -> None:
        """Makes its context that of the calling thread. Raises Unavailable."""
        self._driver.call("cuCtxSetCurrent", self.context)

    def release(self, name: str, *arguments: object) -> None:
        """Calls a function of the driver that frees something of this device. Of one that has
        failed nothing can be freed, and the driver frees all when the process ends."""
        with contextlib.suppress(cuda.CudaError):
            self.enter()
            self._driver.call(name, *arguments)

    def reach(self, other: CudaDevice) -> None:
        """Lets copies to and from the memory of another device, which it reaches, be direct: else
        the driver takes them by way of the host. Raises Unavailable."""
        context = other.context
        self.enter()
        try:
            self._driver.call("cuCtxEnablePeerAccess", context, 0)
        except cuda.CudaError as error:
            if error.code != cuda.PEER_ACCESS_ALREADY_ENABLED:
                raise

    def new_stream(self) -> cuda.Handle:
        """A stream that does not wait for the default one. Raises Unavailable."""
        self.enter()
        stream = cuda.Handle()
        self._driver.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream


@cache
def device(index: int) -> CudaDevice:
    """The device of that number, the same object at every call. Raises Unavailable."""
    return CudaDevice(index)


def devices() -> list[CudaDevice]:
    """All devices that the driver shows to this process. Raises Unavailable without a driver."""
    count = ctypes.c_int()
    cuda.driver().call("cuDeviceGetCount", ctypes.byref(count))
    return [device(index) for index in range(count.value)]


def find(text: str) -> CudaDevice:
    """The device of an index, a UUID (or as much of its beginning as tells it apart) or a PCI
    address; the first one if `text` is empty. Raises Unavailable if it is not there."""
    found = devices()
    if not found:
        raise Unavailable("the CUDA driver shows no device")
    there = f"there is {_named(found)}"
    if not text:
        return found[0]
    if text.isdecimal():
        # A number of any length may have been asked for.
        if len(text) > _DIGITS or int(text) >= len(found):
            raise Unavailable(f"there is no CUDA device {text}; {there}")
        return found[int(text)]
    address = _PCI.fullmatch(text)
    if address is not None:
        matching = [each for each in found if _is_at(each, address)]
    else:
        matching = [each for each in found if each.uuid.lower().startswith(text.lower())]
    if len(matching) != 1:
        many = "more than one" if matching else "no"
        raise Unavailable(f"{many} CUDA device is {text}; {there}")
    return matching[0]


def _is_at(found: CudaDevice, address: re.Match[str]) -> bool:
    domain, bus, slot, part = (
        int(each or "0", 16) for each in address.group("domain", "bus", "slot", "part")
    )
    return found.pci == f"{domain:04x}:{bus:02x}:{slot:02x}.{part}"


def _named(found: list[CudaDevice]) -> str:
    return ", ".join(f"{each.index} ({each.name}, {each.pci})" for each in found)


# The functions that `_native.CudaStream` calls, in the order of its arguments.
_STREAM_FUNCTIONS = (
    "cuMemcpyAsync",
    "cuStreamSynchronize",
    "cuStreamWriteValue32_v2",
    "cuGetErrorName",
    "cuGetErrorString",
)
_BATCH = "cuMemcpyBatchAsync"


class DeviceStream:
    """A new stream of a device, for native code as `native`. With `engine`, its copies between two
    places in the memory of devices are made by copy engines, where the driver else may choose its
    own kernels. Raises Unavailable if the driver has no such choice: it came with CUDA 12.8."""

    def __init__(self, device: CudaDevice, engine: bool = False) -> None:
        driver = cuda.driver()
        functions = [driver.address(name) for name in _STREAM_FUNCTIONS]
        batch = driver.address(_BATCH) if engine else 0
        self._device = device
        self._handle: cuda.Handle | None = device.new_stream()
        self.native = _native.CudaStream(functions, batch, self._handle.value or 0)

    def close(self) -> None:
        """Frees it; what was begun on it has been waited for."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._device.release("cuStreamDestroy_v2", handle)
