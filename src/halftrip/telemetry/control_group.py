"""The control group (version 2) of this process, which may limit its memory and processor time."""

from __future__ import annotations

from pathlib import PurePosixPath

from halftrip.kernel_files import Reader

GROUPS = PurePosixPath("/sys/fs/cgroup")


def own_group(reader: Reader) -> PurePosixPath:
    """The directory of this process's group; GROUPS itself where the kernel names none."""
    # A host with both versions lists version 2 last, as 0::/group.
    name = (reader.text("/proc/self/cgroup") or "").strip().rpartition("::")[2]
    return GROUPS / name.lstrip("/")
