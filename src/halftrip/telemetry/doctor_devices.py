"""Which CUDA devices are here, and what about them will spoil the numbers.

The driver is asked for what it knows without a context: the check takes no memory of a device, and
also works where a device is another process's.
"""

from __future__ import annotations

from halftrip.cuda import driver as cuda
from halftrip.cuda import nvml
from halftrip.cuda.device import CudaDevice, devices
from halftrip.errors import Unavailable
from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry.devices import local_cores
from halftrip.telemetry.doctor import Check

_NAME = "CUDA devices"


def check(reader: Reader = HOST_FILES) -> Check:
    """What is there, a line for each device. Where there is no driver, or a driver and no device,
    the answer is unknown; a driver that is there and fails is a warning."""
    try:
        found = devices()
        if not found:
            return Check(_NAME, "unknown", "the CUDA driver shows no device")
        lines = [_described(each, reader) for each in found]
        advice = [text for each in found for text in _advice(each)]
        if cuda.driver().is_stand_in:
            lines.append("the CUDA driver is a stand-in for tests")
    except cuda.CudaError as error:
        if error.code == cuda.NO_DEVICE:
            return Check(_NAME, "unknown", str(error))
        return Check(_NAME, "warning", str(error), "nvidia-smi and dmesg may say more of it")
    except Unavailable as error:
        return Check(_NAME, "unknown", str(error))
    text = "\n".join(lines)
    return Check(_NAME, "warning", text, "; ".join(advice)) if advice else Check(_NAME, "ok", text)


def _described(device: CudaDevice, reader: Reader) -> str:
    facts = nvml.facts(device.pci)
    said = [device.name, device.pci]
    if facts.link_generation is not None and facts.link_width is not None:
        said.append(f"PCIe {facts.link_generation} x{facts.link_width}")
    near = local_cores(device.pci, reader)
    if near:
        said.append(f"near cores {near}")
    said.append(f"driver {facts.driver or '?'}, CUDA {cuda.driver().version}")
    return f"cuda@{device.index}: {', '.join(said)}"


def _advice(device: CudaDevice) -> list[str]:
    """What to do about a device. The generation of its link is left out: an idle device lowers it,
    to save power."""
    name, facts = f"cuda@{device.index}", nvml.facts(device.pci)
    advice = []
    width, most = facts.link_width, facts.link_width_max
    if width is not None and most is not None and width < most:
        advice.append(f"{name} has {width} of {most} lanes to the host: see its slot and riser")
    if facts.mig:
        advice.append(f"MIG is on for {name}, of which a rank has a part: nvidia-smi -mig 0")
    mode = device.attribute(cuda.COMPUTE_MODE)
    default = f"nvidia-smi -i {device.pci} -c DEFAULT"
    if mode == cuda.PROHIBITED:
        advice.append(f"no process may use {name} (its compute mode): {default}")
    elif mode == cuda.EXCLUSIVE_PROCESS:
        advice.append(f"two ranks cannot both use {name} (its compute mode): {default}")
    return advice
