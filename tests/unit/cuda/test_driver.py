"""The driver and NCCL, or why there is none: each reason is one line. A stand-in plays the driver,
in a process of its own, since a process has one."""

import pytest

from halftrip.cuda import driver as cuda
from halftrip.cuda import nccl
from halftrip.errors import Unavailable
from harness import cuda as cuda_stand_in

_TEST = """
from halftrip.cuda import driver as cuda
from halftrip.errors import Unavailable
"""


def said(folder, code, **settings):
    """What a program prints, in lines, with `cuda` and `Unavailable` at hand."""
    return cuda_stand_in.said(folder, _TEST + code, **settings).splitlines()


def test_a_driver_that_is_not_there_or_cannot_be_loaded(monkeypatch, tmp_path):
    monkeypatch.setattr(cuda, "LIBRARY", "libcuda-of-nobody.so.1")
    with pytest.raises(Unavailable, match=r"^no CUDA driver: there is no libcuda-of-nobody.so.1$"):
        cuda.Driver()
    # Of a container whose driver was not mounted right, an empty file is left.
    (tmp_path / "libcuda.so.1").touch()
    monkeypatch.setattr(cuda, "LIBRARY", str(tmp_path / "libcuda.so.1"))
    with pytest.raises(Unavailable, match=r"^no CUDA driver: .*libcuda.so.1: file too short$"):
        cuda.Driver()


def test_an_nccl_that_is_not_there_or_lacks_its_functions(monkeypatch):
    """One that is too old, or is something else, is told in one line."""
    monkeypatch.setattr(nccl, "LIBRARY", "libnccl-of-nobody.so.2")
    with pytest.raises(Unavailable, match=r"^no NCCL: there is no libnccl-of-nobody.so.2$"):
        nccl.Nccl()
    monkeypatch.setattr(nccl, "LIBRARY", None)
    library = nccl.Nccl()
    with pytest.raises(Unavailable, match=r"^this None has no ncclGetUniqueId$"):
        library.new_id()
    with pytest.raises(Unavailable, match=r"^this None has no nccl"):
        _ = library.addresses


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"version": 11060}, "the CUDA driver is too old: it has CUDA 11.6, 11.7 is needed"),
        ({"version": 11070}, "None"),
        ({"devices": 0}, "cuInit: CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"),
        (
            {"fail": "cuInit=803"},
            (
                "cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (system has unsupported display driver "
                "/ cuda driver combination)"
            ),
        ),
    ],
)
def test_a_driver_that_cannot_be_used(cuda_libraries, settings, reason):
    """The reason is the same at every call."""
    code = """
print(cuda.missing())
try:
    cuda.driver()
    print(cuda.missing())
except Unavailable as error:
    print(error)
"""
    assert said(cuda_libraries, code, **settings) == [reason, reason]


def test_calls_by_name_and_their_errors(cuda_libraries):
    code = """
driver = cuda.driver()
print(driver.version, driver.is_stand_in)
print(driver.address("cuMemcpyAsync") > 0)
for ask in (driver.address, driver.call):
    try:
        ask("cuNobody_v2")
    except Unavailable as error:
        print(error)
print(driver.error(2))
print(driver.error(12345))
try:
    driver.call("cuMemFree_v2", 0)
except cuda.CudaError as error:
    print(error.code, error)
"""
    assert said(cuda_libraries, code) == [
        "12.8 True",
        "True",
        "the CUDA driver has no cuNobody",
        "the CUDA driver has no cuNobody",
        "CUDA_ERROR_OUT_OF_MEMORY (out of memory)",
        "error 12345",
        "201 cuMemFree: CUDA_ERROR_INVALID_CONTEXT (invalid device context)",
    ]
