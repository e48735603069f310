"""For how long tasks have run on a core, to the nanosecond: by the scheduler's own clock.

The times of /proc/stat are found at ticks of some ms, and lack what a kernel needs to put a task to
sleep and to wake it up: in a short slice they do not tell other programs from its own sleeps.
"""

from __future__ import annotations

from collections.abc import Callable

from halftrip.kernel_files import KeptFile, Reader

_SCHEDULERS = "/proc/schedstat"
# Since this version the times are ns.
_FIRST_VERSION = 15
# The kernel makes all lines up to that of the core, several for each: it takes some 60 us for this
# many bytes. What lies beyond is not read.
_LONGEST = 16384
# After the name: time for which tasks ran on the core; see sched-stats in the kernel's documents.
_RAN = 7
_ACCOUNTS = ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct")
# Only the root has this file; what a container has in its place counts its own tasks only.
_ROOT_ONLY = "release_agent"


def task_times(reader: Reader, core: int) -> Callable[[], float | None] | None:
    """A function that reads for how long tasks have run on a core, s; None where nothing tells."""
    schedulers = reader.kept(_SCHEDULERS, _LONGEST)
    if _of_scheduler(schedulers, core) is not None:
        return lambda: _of_scheduler(schedulers, core)
    for directory in _ACCOUNTS:
        if reader.text(f"{directory}/{_ROOT_ONLY}") is not None:
            account = reader.kept(f"{directory}/cpuacct.usage_percpu", _LONGEST)
            return lambda account=account: _number(account.text() or "", core)  # type: ignore[misc]
    return None


def _of_scheduler(file: KeptFile, core: int) -> float | None:
    text = file.text() or ""
    version = text.partition("\n")[0].removeprefix("version ")
    if not version.isdecimal() or int(version) < _FIRST_VERSION:
        return None
    _, _, rest = text.partition(f"\ncpu{core} ")
    line, end, _ = rest.partition("\n")
    return _number(line, _RAN - 1) if end else None


def _number(text: str, at: int) -> float | None:
    """The number at this place, ns, in s."""
    numbers = text.split(maxsplit=at + 1)
    return int(numbers[at]) * 1e-9 if at < len(numbers) and numbers[at].isdecimal() else None
