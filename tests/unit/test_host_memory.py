"""Buffers: how much memory is left for them, and of which pages they are."""

import mmap

import msgspec
import psutil
import pytest

from halftrip.memory import host
from halftrip.memory.ring import allocate_ring
from halftrip.results.case import Case

GROUP = "sys/fs/cgroup/site/job"


def machine(root, files):
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return root


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({f"{GROUP}/memory.max": "5000\n", f"{GROUP}/memory.current": "2000\n"}, 3000),
        ({f"{GROUP}/memory.max": "1000\n", f"{GROUP}/memory.current": "2000\n"}, 0),
        (
            {
                f"{GROUP}/memory.max": "max\n",
                f"{GROUP}/memory.current": "2000\n",
                "sys/fs/cgroup/site/memory.max": "9000\n",
                "sys/fs/cgroup/site/memory.current": "5000\n",
                "sys/fs/cgroup/site/memory.stat": "anon 10\ninactive_file 400\nslab 7\n",
            },
            4400,
        ),
    ],
)
def test_no_control_group_is_overdrawn(tmp_path, files, left):
    group = {"proc/self/cgroup": "0::/site/job\n"}
    assert host.available(machine(tmp_path, group | files)) == left


@pytest.mark.parametrize("cgroup", ["", "nonsense", "0::/", "0::/../..", "5:memory:/a\n0::/b\n"])
def test_without_limits_the_host_s_memory_counts(tmp_path, cgroup):
    total = psutil.virtual_memory().total
    left = host.available(machine(tmp_path, {"proc/self/cgroup": cgroup}))
    assert total / 100 < left <= total


def test_what_does_not_fit_is_refused_with_what_is_left(monkeypatch):
    monkeypatch.setattr(host, "available", lambda: 3 << 20)
    case = Case(transport="shm", size=1 << 20, wait="spin")
    lay = host.geometry(case, cache_bytes=1 << 20)
    assert host.refuses(case, lay, 1) is None
    assert host.refuses(case, lay, 2) == "buffers need 4 MiB on one host, where 3 MiB are left"


def test_a_cold_ring_is_larger_than_the_cache():
    case = Case(transport="shm", size=100, wait="spin", cache="cold")
    lay = host.geometry(case, cache_bytes=1 << 20)
    assert lay.stride == 128
    assert lay.slots * lay.stride == 2 << 20
    hot = host.geometry(msgspec.structs.replace(case, cache="hot"), 1 << 20)
    assert hot == host.Geometry(slots=1, stride=128, extent=100, step=8)


def test_every_message_of_a_batch_has_its_own_buffer_where_it_is_verified():
    case = Case(transport="mpi", pattern="stream", size=64, wait="spin", window=7, verify=True)
    assert host.geometry(case, 0).slots == (1 << 20) // 64
    # One window that goes first, and one that is timed, however large.
    large = msgspec.structs.replace(case, size=1 << 20)
    assert host.geometry(large, 0).slots == 14
    strided = msgspec.structs.replace(case, datatype="vector")
    assert host.geometry(strided, 0)[2:] == (128, 16)


@pytest.mark.parametrize("align", [1, 2, 64, 1024])
def test_buffers_are_aligned_to_just_what_is_asked(align):
    case = Case(transport="shm", size=100, wait="spin", align=align, window=3, verify=True)
    lay = host.geometry(case, 0)
    ring = allocate_ring(lay, case)
    for slot in range(3):
        address = ring.region.ctypes.data + slot * lay.stride
        assert address % align == 0
        assert address % (2 * align) == align


def test_the_last_cache_is_the_largest_level(tmp_path):
    for index, (level, size) in enumerate([("1", "48K"), ("3", "32768K"), ("2", "2048K")]):
        place = tmp_path / "cpu5" / "cache" / f"index{index}"
        place.mkdir(parents=True)
        (place / "level").write_text(f"{level}\n")
        (place / "size").write_text(f"{size}\n")
    assert host.last_level_cache(5, tmp_path) == 32 << 20
    assert host.last_level_cache(6, tmp_path) == 32 << 20


def test_a_kernel_without_huge_pages_gives_plain_ones(monkeypatch):
    # Advice that no kernel knows gets the same answer.
    monkeypatch.setattr(mmap, "MADV_NOHUGEPAGE", 9999)
    buffer = host.allocate(10_000, "4K")
    assert buffer.size == 10_000
    assert buffer.ctypes.data % mmap.PAGESIZE == 0
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)
    with pytest.raises(OSError, match="Invalid argument"):
        host.allocate(10_000, "huge")
