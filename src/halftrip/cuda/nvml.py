"""NVML, by name at run time: what the driver API does not tell of a device. Names and types are
those of NVIDIA's *NVML API* reference."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

LIBRARY = "libnvidia-ml.so.1"
_GRAPHICS, _MEMORY = 0, 2


class Facts(NamedTuple):
    """What NVML knows of a device; None: it does not. Units are those of
    `results.device.Device`."""

    driver: str | None = None
    link_generation: int | None = None
    link_generation_max: int | None = None
    link_width: int | None = None
    link_width_max: int | None = None
    power_limit: float | None = None
    graphics_clock: float | None = None
    memory_clock: float | None = None
    ecc: bool | None = None
    mig: bool | None = None


@cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    return None if library.nvmlInit_v2() else library


def facts(pci: str) -> Facts:
    """Of the device at a PCI address."""
    library = _library()
    if library is None:
        return Facts()
    device = ctypes.c_void_p()
    address = pci.encode()
    if library.nvmlDeviceGetHandleByPciBusId_v2(address, ctypes.byref(device)):
        return Facts(driver=_driver(library))
    power = _number(library, "EnforcedPowerLimit", device)
    ecc, mig = _mode(library, "EccMode", device), _mode(library, "MigMode", device)
    return Facts(
        driver=_driver(library),
        link_generation=_number(library, "CurrPcieLinkGeneration", device),
        link_generation_max=_number(library, "MaxPcieLinkGeneration", device),
        link_width=_number(library, "CurrPcieLinkWidth", device),
        link_width_max=_number(library, "MaxPcieLinkWidth", device),
        power_limit=None if power is None else power / 1e3,
        graphics_clock=_number(library, "MaxClockInfo", device, _GRAPHICS),
        memory_clock=_number(library, "MaxClockInfo", device, _MEMORY),
        ecc=ecc,
        mig=mig,
    )


def _driver(library: ctypes.CDLL) -> str | None:
    text = ctypes.create_string_buffer(96)
    failed = library.nvmlSystemGetDriverVersion(text, len(text))
    return None if failed else text.value.decode(errors="replace")


def _number(
    library: ctypes.CDLL, name: str, device: ctypes.c_void_p, *arguments: int
) -> int | None:
    value = ctypes.c_uint()
    function = getattr(library, f"nvmlDeviceGet{name}", None)
    if function is None or function(device, *arguments, ctypes.byref(value)):
        return None
    return value.value


def _mode(library: ctypes.CDLL, name: str, device: ctypes.c_void_p) -> bool | None:
    """Whether a mode is on at present."""
    now, later = ctypes.c_uint(), ctypes.c_uint()
    function = getattr(library, f"nvmlDeviceGet{name}", None)
    if function is None or function(device, ctypes.byref(now), ctypes.byref(later)):
        return None
    return bool(now.value)
