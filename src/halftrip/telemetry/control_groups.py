"""The control groups that this process is in, of both versions and with all parents that can be
seen from here, the limits that they set, and for how long these kept it from running."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from halftrip.kernel_files import Reader

# Where they are, unless the kernel lists another mount.
GROUPS = PurePosixPath("/sys/fs/cgroup")
# Version 1 has no word for "no limit" of memory: it is the largest number of whole pages.
_NO_LIMIT = 1 << 62
# Where each version has for how long its tasks were throttled, and the unit, s.
_THROTTLED = {"throttled_usec": 1e-6, "throttled_time": 1e-9}


class Quota(NamedTuple):
    """A group whose tasks may have no more CPU time than that of `cores` cores; `text` is as in
    cpu.max: the time that may be used in a period, both in us (``max 100000``: no limit)."""

    group: PurePosixPath
    text: str
    cores: float


class Limits(NamedTuple):
    """The narrowest limits of all groups of a process. `quota` is as in cpu.max, `cores` how many
    cores' time that is, and `group` the directory that sets it; `memory` is as in memory.max, bytes
    or ``max``. None where nothing says."""

    quota: str | None
    cores: float
    group: PurePosixPath | None
    memory: str | None


def own_groups(reader: Reader, controller: str = "") -> Iterator[PurePosixPath]:
    """The directories of this process's group and of all above it, the innermost first: of version
    2, or those of a `controller` of version 1, such as ``cpu``."""
    named = False
    for line in (reader.text("/proc/self/cgroup") or "").splitlines():
        # The number of a hierarchy, its controllers (of version 2: none), and the group in it.
        controllers, _, group = line.partition(":")[2].partition(":")
        if controller not in controllers.split(","):
            continue
        named = True
        root, mounted = _mount(reader, controller)
        inside = group.strip().removeprefix(root.rstrip("/")).lstrip("/")
        # A group outside of this namespace cannot be seen.
        own = mounted if ".." in inside.split("/") else mounted / inside
        yield own
        yield from (parent for parent in own.parents if parent.is_relative_to(mounted))
    if not (named or controller):
        yield GROUPS


def _mount(reader: Reader, controller: str) -> tuple[str, PurePosixPath]:
    """Which part of the hierarchy of a controller is mounted, and where."""
    for line in (reader.text("/proc/self/mountinfo") or "").splitlines():
        # Behind a dash: the kind of file system, its source and options.
        before, _, behind = line.partition(" - ")
        fields, of_kind = before.split(), behind.split()
        if len(fields) < 5 or len(of_kind) < 3:
            continue
        is_version_2 = of_kind[0] == "cgroup2" and not controller
        is_version_1 = of_kind[0] == "cgroup" and controller in of_kind[2].split(",")
        if is_version_2 or is_version_1:
            return fields[3], PurePosixPath(fields[4])
    return "/", GROUPS / controller


def quotas(reader: Reader) -> list[Quota]:
    """The CPU quotas of this process's groups, those without a limit included."""
    return [Quota(group, text, _cores(text)) for group, text in _quota_texts(reader)]


def _quota_texts(reader: Reader) -> Iterator[tuple[PurePosixPath, str]]:
    for group in own_groups(reader):
        if text := reader.line(f"{group}/cpu.max"):
            yield group, text
    for group in own_groups(reader, "cpu"):
        used = reader.line(f"{group}/cpu.cfs_quota_us")
        period = reader.line(f"{group}/cpu.cfs_period_us")
        if used and period:
            yield group, f"{'max' if used.startswith('-') else used} {period}"


def limits(reader: Reader) -> Limits:
    """The limits of this process."""
    narrowest = min(quotas(reader), key=lambda each: each.cores, default=None)
    sizes = [*_memory_limits(reader)]
    memory = min(sizes, key=lambda text: int(text) if text.isdecimal() else math.inf, default=None)
    if narrowest is None:
        return Limits(None, math.inf, None, memory)
    return Limits(narrowest.text, narrowest.cores, narrowest.group, memory)


def shortage(reader: Reader, needed: int) -> str | None:
    """What this process's groups may use, if that is less than the time of so many cores."""
    found = limits(reader)
    if found.cores >= needed:
        return None
    unit = "of a core" if found.cores < 1 else "core" if found.cores == 1 else "cores"
    share = f"{found.cores:.3g} {unit}"
    return f"this container may use {share} ({found.group})"


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


class Throttles:
    """For how long each limit has throttled tasks of its group, summed over cores."""

    def __init__(self, reader: Reader) -> None:
        limiting = [each.group for each in quotas(reader) if math.isfinite(each.cores)]
        self._files = [reader.kept(f"{group}/cpu.stat") for group in limiting]

    def read(self) -> list[float | None]:
        """These times, s; None where one cannot be read."""
        return [_throttled(file.text() or "") for file in self._files]


def _throttled(text: str) -> float | None:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in _THROTTLED and value.isdecimal():
            return int(value) * _THROTTLED[name]
    return None
