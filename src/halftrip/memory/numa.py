"""Memory on a NUMA node: mbind(2) and get_mempolicy(2), for which libc has no functions."""

from __future__ import annotations

import ctypes
import os
import platform
from types import MappingProxyType

from halftrip.errors import Unavailable, system_reason
from halftrip.memory.allocator import Bytes

# The numbers of mbind and of get_mempolicy; on all others, those of the generic table.
_NUMBERS = MappingProxyType({"x86_64": (237, 239), "ppc64le": (259, 260), "s390x": (268, 269)})
_GENERIC = (235, 236)
# linux/mempolicy.h
_BIND = 2
_NODE_OF_ADDRESS = 1 << 0 | 1 << 1
_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)


def bind(memory: Bytes, node: int) -> None:
    """Has the pages of `memory`, which begins a page and was not touched yet, come from a node.
    Raises Unavailable where the kernel refuses."""
    words = node // _BITS + 1
    mask = (ctypes.c_ulong * words)()
    mask[node // _BITS] = 1 << node % _BITS
    # The kernel takes one bit less than it is told.
    bits = words * _BITS + 1
    _call(0, "mbind", memory.ctypes.data, memory.size, _BIND, ctypes.addressof(mask), bits, 0)


def node_of_page(memory: Bytes) -> int:
    """The node of the page that `memory` begins. Raises Unavailable where the kernel refuses."""
    node = ctypes.c_int(-1)
    address, flags = memory.ctypes.data, _NODE_OF_ADDRESS
    _call(1, "get_mempolicy", ctypes.addressof(node), 0, 0, address, flags)
    return node.value


def _call(which: int, name: str, *arguments: int) -> None:
    number = _NUMBERS.get(platform.machine(), _GENERIC)[which]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(ctypes.c_long(number), *map(ctypes.c_ulong, arguments)) != 0:
        code = ctypes.get_errno()
        reason = system_reason(OSError(code, os.strerror(code))).lower()
        raise Unavailable(f"the kernel refuses {name}: {reason}")
