"""Libraries that are found by name at run time: nothing is built against them."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from halftrip.errors import Unavailable

_T = TypeVar("_T")

# What UCX reads while it is loaded, be it by an MPI: the signal by which it is debugged, SIGHUP by
# default. It would not end a rank then.
NO_DEBUGGER = {"UCX_DEBUG_SIGNO": "0"}


@contextlib.contextmanager
def defaults(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets those variables of this process that the user has not, for libraries that are loaded
    meanwhile."""
    added = {name: value for name, value in variables.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def load(file: str, name: str) -> ctypes.CDLL:
    """The library in a file that the dynamic linker finds; `name` is what messages call it. Raises
    Unavailable."""
    try:
        return ctypes.CDLL(file)
    except OSError as error:
        # Else the linker names what the library itself lacks.
        is_missing = str(error).startswith(f"{file}: cannot open")
        said = f"there is no {file}" if is_missing else str(error)
        raise Unavailable(f"no {name}: {said}") from None


def missing(find: Callable[[], object]) -> str | None:
    """Why there is nothing that `find` looks for, or None."""
    try:
        find()
    except Unavailable as error:
        return str(error)
    return None


class Once(Generic[_T]):
    """What `make` returns, made when it is first asked for; or why there is none."""

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._value: _T | None = None
        self._reason: Unavailable | None = None

    def get(self) -> _T:
        """Raises Unavailable, with the same reason at every call."""
        if self._reason is not None:
            raise self._reason
        if self._value is None:
            try:
                self._value = self._make()
            except Unavailable as error:
                self._reason = error
                raise
        return self._value

    def missing(self) -> str | None:
        """Why there is none, or None."""
        return missing(self.get)


def addresses(library: ctypes.CDLL, names: Sequence[str], name: str) -> list[int]:
    """The addresses of functions, for native code; `name` is what messages call the library. Raises
    Unavailable where it lacks one."""
    found = []
    for each in names:
        function = getattr(library, each, None)
        if function is None:
            raise Unavailable(f"{name} has no {each}")
        found.append(ctypes.cast(function, ctypes.c_void_p).value or 0)
    return found


class _Info(ctypes.Structure):
    """Dl_info."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def file_of(address: int) -> str | None:
    """The file of the library that has the function at an address, if that is known."""
    info = _Info()
    found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(info))
    return os.fsdecode(info.file) if found and info.file else None
