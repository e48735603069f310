"""Buffers: how much memory is left for them, and of which pages they are."""

import mmap

import psutil
import pytest

from halftrip.memory import host
from halftrip.model import Case

GROUP = "sys/fs/cgroup/work/job"


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
                "sys/fs/cgroup/work/memory.max": "9000\n",
                "sys/fs/cgroup/work/memory.current": "5000\n",
                "sys/fs/cgroup/work/memory.stat": "anon 10\ninactive_file 400\nslab 7\n",
            },
            4400,
        ),
    ],
)
def test_no_control_group_is_overdrawn(tmp_path, files, left):
    group = {"proc/self/cgroup": "0::/work/job\n"}
    assert host.available(machine(tmp_path, group | files)) == left


@pytest.mark.parametrize("cgroup", ["", "nonsense", "0::/", "0::/../..", "5:memory:/a\n0::/b\n"])
def test_without_limits_the_host_s_memory_counts(tmp_path, cgroup):
    total = psutil.virtual_memory().total
    left = host.available(machine(tmp_path, {"proc/self/cgroup": cgroup}))
    assert total / 100 < left <= total


def test_what_does_not_fit_is_refused_with_what_is_left(monkeypatch):
    monkeypatch.setattr(host, "available", lambda: 3 << 20)
    case = Case(transport="shm", size=1 << 20, wait="spin")
    assert host.refuses(case, 1) is None
    assert host.refuses(case, 2) == "buffers need 4 MiB on one host, where 3 MiB are left"


def test_a_kernel_without_huge_pages_gives_plain_ones(monkeypatch):
    # Advice that no kernel knows gets the same answer.
    monkeypatch.setattr(mmap, "MADV_NOHUGEPAGE", 9999)
    buffer = host.allocate(10_000, "4K")
    assert buffer.size == 10_000
    assert buffer.ctypes.data % mmap.PAGESIZE == 0
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 9999)
    with pytest.raises(OSError, match="Invalid argument"):
        host.allocate(10_000, "huge")
