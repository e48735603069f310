"""Who else runs on a core."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

_WATCH_SECONDS = 0.02
# In /proc/PID/task/TID/stat, counted from the state, which follows the name: where it ran last.
_PROCESSOR = 36
_KTHREADD = 2


class Task(NamedTuple):
    """A thread of some process: where it runs, and for how long it has, ns."""

    pid: int
    name: str
    is_kernel: bool
    ran: int


def culprit(core: int, proc: Path = Path("/proc"), seconds: float = _WATCH_SECONDS) -> str | None:
    """The task of another process that runs most on a core now, as ``stress (process 123)``; None
    where none is seen to run there: it is gone, or may not be seen from here."""
    before = _tasks(core, proc)
    time.sleep(seconds)
    after = _tasks(core, proc)
    ran = {tid: task.ran - before[tid].ran for tid, task in after.items() if tid in before}
    busiest = max(ran, key=lambda tid: ran[tid], default=None)
    if busiest is None or not ran[busiest]:
        return None
    task = after[busiest]
    return f"{task.name} ({'of the kernel' if task.is_kernel else f'process {task.pid}'})"


def _tasks(core: int, proc: Path) -> dict[int, Task]:
    """The tasks of other processes that ran on a core when they last did, by their number."""
    found = {}
    for directory in proc.iterdir():
        if not directory.name.isdigit() or int(directory.name) == os.getpid():
            continue
        try:
            for task in (directory / "task").iterdir():
                seen = _task(int(directory.name), task, core)
                if seen is not None:
                    found[int(task.name)] = seen
        except OSError:  # it has ended meanwhile
            continue
    return found


def _task(pid: int, directory: Path, core: int) -> Task | None:
    before, _, after = (directory / "stat").read_text(errors="replace").rpartition(")")
    fields = after.split()
    if len(fields) <= _PROCESSOR or fields[_PROCESSOR] != str(core):
        return None
    ran = (directory / "schedstat").read_text().split()[0]
    is_kernel = _KTHREADD in (pid, int(fields[1]))
    return Task(pid, before.partition("(")[2], is_kernel, int(ran))
