"""The stand-in itself: what other tests take from it is as they believe."""

import signal

import pytest

from harness.cuda import python, stand_in

_TEST = """
import ctypes
from halftrip.cuda import driver as cuda
from halftrip.cuda.device import find

driver = cuda.driver()
find("0").enter()

address = ctypes.c_uint64()
driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(8))
print("allocated", flush=True)
"""


@pytest.mark.parametrize("touch", ["string_at(address.value, 1)", "memset(address.value, 0, 1)"])
def test_the_host_cannot_touch_memory_of_a_device(cuda_libraries, touch):
    result = python(f"{_TEST}ctypes.{touch}", stand_in(cuda_libraries))
    assert (result.returncode, result.stdout) == (-signal.SIGSEGV, "allocated\n")


def test_what_a_killed_process_held_is_told(cuda_libraries, tmp_path):
    code = f"{_TEST}import os\nprint(os.getpid(), flush=True)\nos.kill(os.getpid(), 9)"
    result = python(code, stand_in(cuda_libraries, ledger=tmp_path))
    assert result.returncode == -signal.SIGKILL
    _, pid = result.stdout.split()
    assert (tmp_path / pid).read_text() == "2 8\n"
