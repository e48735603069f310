"""The recipes that measure devices, with a stand-in for the driver and without one."""

import json
import re

import pytest

from harness.cuda import stand_in
from harness.mpi import quick_start

# No recipe is told otherwise which paths and memory it measures.
SHORT = ("-s", "8,10001", "-i", "20", "--warmup", "2", "--slices", "1", "--verify")
TAKES = "from halftrip.transports import device_pointers\ndevice_pointers._query = lambda: True\n"


@pytest.fixture
def devices(shell, cuda_libraries):
    """Two devices, whose pointers MPI takes."""
    environment = stand_in(cuda_libraries, readable=1)
    return environment | shell.patched(TAKES) | quick_start("wheel")


def paths(result):
    rows = json.loads(result.show("--format", "json").out)["rows"]
    return {
        tuple(row[name] for name in ("transport", "memory", "staging_bytes", "device_copy"))
        for row in rows
    }


def reasons(result, transport):
    return {skip.reason for skip in result.run.skips if skip.transport == transport}


@pytest.mark.parametrize("takes", [True, pytest.param(False, marks=pytest.mark.extended)])
def test_gpu_paths_are_all_there_are(shell, devices, takes):
    if not takes:
        del devices["PYTHONPATH"]
    result = shell.run("gpu-paths", *SHORT, **devices)
    assert result.status == 0, result.err
    on_devices = ("pinned:cuda", "cuda", "cuda@0:cuda@1")
    found = paths(result)
    assert not result.run.failures
    assert found == {
        *((t, m, None, None) for t in ("mpi", "shm", "tcp") for m in ("host", "pinned", "managed")),
        *((t, m, 0, None) for t in ("mpi", "shm", "tcp") for m in on_devices),
        *((t, "cuda", 512 << 10, None) for t in ("mpi", "shm", "tcp")),
        *(("mpi", memory, None, None) for memory in on_devices if takes),
        *(("cuda-ipc", m, None, c) for m in on_devices[1:] for c in ("driver", "engine")),
        ("nccl", "cuda@0:cuda@1", None, None),
    }


@pytest.mark.extended
def test_without_a_driver_gpu_paths_are_those_of_the_host(shell):
    result = shell.run("gpu-paths", *SHORT, **quick_start("wheel"))
    assert result.status == 0, result.err
    assert paths(result) == {(t, "host", None, None) for t in ("mpi", "shm", "tcp")}
    assert "no CUDA driver: there is no libcuda.so.1" in reasons(result, "cuda-ipc")
    assert "--memory pinned: no CUDA driver: there is no libcuda.so.1" in reasons(result, "shm")


@pytest.mark.extended
def test_mpi4py_ve_has_a_table_for_each_pair_of_devices(shell, devices):
    result = shell.run("mpi4py-ve", "-s", "8,64", "--style", "mpi4py-ve", **devices)
    assert result.status == 0, result.err
    found = re.findall(r"'dev1': '(.*?)', 'dev2': '(.*?)', 'n': 2, 'loop_count': \d+", result.out)
    assert found[:2] == [("vh", "vh"), ("vh", "cuda")]
    assert sorted(found[2:]) == [("cuda", "cuda"), ("cuda@0", "cuda@1")]


def test_without_a_driver_mpi4py_ve_is_the_table_of_the_host(shell):
    result = shell.run("mpi4py-ve", "-s", "8,64", "--style", "mpi4py-ve", **quick_start("wheel"))
    assert result.status == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("{'dev1': 'vh', 'dev2': 'vh', 'n': 2, 'loop_count': ")
    assert len(lines) == 6
    for memory in ("cuda", "cuda@0"):
        said = f"--memory {memory}: no CUDA driver: there is no libcuda.so.1"
        assert said in reasons(result, "mpi4py")
