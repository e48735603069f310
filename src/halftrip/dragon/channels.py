"""Dragon channels between two ranks, by the calls of libdragon, which is found at run time.

Structures are those of its headers dragon/channels.h and dragon/managed_memory.h. Nearly all are
the library's own, which only their size matters of; here they have room to grow.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from halftrip import _native
from halftrip.dragon.process import first_line, no_dragon
from halftrip.errors import Unavailable

_OWN_BYTES = 256
# dragonWaitMode_t
_WAIT_MODES = {"block": 0, "spin": 1, "adaptive": 2}
# DRAGON_CHANNEL_SEND_RETURN_WHEN_BUFFERED: when the sender may write its memory again.
_WHEN_BUFFERED = 1
# What DRAGON_CHANNEL_BLOCKING_NOTIMEOUT has in both of its fields.
_NO_TIMEOUT = 2**31 - 1
_TOO_LARGE = "DRAGON_DYNHEAP_REQUESTED_SIZE_TOO_LARGE"
# How long the runtime may take to make or destroy a channel, s.
_PATIENCE = 10
_GATEWAYS_VARIABLE = "DRAGON_NUM_GW_CHANNELS_PER_NODE"

# A structure that only the library reads.
_Own = ctypes.c_ubyte * _OWN_BYTES


class _Time(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


class _SendAttributes(ctypes.Structure):
    """dragonChannelSendAttr_t"""

    _fields_ = (
        ("id", ctypes.c_uint8 * 16),
        ("return_mode", ctypes.c_int),
        ("default_timeout", _Time),
        ("wait_mode", ctypes.c_int),
        ("rest", _Own),
    )


class _ReceiveAttributes(ctypes.Structure):
    """dragonChannelRecvAttr_t"""

    _fields_ = (
        ("notification", ctypes.c_int),
        ("default_timeout", _Time),
        ("signal", ctypes.c_int),
        ("wait_mode", ctypes.c_int),
        ("rest", _Own),
    )


class _ChannelAttributes(ctypes.Structure):
    """dragonChannelAttr_t"""

    _fields_ = (
        ("id", ctypes.c_uint64),
        ("bytes_per_message_block", ctypes.c_size_t),
        ("rest", _Own),
    )


class _Serial(ctypes.Structure):
    """dragonChannelSerial_t"""

    _fields_ = (("length", ctypes.c_size_t), ("bytes", ctypes.c_void_p))


def library_path() -> Path:
    """The file of libdragon. Raises Unavailable if there is none."""
    found = importlib.util.find_spec("dragon")
    places: Sequence[str] = (found and found.submodule_search_locations) or ()
    for place in places:
        path = Path(place, "lib", "libdragon.so")
        if path.exists():
            return path
    raise Unavailable(no_dragon() if not places else "this dragonhpc has no libdragon.so")


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(library_path()))
    library.dragon_get_rc_string.restype = ctypes.c_char_p
    library.dragon_getlasterrstr.restype = ctypes.c_char_p
    return library


def _call(name: str, *arguments: Any) -> None:
    """Calls a function of the library. Raises Unavailable, with the library's words."""
    library = _library()
    function = getattr(library, name, None)
    if function is None:
        raise Unavailable(f"this libdragon has no {name}")
    code = function(*arguments)
    if code:
        said = library.dragon_get_rc_string(code).decode(errors="replace")
        trace = (library.dragon_getlasterrstr() or b"").decode(errors="replace")
        raise Unavailable(f"{name}: {said}: {first_line(trace)}")


def functions() -> list[int]:
    """The addresses of the functions that a native endpoint needs, in its order. Raises
    Unavailable if the library lacks one."""
    library = _library()
    found = []
    for name in _native.dragon_functions:
        function = getattr(library, name, None)
        address = ctypes.cast(function, ctypes.c_void_p).value if function is not None else None
        if address is None:
            raise Unavailable(f"this libdragon has no {name}")
        found.append(address)
    return found


@cache
def _pool() -> ctypes.Array[Any]:
    """The pool that the runtime has for this node, attached."""
    if int(os.environ.get(_GATEWAYS_VARIABLE) or 0) > 0:
        _call("dragon_channel_register_gateways_from_env")
    pool = _Own()
    _call("dragon_memory_pool_attach_default", pool)
    return pool


