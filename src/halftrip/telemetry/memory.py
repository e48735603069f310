"""How much memory a process may still allocate."""

from __future__ import annotations

import os
import re
from pathlib import PurePosixPath

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry.control_groups import own_groups


def available_memory(reader: Reader = HOST_FILES) -> int:
    """The least of what is left on the host and in each control group that this process is in,
    bytes."""
    left = [host_memory(reader) or os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for group in own_groups(reader):
        limit = reader.line(f"{group}/memory.max") or ""
        used = reader.line(f"{group}/memory.current") or ""
        if limit.isdecimal() and used.isdecimal():
            left.append(int(limit) - int(used) + _inactive_cache(reader, group))
    return max(min(left), 0)


def host_memory(reader: Reader = HOST_FILES) -> int | None:
    """What the kernel says is available on the host, bytes; None if it does not."""
    text = reader.text("/proc/meminfo") or ""
    found = re.search(r"^MemAvailable:\s*(\d{1,15}) kB$", text, re.MULTILINE | re.ASCII)
    return None if found is None else int(found[1]) << 10


def _inactive_cache(reader: Reader, group: PurePosixPath) -> int:
    """The file cache of a control group that has not been used lately, bytes: the kernel reclaims
    it when memory is needed."""
    for line in (reader.text(f"{group}/memory.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdecimal():
            return int(value)
    return 0
