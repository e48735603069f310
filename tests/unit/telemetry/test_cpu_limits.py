"""CPU quotas of control groups: of both versions, of parents, and as a container sees them."""

import math

import pytest

from halftrip.telemetry.control_groups import Throttles, quotas, shortage
from harness.kernel import Kernel

TWO = "20 10 0:9 {root} /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
ONE = (
    "30 10 0:8 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "31 10 0:7 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)
OF_TWO = ("cpu.stat", "usage_usec 5\nnr_throttled 3\nthrottled_usec {us:.0f}\n")
OF_ONE = ("cpu.stat", "nr_periods 9\nnr_throttled 3\nthrottled_time {us:.0f}000\n")


def machine(tmp_path, mounts, group, root="/"):
    kernel = Kernel(tmp_path, {"proc/self/mountinfo": mounts.format(root=root)})
    kernel("proc/self/cgroup", f"4:memory:/m\n3:cpu,cpuacct:{group}\n0::{group}\n")
    return kernel


@pytest.mark.parametrize(
    ("group", "root", "limited"),
    [
        ("/a/b", "/", "a/b"),
        # A limit of the parent alone.
        ("/a/b", "/", "a"),
        # A container whose names are those of the host, and one with its own.
        ("/docker/5f/x", "/docker/5f", "x"),
        ("/docker/5f", "/docker/5f", ""),
        ("/", "/", ""),
        # The group is outside of what this namespace shows.
        ("/../other", "/", ""),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_limit_is_found_and_its_throttling_counted(tmp_path, group, root, limited, version):
    kernel = machine(tmp_path, TWO if version == 2 else ONE, group, root)
    base = "sys/fs/cgroup" if version == 2 else "sys/fs/cgroup/cpu,cpuacct"
    directory = f"{base}/{limited}".rstrip("/")
    file, text = OF_TWO if version == 2 else OF_ONE
    if version == 2:
        kernel(f"{directory}/cpu.max", "150000 100000\n")
    else:
        kernel(f"{directory}/cpu.cfs_quota_us", "150000\n")
        kernel(f"{directory}/cpu.cfs_period_us", "100000\n")
    kernel(f"{directory}/{file}", text.format(us=2_000_000))
    (found,) = quotas(kernel.reader)
    assert (str(found.group), found.cores) == (f"/{directory}", 1.5)
    assert shortage(kernel.reader, 1) is None
    assert shortage(kernel.reader, 2) == f"this container may use 1.5 cores (/{directory})"
    throttles = Throttles(kernel.reader)
    assert throttles.read() == [2.0]
    kernel(f"{directory}/{file}", text.format(us=2_500_000))
    assert throttles.read() == [2.5]
    kernel(f"{directory}/{file}", "nr_periods 9\n")
    assert throttles.read() == [None]


@pytest.mark.parametrize("text", ["max 100000\n", "", "100000\n", "x y\n", "100000 0\n"])
def test_a_group_without_a_quota_is_not_read(tmp_path, text):
    kernel = machine(tmp_path, TWO, "/a")
    kernel("sys/fs/cgroup/a/cpu.max", text)
    kernel("sys/fs/cgroup/a/cpu.stat", OF_TWO[1].format(us=1))
    assert Throttles(kernel.reader).read() == []
    # One of minus one is none.
    kernel = machine(tmp_path / "other", ONE, "/a")
    kernel("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n")
    kernel("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n")
    (found,) = quotas(kernel.reader)
    assert found.cores == math.inf
    assert Throttles(kernel.reader).read() == []
