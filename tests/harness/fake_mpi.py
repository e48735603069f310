"""MPI functions that write down their calls, fail when they are told to, and move nothing."""

import ctypes
from collections import Counter

from halftrip import _native

_int, _pointer = ctypes.c_int, ctypes.c_void_p
_request = ctypes.POINTER(_int)
# As wide as any MPI counts.
_count = ctypes.c_int64
# Buffer, count, type, peer, tag, communicator.
_MESSAGE = (_pointer, _count, _int, _int, _int, _int)
_MOVE = (_pointer, _count, _int, _int, ctypes.c_ssize_t, _count, _int, _int)
_ARGUMENTS = {
    "MPI_Send": _MESSAGE,
    "MPI_Recv": (*_MESSAGE, _pointer),
    "MPI_Sendrecv": (*_MESSAGE[:5], *_MESSAGE, _pointer),
    "MPI_Isend": (*_MESSAGE, _request),
    "MPI_Irecv": (*_MESSAGE, _request),
    "MPI_Send_init": (*_MESSAGE, _request),
    "MPI_Recv_init": (*_MESSAGE, _request),
    "MPI_Start": (_request,),
    "MPI_Wait": (_request, _pointer),
    "MPI_Waitall": (_int, _request, _pointer),
    "MPI_Request_free": (_request,),
    "MPI_Put": _MOVE,
    "MPI_Get": _MOVE,
    "MPI_Win_flush": (_int, _int),
    "MPI_Win_sync": (_int,),
}
_BLOCKING = ("MPI_Send", "MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Wait")
_NONBLOCKING = ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Recv")
_PERSISTENT = ("MPI_Send_init", "MPI_Recv_init", "MPI_Start", "MPI_Waitall", "MPI_Wait",
               "MPI_Request_free", "MPI_Send", "MPI_Recv")  # fmt: skip
_WINDOW = ("MPI_Put", "MPI_Get", "MPI_Win_flush", "MPI_Win_sync", "MPI_Send", "MPI_Recv")

COMMUNICATOR, BYTE, DATATYPE, WINDOW, PEER, TAG = 11, 12, 13, 14, 3, 99
FAILURE = 17


class FakeMpi:
    """The library, and endpoints that call it; handles are int. `calls` are names and arguments;
    requests have numbers from 1 on. A function that `fails` names returns FAILURE at its call of
    that number, counted from 0."""

    def __init__(self, fails=None):
        self.calls = []
        self.made = 0
        self.freed = []
        self._fails = fails or {}
        self._counts = Counter()
        self._callbacks = {
            name: ctypes.CFUNCTYPE(_int, *arguments)(self._function(name))
            for name, arguments in _ARGUMENTS.items()
        }
        self._handles = [_int(value) for value in (COMMUNICATOR, BYTE, DATATYPE, WINDOW)]

    def _function(self, name):
        def call(*arguments):
            number = self._counts[name]
            self._counts[name] += 1
            self.calls.append((name, *arguments))
            if self._fails.get(name) == number:
                return FAILURE
            if name in {"MPI_Isend", "MPI_Irecv", "MPI_Send_init", "MPI_Recv_init"}:
                self.made += 1
                arguments[-1][0] = self.made
            if name == "MPI_Request_free":
                self.freed.append(arguments[0][0])
            return 0

        return call

    def count(self, name):
        return self._counts[name]

    def _addresses(self, names):
        return [ctypes.cast(self._callbacks[name], _pointer).value for name in names]

    def path(self, typed_size=0, typed_extent=0, **most):
        communicator, byte, datatype, _ = map(ctypes.addressof, self._handles)
        return _native.MpiPathInt(
            communicator=communicator,
            byte=byte,
            datatype=datatype,
            typed_size=typed_size,
            typed_extent=typed_extent,
            peer=PEER,
            tag=TAG,
            **most,
        )

    def blocking(self, **typed):
        return _native.MpiInt(self.path(**typed), self._addresses(_BLOCKING))

    def nonblocking(self, max_window, **typed):
        path = self.path(**typed)
        return _native.MpiNonblockingInt(path, self._addresses(_NONBLOCKING), max_window)

    def persistent(self, out, in_, max_window, **most):
        addresses = self._addresses(_PERSISTENT)
        return _native.MpiPersistentInt(self.path(**most), addresses, out, in_, max_window)

    def window(self, base, size, **typed):
        window = ctypes.addressof(self._handles[3])
        return _native.MpiWindowInt(
            self.path(**typed), self._addresses(_WINDOW), window, PEER, base, size
        )
