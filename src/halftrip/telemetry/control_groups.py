"""The control groups that this process is in, of both versions, and the limits that they set."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from halftrip.kernel_files import Reader

GROUPS = PurePosixPath("/sys/fs/cgroup")
# Version 1 has no word for "no limit" of memory: it is the largest number of whole pages.
_NO_LIMIT = 1 << 62


class Limits(NamedTuple):
    """The narrowest limits of all groups of a process. `quota` is as in cpu.max, the time that may
    be used in a period, both in us (``max 100000``: no limit), `cores` how many cores' time that
    is, and `group` the directory that sets it; `memory` is as in memory.max, bytes or ``max``. None
    where nothing says."""

    quota: str | None
    cores: float
    group: PurePosixPath | None
    memory: str | None


def own_group(reader: Reader) -> PurePosixPath:
    """The directory of this process's group of version 2; GROUPS itself where the kernel names
    none."""
    # A host with both versions lists version 2 last, as 0::/group.
    name = (reader.text("/proc/self/cgroup") or "").strip().rpartition("::")[2]
    return GROUPS / name.lstrip("/")


def own_groups(reader: Reader, controller: str = "") -> Iterator[PurePosixPath]:
    """The directories of this process's group and of all above it, the innermost first: of version
    2, or those of a `controller` of version 1, such as ``cpu``."""
    if controller:
        # From within a container the path may be that of its host: then only the root is there.
        for line in (reader.text("/proc/self/cgroup") or "").splitlines():
            controllers, _, name = line.partition(":")[2].partition(":")
            if controller in controllers.split(","):
                root = GROUPS / controller
                yield from _upwards(root / name.lstrip("/"), root)
        return
    yield from _upwards(own_group(reader), GROUPS)


def _upwards(group: PurePosixPath, root: PurePosixPath) -> Iterator[PurePosixPath]:
    for each in (group, *group.parents):
        yield each
        if each == root:
            return


def limits(reader: Reader) -> Limits:
    """The limits of this process."""
    quotas = [(_cores(text), text, group) for group, text in _quotas(reader)]
    cores, quota, group = min(quotas, key=lambda each: each[0], default=(math.inf, None, None))
    sizes = [*_memory_limits(reader)]
    memory = min(sizes, key=lambda text: int(text) if text.isdecimal() else math.inf, default=None)
    return Limits(quota, cores, group, memory)


def _quotas(reader: Reader) -> Iterator[tuple[PurePosixPath, str]]:
    for group in own_groups(reader):
        if quota := reader.line(f"{group}/cpu.max"):
            yield group, quota
    for group in own_groups(reader, "cpu"):
        quota = reader.line(f"{group}/cpu.cfs_quota_us")
        period = reader.line(f"{group}/cpu.cfs_period_us")
        if quota and period:
            yield group, f"{'max' if quota.startswith('-') else quota} {period}"


def _cores(quota: str) -> float:
    used, _, period = quota.partition(" ")
    if not (used.isdecimal() and period.isdecimal() and int(period)):
        return math.inf
    return int(used) / int(period)


def _memory_limits(reader: Reader) -> Iterator[str]:
    for group in own_groups(reader):
        if limit := reader.line(f"{group}/memory.max"):
            yield limit
    for group in own_groups(reader, "memory"):
        if limit := reader.line(f"{group}/memory.limit_in_bytes"):
            is_limit = limit.isdecimal() and int(limit) < _NO_LIMIT
            yield limit if is_limit else "max"
