"""The stand-in itself: what other tests take from it is as they believe."""

import os
import signal

import pytest

from harness.cuda import begun_python, python, stand_in

_TEST = """
import ctypes
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import find

driver = cuda.driver()
find("0").enter()

def code_of(name, *arguments):
    try:
        driver.call(name, *arguments)
    except cuda.CudaError as error:
        return error.code
    return 0

def size(value):
    return ctypes.c_size_t(value)

def allocate(count):
    address = ctypes.c_uint64()
    driver.call("cuMemAlloc_v2", ctypes.byref(address), size(count))
    return address

def pinned(count):
    address = ctypes.c_void_p()
    driver.call("cuMemHostAlloc", ctypes.byref(address), size(count), 0)
    return address

def at(address, offset):
    return ctypes.c_uint64(address.value + offset)
"""


def said(folder, code, **settings):
    """What a program prints, in lines, with the above at hand."""
    result = python(_TEST + code, stand_in(folder, **settings))
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


@pytest.mark.parametrize("touch", ["string_at(address.value, 1)", "memset(address.value, 0, 1)"])
def test_the_host_cannot_touch_memory_of_a_device(cuda_libraries, touch):
    code = f"{_TEST}\naddress = allocate(8)\nprint('allocated', flush=True)\nctypes.{touch}"
    result = python(code, stand_in(cuda_libraries))
    assert (result.returncode, result.stdout) == (-signal.SIGSEGV, "allocated\n")


def test_what_the_driver_refuses(cuda_libraries):
    """Beyond an allocation, freed, freed as what it is not, too much, without a context."""
    code = """
address, host, own = allocate(4096), pinned(64), ctypes.create_string_buffer(64)
print("inside", code_of("cuMemcpyDtoH_v2", own, at(address, 4032), size(64)))
print("beyond", code_of("cuMemcpyDtoH_v2", own, at(address, 4033), size(64)))
print("set beyond", code_of("cuMemsetD8_v2", address, ctypes.c_ubyte(1), size(4097)))
print("not of a device", code_of("cuMemcpyDtoH_v2", own, own, size(1)))
print("never opened", code_of("cuIpcCloseMemHandle", address))
print("never registered", code_of("cuMemHostUnregister", host))
driver.call("cuMemHostRegister_v2", own, size(64), 0)
print("twice", code_of("cuMemHostRegister_v2", own, size(64), 0))
print("never allocated", code_of("cuMemFreeHost", own))
print("more than is free", code_of("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), size(4097)))
driver.call("cuMemFree_v2", address)
print("freed", code_of("cuMemcpyDtoH_v2", own, address, size(1)))
print("freed twice", code_of("cuMemFree_v2", address))
print("all is free", allocate(8192).value > 0)
driver.call("cuCtxSetCurrent", None)
print("no context", code_of("cuMemcpyDtoH_v2", own, address, size(1)))
"""
    assert said(cuda_libraries, code, memory=8192) == [
        "inside 0",
        "beyond 1",
        "set beyond 1",
        "not of a device 1",
        "never opened 1",
        "never registered 713",
        "twice 712",
        "never allocated 1",
        "more than is free 2",
        "freed 1",
        "freed twice 1",
        "all is free True",
        "no context 201",
    ]


def test_a_device_that_falls_off_the_bus_stays_off(cuda_libraries):
    code = """
print([code_of("cuCtxSynchronize") for _ in range(4)], code_of("cuMemFree_v2", ctypes.c_uint64()))
# A library in this process may initialise the driver again.
print(code_of("cuInit", 0), code_of("cuCtxSynchronize"))
"""
    settings = {"fail": "cuMemAlloc_v2=2,cuCtxSynchronize=719@3"}
    assert said(cuda_libraries, code, **settings) == ["[0, 0, 719, 719] 719", "719 719"]
    code = "print(code_of('cuMemAlloc_v2', None, size(1)), code_of('cuCtxSynchronize'))"
    assert said(cuda_libraries, code, **settings) == ["2 0"]


def test_what_a_killed_process_held_is_told(cuda_libraries, tmp_path):
    environment = stand_in(cuda_libraries, ledger=tmp_path)
    code = "address = allocate(8)\nprint('held', flush=True)\ninput()"
    with begun_python(_TEST + code, environment) as owner:
        owner.stdout.readline()
        os.kill(owner.pid, signal.SIGKILL)
        assert owner.wait(timeout=60) == -signal.SIGKILL
    assert (tmp_path / str(owner.pid)).read_text() == "2 8\n"
