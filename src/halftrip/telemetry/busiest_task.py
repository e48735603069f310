"""Which other task runs most on a core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from halftrip.results.usage import BusiestTask

_WATCH_SECONDS = 0.02
# A task that runs for a smaller share of the time is not worth naming.
_LEAST_SHARE = 0.1
# In /proc/PID/task/TID/stat, counted from the state, which follows the name: the core that it ran
# on last.
_PROCESSOR = 36
# Bytes; both files are shorter.
_LONGEST = 4096
# The process that all threads of the kernel descend from.
_KTHREADD = 2
# The names of its threads that do what interrupts leave to them.
_SERVES_INTERRUPTS = ("ksoftirqd/", "irq/")


class BusyTask(NamedTuple):
    """A thread of the process `pid`, the child of `parent`, or of the kernel, which ran last on
    `core`; `ran` is its CPU time so far, ns."""

    pid: int
    name: str
    is_kernel: bool
    core: int
    ran: int
    parent: int = 0


def title(name: str, pid: int, is_kernel: bool) -> str:
    """The name of a task, which may have any characters, and whose it is."""
    printable = "".join(each if each.isprintable() else "?" for each in name)
    return f"{printable} ({'of the kernel' if is_kernel else f'process {pid}'})"


def busiest_task(core: int, proc: Path = Path("/proc")) -> BusiestTask | None:
    """The task other than this thread that runs most on a core now, while this thread sleeps; None
    if none is seen: it may have ended, or be invisible from here."""
    own = threading.get_native_id()
    before, began = tasks(proc, (), core), time.perf_counter_ns()
    time.sleep(_WATCH_SECONDS)
    after, ended = tasks(proc, (), core), time.perf_counter_ns()
    ran = {
        tid: task.ran - before[tid].ran
        for tid, task in after.items()
        if tid in before and tid != own
    }
    busiest = max(ran, key=lambda tid: ran[tid], default=None)
    if busiest is None:
        return None
    share = min(ran[busiest] / (ended - began), 1.0)
    if share < _LEAST_SHARE:
        return None
    task = after[busiest]
    name = title(task.name, task.pid, task.is_kernel)
    return BusiestTask(name=name, share=share, owner=_owner(task, _ancestors(proc)))


def _owner(task: BusyTask, ancestors: Mapping[int, int]) -> Literal["rank", "run", "kernel"] | None:
    """Whose a task is, see `BusiestTask`. What this process descends from has started it; the other
    children of its parent are ranks, or serve them."""
    if task.pid == os.getpid():
        return "rank"
    if task.is_kernel:
        return "kernel" if task.name.startswith(_SERVES_INTERRUPTS) else None
    # Of the first process many are children that have nothing to do with each other.
    is_beside = task.parent == ancestors[os.getpid()] != 1
    is_of_run = task.pid in ancestors or is_beside
    return "run" if is_of_run else None


def _ancestors(proc: Path) -> dict[int, int]:
    """The parents of this process and of all that it descends from, without the first process."""
    found = {os.getpid(): os.getppid()}
    pid = os.getppid()
    while pid > 1 and (task := _task(pid, f"{proc}/{pid}", None)) is not None:
        found[pid], pid = task.parent, task.parent
    return found


def tasks(proc: Path, without: Collection[int], core: int | None = None) -> dict[int, BusyTask]:
    """The tasks of all processes but these, by number; only those that ran last on this core, if
    one is given."""
    found = {}
    for pid in _numbered(str(proc)):
        if pid in without:
            continue
        for tid in _numbered(f"{proc}/{pid}/task"):
            read = _task(pid, f"{proc}/{pid}/task/{tid}", core)
            if read is not None:
                found[tid] = read
    return found


def _numbered(directory: str) -> list[int]:
    """The entries of a directory whose names are numbers."""
    try:
        return [int(name) for name in os.listdir(directory) if name.isdigit()]
    except OSError:  # it has ended meanwhile, or may not be read
        return []


def _text(path: str) -> str:
    """The content of a file of the kernel's. There are hundreds, and other ways to read one take
    several times as long."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _LONGEST).decode(errors="replace")
    finally:
        os.close(descriptor)


def _task(pid: int, directory: str, core: int | None) -> BusyTask | None:
    """None if it ran on another core, has ended meanwhile, or has malformed files."""
    try:
        before, _, after = _text(f"{directory}/stat").rpartition(")")
        fields = after.split()
        ran_on = int(fields[_PROCESSOR])
        if core is not None and ran_on != core:
            return None
        ran = _text(f"{directory}/schedstat").split()[0]
        is_kernel = _KTHREADD in (pid, int(fields[1]))
        name = before.partition("(")[2]
        return BusyTask(pid, name, is_kernel, ran_on, int(ran), int(fields[1]))
    except (OSError, ValueError, IndexError):
        return None
