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
_WORD = b"halftrip"
# Copies the word from its parent's memory; prints 0, or the number of the error.
_COPY = """
import ctypes, os, sys
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
size = int(sys.argv[3])
into = ctypes.create_string_buffer(size)
call = ctypes.CDLL(None, use_errno=True).process_vm_readv
here = Part(ctypes.cast(into, ctypes.c_void_p), size)
there = Part(int(sys.argv[2]), size)
done = call(int(sys.argv[1]), ctypes.byref(here), ctypes.c_ulong(1), ctypes.byref(there),
            ctypes.c_ulong(1), ctypes.c_ulong(0))
print(0 if done == size else ctypes.get_errno())
"""


class Tried(NamedTuple):
    """The number of the error of a copy, 0 if it was made: from a process that allows nobody
    anything (`at_once`), and from one that lets others read it, as MPIs do (`allowed`). None: it
    could not be tried."""

    at_once: int | None
    allowed: int | None


def check(reader: Reader = HOST_FILES) -> Check:
    return judge(attempt(), reader.line(_SCOPE))


def judge(tried: Tried, scope: str | None) -> Check:
    """The answer; `scope` is Yama's setting, None where there is no Yama."""
    if tried.at_once is None or tried.allowed is None:
        return unknown(_NAME, "it could not be tried")
    if not tried.at_once:
        return Check(_NAME, "ok", "allowed (tried between two processes)")
    if not tried.allowed:
        found = "allowed between processes that let each other, as MPIs do (tried)"
        return Check(_NAME, "ok", f"{found}; ptrace_scope {scope or 'unknown'}")
    advice = "MPI has to copy large messages twice: allow process_vm_readv in this container"
    if scope not in {None, "0", "1"}:
        advice = "MPI has to copy large messages twice: sysctl kernel.yama.ptrace_scope=0"
    return Check(_NAME, "warning", f"tried: {os.strerror(tried.allowed).lower()}", advice)


def attempt() -> Tried:
    """Has a child copy from this process: a parent is not its child's to read."""
    word = ctypes.create_string_buffer(_WORD)
    at_once = _copy(word)
    if at_once == 0:
        return Tried(at_once, 0)
    control = ctypes.CDLL(None).prctl
    control(_SET_TRACER, ctypes.c_long(_ANY))
    try:
        return Tried(at_once, _copy(word))
    finally:
        control(_SET_TRACER, ctypes.c_long(_NOBODY))


def _copy(word: ctypes.Array[ctypes.c_char]) -> int | None:
    arguments = map(str, (os.getpid(), ctypes.addressof(word), len(_WORD)))
    command = [sys.executable, "-I", "-S", "-c", _COPY, *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=True
        )
        return int(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
