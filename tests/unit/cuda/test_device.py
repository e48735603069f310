"""Devices, found by index, UUID or PCI address, and why one cannot be used. A stand-in plays two,
in a process of its own."""

import pytest

from harness import cuda as cuda_stand_in

_TEST = """
from halftrip.cuda import nvml
from halftrip.cuda.device import devices, find
from halftrip.errors import Unavailable

def tell(ask):
    try:
        print(ask())
    except Unavailable as error:
        print(error)
"""
_REST = "5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"
_THERE = "there is 0 (Stand-in 0, 0000:aa:00.0), 1 (Stand-in 1, 0000:ab:00.0)"


def said(folder, code, **settings):
    """What a program prints, in lines, with `find`, `devices`, `nvml` and `tell` at hand."""
    return cuda_stand_in.said(folder, _TEST + code, **settings).splitlines()


def found(folder, names, **settings):
    """What each name finds: an index, or why it finds none."""
    code = f"for name in {names!r}:\n    tell(lambda: find(name).index)\n"
    return said(folder, code, **settings)


def test_a_device_is_found_by_index_uuid_or_pci_address(cuda_libraries):
    names = ["", "0", "1", "01"]
    names += [f"GPU-a1{_REST}", f"gpu-A1{_REST}", "GPU-a0", "gpu-a1"]
    names += ["0000:ab:00.0", "ab:00.0", "00000000:AB:00.0", "AA:00.0"]
    assert found(cuda_libraries, names) == list("001111011110")
    assert said(cuda_libraries, "print(devices()[0] is find('0'))") == ["True"]
    # A part of a device, by the UUID that nvidia-smi shows.
    parts = [f"MIG-a1{_REST}", "mig-a0", "GPU-a0"]
    none = f"no CUDA device is GPU-a0; {_THERE}"
    assert found(cuda_libraries, parts, mig=1) == ["1", "0", none]


def test_a_device_that_is_not_there_is_one_line_with_those_that_are(cuda_libraries):
    digits = "1" * 5000
    names = ["2", "GPU-", "0001:aa:00.0", "aa:00.1", "nobody", digits]
    assert found(cuda_libraries, names) == [
        f"there is no CUDA device 2; {_THERE}",
        f"more than one CUDA device is GPU-; {_THERE}",
        f"no CUDA device is 0001:aa:00.0; {_THERE}",
        f"no CUDA device is aa:00.1; {_THERE}",
        f"no CUDA device is nobody; {_THERE}",
        f"there is no CUDA device {digits}; {_THERE}",
    ]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"compute_mode": 2}, "cuda@1 is in compute mode Prohibited"),
        (
            {"compute_mode": 3, "busy": 1},
            (
                "cuda@1 is in compute mode Exclusive_Process, and another process has it: "
                "cuDevicePrimaryCtxRetain: CUDA_ERROR_DEVICE_UNAVAILABLE (CUDA-capable device(s) "
                "is/are busy or unavailable)"
            ),
        ),
        (
            {"fail": "cuDevicePrimaryCtxRetain=2"},
            "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (out of memory)",
        ),
        ({"compute_mode": 3}, "None"),
    ],
)
def test_a_device_that_cannot_be_used(cuda_libraries, settings, reason):
    assert said(cuda_libraries, "tell(find('1').enter)", **settings) == [reason]


def test_what_a_failed_device_holds_is_not_freed(cuda_libraries):
    code = """
import ctypes
from halftrip.cuda import driver as cuda
device = find("0")
tell(device.enter)
device.release("cuMemFree_v2", ctypes.c_uint64(4096))
tell(lambda: cuda.driver().call("cuCtxSynchronize"))
tell(device.enter)
device.release("cuMemFree_v2", ctypes.c_uint64(4096))
"""
    failed = "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)"
    # The second call of it fails, and from then on every call.
    assert said(cuda_libraries, code, fail="cuCtxSetCurrent=719@2") == [
        "None",
        f"cuCtxSynchronize: {failed}",
        f"cuCtxSetCurrent: {failed}",
    ]


def test_of_an_address_that_has_no_device_nvml_knows_the_driver(cuda_libraries):
    (elsewhere,) = said(cuda_libraries, "print(nvml.facts('0000:0b:00.0'))")
    assert elsewhere.startswith("Facts(driver='999.1', link_generation=None")
