"""For how long tasks have run on a core, to the nanosecond: by the scheduler's own clock.

The times of /proc/stat are found at ticks of some ms, and lack what a kernel needs to put a task to
sleep and to wake it up: in a short slice they do not tell other programs from its own sleeps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from halftrip.kernel_files import KeptFile, Reader

_SCHEDULERS = "/proc/schedstat"
# Since this version the times are ns.
_FIRST_VERSION = 15
# The kernel makes all lines up to that of the core, several for each, a page at a time: some 60 us
# for 16 KiB. What lies beyond this is not read.
_LONGEST = 1 << 17
# To sleep for so long, s, gives the core away.
_SHORTEST = 1e-6
# After the name: time for which tasks ran on the core; see sched-stats in the kernel's documents.
_RAN = 7
_ACCOUNTS = ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct")
# Only the root has this file; what a container has in its place counts its own tasks only.
_ROOT_ONLY = "release_agent"


def task_times(reader: Reader, core: int) -> Callable[[], float | None] | None:
    """A function that reads for how long tasks have run on a core, s; None where nothing tells."""
    schedulers = reader.kept(_SCHEDULERS, _LONGEST)
    for directory in _ACCOUNTS:
        account = reader.kept(f"{directory}/cpuacct.usage_percpu", _LONGEST)
        is_root = reader.text(f"{directory}/{_ROOT_ONLY}") is not None
        if is_root and _of_account(account, core) is not None:
            return partial(_of_account, account, core)
    if _of_scheduler(schedulers, core) is not None:
        return partial(_of_scheduler, schedulers, core)
    return None


def _of_account(file: KeptFile, core: int) -> float | None:
    return _number(file.text() or "", core)


def _of_scheduler(file: KeptFile, core: int) -> float | None:
    # The time of the task that runs counts when it gives its core away.
    time.sleep(_SHORTEST)
    text = file.text(f"cpu{core} ") or ""
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
