"""The control groups of this process that limit its CPU time: version 1 and 2, and all parents
that can be seen from here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from halftrip.kernel_files import Reader

# Where each version has for how long its tasks were throttled, and the unit, s.
_THROTTLED = {"throttled_usec": 1e-6, "throttled_time": 1e-9}


class CpuLimit(NamedTuple):
    """A group whose tasks may have no more CPU time than that of `cpus` cores."""

    group: PurePosixPath
    cpus: float


def cpu_limits(reader: Reader) -> list[CpuLimit]:
    """The limits of this process's groups and their parents."""
    found = []
    for group in _cpu_groups(reader):
        fields = (reader.line(f"{group}/cpu.max") or "").split()
        quota = reader.number(f"{group}/cpu.cfs_quota_us")
        if len(fields) == 2 and all(map(str.isdecimal, fields)) and int(fields[1]):
            found.append(CpuLimit(group, int(fields[0]) / int(fields[1])))
        elif quota is not None and (period := reader.number(f"{group}/cpu.cfs_period_us")):
            found.append(CpuLimit(group, quota / period))
    return found


class Throttles:
    """For how long each limit has throttled tasks of its group, summed over cores."""

    def __init__(self, reader: Reader) -> None:
        self._files = [reader.kept(f"{each.group}/cpu.stat") for each in cpu_limits(reader)]

    def read(self) -> list[float | None]:
        """These times, s; None where one cannot be read."""
        return [_throttled(file.text() or "") for file in self._files]


def _throttled(text: str) -> float | None:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in _THROTTLED and value.isdecimal():
            return int(value) * _THROTTLED[name]
    return None


def _cpu_groups(reader: Reader) -> Iterator[PurePosixPath]:
    """The directories of all groups that may limit CPU time, from the inmost to the root."""
    mounts = [line.split() for line in (reader.text("/proc/self/mountinfo") or "").splitlines()]
    for line in (reader.text("/proc/self/cgroup") or "").splitlines():
        # The number of a hierarchy, its controllers (of version 2: none), and the group in it.
        _, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        kind = "cgroup" if controllers else "cgroup2"
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in mounts:
            # Which part of the hierarchy is mounted, and where; behind a dash its kind and options.
            _, _, behind = " ".join(mount).partition(" - ")
            fields = behind.split()
            if len(fields) < 3 or fields[0] != kind:
                continue
            if controllers and "cpu" not in fields[2].split(","):
                continue
            root, mounted = mount[3], PurePosixPath(mount[4])
            inside = group.removeprefix(root.rstrip("/")).lstrip("/")
            # A group outside of this namespace cannot be seen.
            own = mounted if ".." in inside.split("/") else mounted / inside
            yield own
            yield from (parent for parent in own.parents if parent.is_relative_to(mounted))
            break
