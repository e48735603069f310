"""Filters of system calls, as containers have them."""

import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys

PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}[platform.machine()]
# linux/prctl.h, linux/seccomp.h, linux/filter.h: load the number of the call, compare, return.
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def refuse(number):
    """From now on this process and its children may not make the system call."""
    steps = (
        *((_LOAD, 0, 0, 0), (_JUMP_IF_EQUAL, 0, 1, number)),
        *((_RETURN, 0, 0, _ERROR | errno.EPERM), (_RETURN, 0, 0, _ALLOW)),
    )
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), ctypes.cast(ctypes.create_string_buffer(code), ctypes.c_void_p))
    control = ctypes.CDLL(None, use_errno=True).prctl
    for arguments in ((_NO_NEW_PRIVILEGES, 1, 0, 0, 0), (_SECCOMP, _FILTER, ctypes.byref(program))):
        assert control(*arguments) == 0, os.strerror(ctypes.get_errno())


def refusing(number, work):
    """What a program in Python prints that may not make the system call."""
    code = f"from harness.seccomp import refuse; refuse({number}); {work}"
    command = [sys.executable, "-c", code]
    path = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"PYTHONPATH": path}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