def _is_known(attributes: _SendAttributes | _ReceiveAttributes) -> bool:
    """Whether the library has put its defaults where this module expects them."""
    timeout = attributes.default_timeout
    return (
        attributes.wait_mode in _WAIT_MODES.values()
        and timeout.seconds == timeout.nanoseconds == _NO_TIMEOUT
    )


class Channels:
    """A channel that this rank receives from, with room for `capacity` messages, and, once it is
    known, the peer's. `wait` is how both of this rank's ends wait. All raise Unavailable."""

    def __init__(self, wait: str, capacity: int) -> None:
        self._wait = wait
        self._resources = contextlib.ExitStack()
        _pool()
        own = self._own = _Own()
        patience = _Time(_PATIENCE, 0)
        _call(
            "dragon_create_process_local_channel",
            own,
            *(ctypes.c_uint64(value) for value in (0, 0, capacity)),
            ctypes.byref(patience),
        )
        self._resources.callback(
            _try, "dragon_destroy_process_local_channel", own, ctypes.byref(patience)
        )
        try:
            self._receive_handle = self._opened_receive_handle(own)
            self.serialized = _serialized(own)
        except Unavailable:
            self.close()
            raise

    def connect(self, serialized: bytes) -> None:
        """Opens the peer's channel."""
        text = ctypes.create_string_buffer(serialized, len(serialized))
        peer = _Own()
        serial = _Serial(len(serialized), ctypes.cast(text, ctypes.c_void_p))
        _call("dragon_channel_attach", ctypes.byref(serial), peer)
        self._resources.callback(_try, "dragon_channel_detach", peer)
        attributes = _SendAttributes()
        _call("dragon_channel_send_attr_init", ctypes.byref(attributes))
        if not _is_known(attributes):
            raise Unavailable("the attributes of this libdragon's send handles are unknown")
        attributes.wait_mode = _WAIT_MODES[self._wait]
        attributes.return_mode = _WHEN_BUFFERED
        self._send_handle = _Own()
        _call("dragon_channel_sendh", peer, self._send_handle, ctypes.byref(attributes))
        _call("dragon_chsend_open", self._send_handle)
        self._resources.callback(_try, "dragon_chsend_close", self._send_handle)

    @property
    def block_bytes(self) -> int | None:
        """The longest message that this rank's channel holds itself, bytes; of a longer one it has
        the place in the pool. None: the library does not tell."""
        attributes = _ChannelAttributes()
        try:
            _call("dragon_channel_get_attr", self._own, ctypes.byref(attributes))
        except Unavailable:
            return None
        return int(attributes.bytes_per_message_block)

    def _opened_receive_handle(self, own: ctypes.Array[Any]) -> ctypes.Array[Any]:
        attributes = _ReceiveAttributes()
        _call("dragon_channel_recv_attr_init", ctypes.byref(attributes))
        if not _is_known(attributes):
            raise Unavailable("the attributes of this libdragon's receive handles are unknown")
        attributes.wait_mode = _WAIT_MODES[self._wait]
        handle = _Own()
        _call("dragon_channel_recvh", own, handle, ctypes.byref(attributes))
        _call("dragon_chrecv_open", handle)
        self._resources.callback(_try, "dragon_chrecv_close", handle)
        return handle

    def endpoint(self, out: _native.Ring, transfers: bool) -> _native.DragonChannel:
        """A native endpoint that sends from these buffers."""
        try:
            return _native.DragonChannel(
                functions(),
                ctypes.addressof(self._send_handle),
                ctypes.addressof(self._receive_handle),
                ctypes.addressof(_pool()),
                out,
                transfers,
            )
        except _native.DragonError as error:
            if _TOO_LARGE in str(error):
                raise Unavailable("its messages do not fit into the runtime's pool") from None
            raise Unavailable(str(error)) from None

    def close(self) -> None:
        """Closes and destroys what there is."""
        self._resources.close()


def _serialized(channel: ctypes.Array[Any]) -> bytes:
    serial = _Serial()
    _call("dragon_channel_serialize", channel, ctypes.byref(serial))
    try:
        return ctypes.string_at(serial.bytes, serial.length)
    finally:
        _call("dragon_channel_serial_free", ctypes.byref(serial))


def _try(name: str, *arguments: Any) -> None:
    """Calls a function at the end, where the runtime may be gone already."""
    with contextlib.suppress(Unavailable):
        _call(name, *arguments)
