"""How much memory a process may still allocate."""

from __future__ import annotations

from pathlib import PurePosixPath

import psutil

from halftrip.kernel_files import HOST_FILES, Reader

_GROUPS = PurePosixPath("/sys/fs/cgroup")


def available_memory(reader: Reader = HOST_FILES) -> int:
    """Bytes that are left on the host, and in every control group (version 2) that this process is
    in: the least of these."""
    left = [psutil.virtual_memory().available]
    own = (reader.text("/proc/self/cgroup") or "").strip().rpartition("::")[2]
    directory = _GROUPS / own.lstrip("/")
    for group in (directory, *directory.parents):
        limit = reader.line(f"{group}/memory.max") or ""
        used = reader.line(f"{group}/memory.current") or ""
        if limit.isdecimal() and used.isdecimal():
            left.append(int(limit) - int(used) + _inactive(reader, group))
        if group == _GROUPS:
            break
    return max(min(left), 0)


def _inactive(reader: Reader, group: PurePosixPath) -> int:
    """File cache of a control group that has not been used for long, bytes: the kernel reclaims it
    when memory is needed."""
    for line in (reader.text(f"{group}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdecimal():
            return int(value)
    return 0
