"""CUDA's driver API, by name at run time: nothing is built against it, and no package is needed.

Names and types are those of NVIDIA's *CUDA Driver API* reference, versioned as cuda.h of CUDA 12
names them.
"""

from __future__ import annotations

import ctypes

from halftrip.errors import Unavailable
from halftrip.libraries import Once, load

LIBRARY = "libcuda.so.1"
# cuStreamWriteValue32_v2 and the attributes of memory that is asked for came with it: CUDA 11.7.
_OLDEST = 11070
# A function of this name is in a library that stands in for the driver in tests.
_STAND_IN = "halftrip_stand_in"

# The attributes of a device that are asked for: CUdevice_attribute.
COMPUTE_MODE = 20
PCI_BUS_ID, PCI_DEVICE_ID, PCI_DOMAIN_ID = 33, 34, 50
L2_CACHE_BYTES = 38
CONCURRENT_MANAGED_ACCESS = 89
MPS_ENABLED = 133  # since CUDA 12.4
# The CUresult of a driver without a device.
NO_DEVICE = 100
# CUcomputemode.
PROHIBITED, EXCLUSIVE_PROCESS = 2, 3
# A CUresult that is no failure.
PEER_ACCESS_ALREADY_ENABLED = 704

Handle = ctypes.c_void_p


class CudaError(Unavailable):
    """A call of CUDA's that failed; `code` is its CUresult."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Driver:
    """The driver, initialised. Raises Unavailable where there is none that can be used."""

    def __init__(self) -> None:
        self._library = load(LIBRARY, "CUDA driver")
        self.is_stand_in = hasattr(self._library, _STAND_IN)
        version = ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        # As 12040 for CUDA 12.4.
        self.version = f"{version.value // 1000}.{version.value % 1000 // 10}"
        if version.value < _OLDEST:
            oldest = f"{_OLDEST // 1000}.{_OLDEST % 1000 // 10}"
            raise Unavailable(
                f"the CUDA driver is too old: it has CUDA {self.version}, {oldest} is needed"
            )

    def address(self, name: str) -> int:
        """The address of a function, for native code. Raises Unavailable if there is none."""
        function = getattr(self._library, name, None)
        address = None if function is None else ctypes.cast(function, ctypes.c_void_p).value
        if address is None:
            raise Unavailable(f"the CUDA driver has no {public_name(name)}")
        return address

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function. Arguments are of ctypes, or int and bytes, which ctypes converts; a
        pointer has to be of ctypes. Raises CudaError, or Unavailable if there is no such
        function."""
        function = getattr(self._library, name, None)
        if function is None:
            raise Unavailable(f"the CUDA driver has no {public_name(name)}")
        code = function(*arguments)
        if code:
            raise CudaError(f"{public_name(name)}: {self.error(code)}", code)

    def error(self, code: int) -> str:
        """A CUresult in words: its name, and what the driver says of it."""
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._library.cuGetErrorName(code, ctypes.byref(name))
        self._library.cuGetErrorString(code, ctypes.byref(text))
        if name.value is None:
            return f"error {code}"
        said = f" ({text.value.decode(errors='replace')})" if text.value else ""
        return name.value.decode(errors="replace") + said


def public_name(name: str) -> str:
    """A function's name without the version of its binary interface."""
    base, _, version = name.rpartition("_v")
    return base if base and version.isdigit() else name


_once = Once(Driver)
driver, missing = _once.get, _once.missing
