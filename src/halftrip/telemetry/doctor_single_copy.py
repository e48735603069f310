"""Whether one process may copy from the memory of another, as MPIs do with large messages (CMA).

Yama's setting, a container's filter of system calls and its capabilities all have a say, and MPIs
allow each other what Yama forbids by default. So it is tried, between two processes of our own.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import NamedTuple

from halftrip.kernel_files import HOST_FILES, Reader
from halftrip.telemetry.doctor import Check, unknown

_NAME = "single-copy transfers"
_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
# linux/prctl.h: lets a process, or (-1) any, read this one where Yama allows parents alone.
_SET_TRACER, _ANY, _NOBODY = 0x59616D61, -1, 0
_TIMEOUT_SECONDS = 10
# More than caches of one core hold, as large messages are.
_SIZE = 4 << 20
# Copies its parent's memory; prints 0, or the number of the error, and how long that copy and one
# within this process have taken, the best of some, ns.
_COPY = """
import ctypes, os, sys, time
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
size = int(sys.argv[3])
into = ctypes.create_string_buffer(size)
other = ctypes.create_string_buffer(size)
call = ctypes.CDLL(None, use_errno=True).process_vm_readv
here = Part(ctypes.cast(into, ctypes.c_void_p), size)
there = Part(int(sys.argv[2]), size)
def single():
    return call(int(sys.argv[1]), ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there),
                ctypes.c_ulong(1), ctypes.c_ulong(0))
def best(copy):
    times = []
    for _ in range(5):
        began = time.perf_counter_ns()
        copy()
        times.append(time.perf_counter_ns() - began)
    return min(times)
number = 0 if single() == size else ctypes.get_errno()
print(number, best(single), best(lambda: ctypes.memmove(other, into, size)))
"""


class Tried(NamedTuple):
    """The number of the error of a copy, 0 if it was made: from a process that allows nobody
    anything (`at_once`), and from one that lets others read it, as MPIs do (`allowed`). None: it
    could not be tried. How long the last copy of 4 MiB took, and one within a process, ns."""

    at_once: int | None
    allowed: int | None
    single: int = 0
    copy: int = 0


def check(reader: Reader = HOST_FILES) -> Check:
    return judge(attempt(), reader.line(_SCOPE))


def judge(tried: Tried, scope: str | None) -> Check:
    """The answer; `scope` is Yama's setting, None where there is no Yama."""
    if tried.at_once is None or tried.allowed is None:
        return unknown(_NAME, "it could not be tried")
    copied = f"{tried.copy / 1e6:.2f} ms"
    if not tried.allowed:
        found = "allowed (tried between two processes)"
        if tried.at_once:
            found = "allowed between processes that let each other, as MPIs do (tried)"
            found = f"{found}; ptrace_scope {scope or 'unknown'}"
        took = f"4 MiB take {tried.single / 1e6:.2f} ms, a copy within a process {copied}"
        return Check(_NAME, "ok", f"{found}: {took}")
    advice = "MPI has to copy large messages twice"
    commands = ["sysctl kernel.yama.ptrace_scope=0"] if scope not in {None, "0", "1"} else []
    if not commands:
        advice += ": allow process_vm_readv in this container"
    found = f"tried: {os.strerror(tried.allowed).lower()}; a second copy of 4 MiB takes {copied}"
    return Check(_NAME, "warning", found, advice, commands=commands)


def attempt() -> Tried:
    """Has a child copy from this process: a parent is not its child's to read."""
    # Every page is there before it is copied.
    memory = ctypes.create_string_buffer(b"\1" * _SIZE, _SIZE)
    at_once, *times = _copy(memory)
    if at_once == 0:
        return Tried(at_once, 0, *times)
    control = ctypes.CDLL(None).prctl
    control(_SET_TRACER, ctypes.c_long(_ANY))
    try:
        return Tried(at_once, *_copy(memory))
    finally:
        control(_SET_TRACER, ctypes.c_long(_NOBODY))


def _copy(memory: ctypes.Array[ctypes.c_char]) -> tuple[int | None, int, int]:
    arguments = map(str, (os.getpid(), ctypes.addressof(memory), len(memory)))
    command = [sys.executable, "-I", "-S", "-c", _COPY, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True
        )
        number, single, copy = map(int, done.stdout.split())
        return number, single, copy
    except (OSError, subprocess.SubprocessError, ValueError):
        return None, 0, 0
