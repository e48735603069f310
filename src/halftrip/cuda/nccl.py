"""NCCL, by name at run time. Names and types are those of nccl.h, NCCL 2."""

from __future__ import annotations

import ctypes
from typing import Any

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.libraries import Once, addresses, load

LIBRARY = "libnccl.so.2"
_UNIQUE_ID_BYTES = 128


class UniqueId(ctypes.Structure):
    """What the ranks of a communicator find each other by."""

    _fields_ = (("internal", ctypes.c_char * _UNIQUE_ID_BYTES),)


class Nccl:
    """The library. Raises Unavailable where there is none."""

    def __init__(self) -> None:
        self._library = load(LIBRARY, "NCCL")
        # ncclGetLastError came with NCCL 2.13.
        for name in ("ncclGetErrorString", "ncclGetLastError"):
            if hasattr(self._library, name):
                getattr(self._library, name).restype = ctypes.c_char_p

    @property
    def addresses(self) -> list[int]:
        """The addresses of the functions that native code calls, in its order. Raises
        Unavailable if there is none of a name."""
        return addresses(self._library, _native.nccl_functions, f"this {LIBRARY}")

    def new_id(self) -> bytes:
        """The id of a communicator that is still to be made. Raises Unavailable."""
        made = UniqueId()
        self._call("ncclGetUniqueId", ctypes.byref(made))
        return bytes(made)

    def join(self, unique_id: bytes, rank: int, ranks: int = 2) -> Communicator:
        """The communicator of that id, on the device that is current in the calling thread; all of
        its ranks have to call this. Raises Unavailable."""
        handle = ctypes.c_void_p()
        self._call(
            "ncclCommInitRank",
            ctypes.byref(handle),
            ranks,
            UniqueId.from_buffer_copy(unique_id),
            rank,
        )
        return Communicator(self, handle)

    def leave(self, handle: ctypes.c_void_p) -> None:
        """Frees a communicator."""
        self._call("ncclCommDestroy", handle)

    def _function(self, name: str) -> Any:
        function = getattr(self._library, name, None)
        if function is None:
            raise Unavailable(f"this {LIBRARY} has no {name}")
        return function

    def _call(self, name: str, *arguments: object) -> None:
        code = self._function(name)(*arguments)
        if code:
            raise Unavailable(f"{name}: {self._error(code)}")

    def _error(self, code: int) -> str:
        """A ncclResult_t in words, and what NCCL says of the call that failed, in one line."""
        said = [f"error {code}"]
        if hasattr(self._library, "ncclGetErrorString"):
            said = [_text(self._library.ncclGetErrorString(code)) or said[0]]
        if hasattr(self._library, "ncclGetLastError"):
            detail = _text(self._library.ncclGetLastError(None))
            said += [f"({detail})"] if detail else []
        return " ".join(said)


def _text(raw: bytes | None) -> str:
    return " ".join((raw or b"").decode(errors="replace").split())


class Communicator:
    """Two ranks, of which this process is one."""

    def __init__(self, library: Nccl, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle: ctypes.c_void_p | None = handle

    @property
    def address(self) -> int:
        return (self._handle and self._handle.value) or 0

    def close(self) -> None:
        if self._handle is not None:
            handle, self._handle = self._handle, None
            self._library.leave(handle)


_once = Once(Nccl)
nccl, missing = _once.get, _once.missing
