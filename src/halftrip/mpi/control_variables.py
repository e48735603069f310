"""The control variables of the MPI library that mpi4py has loaded (MPI 4.1, 15.3.6: MPI_T_cvar)."""

from __future__ import annotations

import ctypes
import re
from typing import Any

from halftrip.errors import Unavailable
from halftrip.mpi.library import function_address

_LONGEST_NAME = 512
# Of a value: a text may be longer, and is not read.
_ROOM = 4096
# The sizes of whole numbers, in bytes.
_NUMBERS = (4, 8)


class _Interface:
    """The functions of MPI_T, by name. Raises Unavailable where the library lacks one."""

    def __init__(self) -> None:
        from mpi4py import MPI

        # In MPICH and its relatives, an int.
        kinds: dict[int, Any] = {4: ctypes.c_int, 8: ctypes.c_void_p}
        self.datatype = kinds[MPI._sizeof(MPI.Datatype)]
        # To look one up takes longer than to call it, and there may be a thousand variables.
        self._functions: dict[str, Any] = {}

    def call(self, name: str, *arguments: Any) -> bool:
        """Calls a function of the interface; whether it has succeeded."""
        if name not in self._functions:
            prototype = ctypes.CFUNCTYPE(ctypes.c_int)
            self._functions[name] = prototype(function_address(name))
        return bool(self._functions[name](*arguments) == 0)


def read_numbers(pattern: str) -> dict[str, int]:
    """The values of those control variables whose names the regular expression matches as a whole,
    and that are whole numbers; none where the library does not tell.

    A variable of a component that Open MPI has closed has no name any more.
    """
    from mpi4py import MPI

    try:
        interface = _Interface()
        provided = ctypes.c_int()
        # Open MPI takes the level that is asked for here for that of all of MPI.
        level = MPI.Query_thread()
        if not interface.call("MPI_T_init_thread", level, ctypes.byref(provided)):
            return {}
    except Unavailable:
        return {}
    try:
        return _read(interface, re.compile(pattern))
    finally:
        interface.call("MPI_T_finalize")


def _read(interface: _Interface, pattern: re.Pattern[str]) -> dict[str, int]:
    count = ctypes.c_int()
    interface.call("MPI_T_cvar_get_num", ctypes.byref(count))
    found = {}
    name = ctypes.create_string_buffer(_LONGEST_NAME)
    verbosity, binding, scope = (ctypes.c_int() for _ in range(3))
    for number in range(count.value):
        length = ctypes.c_int(_LONGEST_NAME)
        datatype = interface.datatype()
        is_there = interface.call(
            "MPI_T_cvar_get_info",
            ctypes.c_int(number),
            name,
            ctypes.byref(length),
            ctypes.byref(verbosity),
            ctypes.byref(datatype),
            # Neither names of values nor a description.
            None,
            None,
            None,
            ctypes.byref(binding),
            ctypes.byref(scope),
        )
        if not is_there:
            continue
        known = name.value.decode(errors="replace")
        if pattern.fullmatch(known):
            value = _value(interface, number, datatype)
            if value is not None:
                found[known] = value
    return found


def _value(interface: _Interface, number: int, datatype: Any) -> int | None:
    """The value of the variable of this number, which belongs to no object of MPI's."""
    size, count, handle = ctypes.c_int(), ctypes.c_int(), ctypes.c_void_p()
    if not interface.call("MPI_Type_size", datatype, ctypes.byref(size)):
        return None
    allocated = interface.call(
        "MPI_T_cvar_handle_alloc",
        ctypes.c_int(number),
        None,
        ctypes.byref(handle),
        ctypes.byref(count),
    )
    if not allocated:
        return None
    try:
        if count.value != 1 or size.value not in _NUMBERS:
            return None
        room = ctypes.create_string_buffer(_ROOM)
        if not interface.call("MPI_T_cvar_read", handle, room):
            return None
        return int.from_bytes(room.raw[: size.value], "little", signed=True)
    finally:
        interface.call("MPI_T_cvar_handle_free", ctypes.byref(handle))
