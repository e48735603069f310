"""How much memory is available: on the host, and in every control group of this process."""

import psutil
import pytest

from halftrip.telemetry.memory import available_memory

OUTER = "sys/fs/cgroup/site"
GROUP = f"{OUTER}/job"


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({f"{GROUP}/memory.max": "5000\n", f"{GROUP}/memory.current": "2000\n"}, 3000),
        ({f"{GROUP}/memory.max": "1000\n", f"{GROUP}/memory.current": "2000\n"}, 0),
        (
            {
                f"{GROUP}/memory.max": "max\n", f"{GROUP}/memory.current": "2000\n",
                f"{OUTER}/memory.max": "9000\n", f"{OUTER}/memory.current": "5000\n",
                f"{OUTER}/memory.stat": "anon 10\ninactive_file 400\nslab 7\n",
            },
            4400,
        ),
    ],
)  # fmt: skip
def test_the_narrowest_control_group_counts(bare_kernel, files, left):
    for path, text in ({"proc/self/cgroup": "0::/site/job\n"} | files).items():
        bare_kernel(path, text)
    assert available_memory(bare_kernel.reader) == left


@pytest.mark.parametrize(
    "text", ["", "x", "MemTotal: 1 kB\n", "MemAvailable: x kB\n", f"MemAvailable: {9**40} kB\n"]
)
def test_what_the_kernel_says_counts_and_what_it_does_not_is_asked_otherwise(bare_kernel, text):
    """psutil fails where a figure is missing or odd."""
    bare_kernel("proc/meminfo", text)
    assert 0 < available_memory(bare_kernel.reader) <= psutil.virtual_memory().total
    bare_kernel("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:     7 kB\n")
    assert available_memory(bare_kernel.reader) == 7 << 10


@pytest.mark.parametrize(
    "cgroup", ["", "nonsense", "0::/", "0::/../..", "5:memory:/a\n0::/b\n", "0::/a\0b\n"]
)
def test_without_limits_the_host_s_memory_counts(bare_kernel, cgroup):
    bare_kernel("proc/self/cgroup", cgroup)
    total = psutil.virtual_memory().total
    assert total / 100 < available_memory(bare_kernel.reader) <= total
