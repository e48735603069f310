"""MPI between two ranks: whichever library mpi4py has loaded."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.host import BLOCK, BLOCK_STRIDE
from halftrip.memory.ring import Ring
from halftrip.mpi.library import TIMED_TAG, function_address
from halftrip.results.case import Case
from halftrip.transports.base import NothingToOpen, OneSided, Opened, Window

if TYPE_CHECKING:
    from mpi4py import MPI

# The count argument of MPI_Send is an int.
_LARGEST = 2**31 - 1

_SENDS = {"blocking": "MPI_Send", "ssend": "MPI_Ssend"}
# What each endpoint calls, in the order in which native/endpoints take it.
_BLOCKING = ("MPI_Recv", "MPI_Sendrecv", "MPI_Isend", "MPI_Wait")
_NONBLOCKING = ("MPI_Isend", "MPI_Irecv", "MPI_Waitall", "MPI_Send", "MPI_Recv")
_PERSISTENT = (
    "MPI_Send_init",
    "MPI_Recv_init",
    "MPI_Start",
    "MPI_Waitall",
    "MPI_Wait",
    "MPI_Request_free",
    "MPI_Send",
    "MPI_Recv",
)
_WINDOW = ("MPI_Put", "MPI_Get", "MPI_Win_flush", "MPI_Send", "MPI_Recv")


class Transport(NothingToOpen, OneSided):
    waits = ("spin",)
    waits_reason = "how MPI waits is the library's own choice; see its settings"
    patterns: ClassVar = {
        "blocking": _native.MpiInt.patterns,
        # MPI_Ssend has no kin that sends and receives at once.
        "ssend": ("pingpong", "stream"),
        "nonblocking": _native.MpiNonblockingInt.patterns,
        "persistent": _native.MpiPersistentInt.patterns,
        "onesided": _native.MpiWindowInt.patterns,
    }

    def missing(self) -> str | None:
        if self.scene.mpi is None:
            return self.scene.no_mpi
        from mpi4py import MPI

        if self.scene.threads > 1 and MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            return "this MPI does not let several threads call it at once"
        return None

    def refuses(self, case: Case) -> str | None:
        if case.mode == "onesided" and case.align:
            return f"--align {case.align}: a window lies where MPI puts it"
        if case.mode == "persistent" and case.cache == "cold":
            return "--cache cold: a persistent request is bound to one buffer"
        reason = super().refuses(msgspec.structs.replace(case, datatype="byte"))
        if reason is None and case.size > _LARGEST:
            return f"MPI counts at most {_LARGEST} bytes in one message"
        if reason is None and case.datatype == "vector" and (case.size % BLOCK or not case.size):
            return f"--datatype vector: a strided message is made of blocks of {BLOCK} bytes"
        return reason

    def endpoint(self, opened: Opened, case: Case, out: Ring, in_: Ring) -> Any:
        path = self._path(case)
        if case.mode == "nonblocking":
            addresses = _addresses(_NONBLOCKING)
            return _kind("MpiNonblocking")(path, addresses, max_window=case.window)
        if case.mode == "persistent":
            addresses = _addresses(_PERSISTENT)
            return _kind("MpiPersistent")(
                path, addresses, out.native, in_.native, max_window=case.window
            )
        return _kind("Mpi")(path, _addresses((_SENDS[case.mode], *_BLOCKING)))

    def _path(self, case: Case) -> Any:
        from mpi4py import MPI

        datatype = _datatype(case)
        return _kind("MpiPath")(
            communicator=MPI._addressof(self.scene.mpi),
            byte=MPI._addressof(MPI.BYTE),
            datatype=MPI._addressof(datatype),
            typed_size=case.size if datatype is not MPI.BYTE else 0,
            typed_extent=datatype.Get_true_extent()[1],
            peer=self.scene.peer,
            tag=TIMED_TAG - self.scene.thread,
        )

    def expose(self, size: int) -> Window:
        """A window that MPI allocates, which can be faster than one over memory of ours: on one
        host it can be shared. An epoch that lasts as long as the window is opened at once."""
        from mpi4py import MPI

        world = self.scene.mpi
        if world is None:
            raise Unavailable(self.scene.no_mpi)
        with contextlib.ExitStack() as made:
            try:
                all_ranks = world.Get_group()
                made.callback(all_ranks.Free)
                # Of these two ranks alone; in it they are numbered as here, lower first.
                ends = all_ranks.Incl(sorted((self.scene.rank, self.scene.peer)))
                made.callback(ends.Free)
                both = world.Create_group(ends, tag=TIMED_TAG - self.scene.thread)
                made.callback(both.Free)
                window = MPI.Win.Allocate(size, 1, comm=both)
                made.callback(window.Free)
                if window.Get_attr(MPI.WIN_MODEL) != MPI.WIN_UNIFIED:
                    raise Unavailable("this MPI keeps a copy of a window apart from its memory")
                window.Lock_all()
                made.callback(window.Unlock_all)
            except MPI.Exception as error:
                raise Unavailable(f"no window: {error}") from None
            region = np.asarray(window.tomemory(), dtype=np.uint8)
            return Window(
                region=region,
                offer=None,
                endpoint=window,
                synchronize=window.Sync,
                resources=made.pop_all(),
            )

    def reach(self, opened: Opened, case: Case, window: Window, offer: Any) -> Any:
        from mpi4py import MPI

        return _kind("MpiWindow")(
            self._path(case),
            _addresses(_WINDOW),
            window=MPI._addressof(window.endpoint),
            target=int(self.scene.peer > self.scene.rank),
            base=case.align,
            # Both ends expose as much.
            size=window.region.size,
        )


def _kind(name: str) -> Any:
    """The native type of that name for this MPI's handles: an int in MPICH and its kin, a pointer
    in Open MPI and in MPI 5's own ABI."""
    from mpi4py import MPI

    kinds = {4: "Int", 8: "Pointer"}
    return getattr(_native, name + kinds[MPI._sizeof(MPI.Comm)])


def _addresses(names: tuple[str, ...]) -> list[int]:
    return [function_address(name) for name in names]


# Made once for each size and kept: types are few, and requests may outlive a case.
@cache
def _committed(datatype: str, size: int) -> MPI.Datatype:
    from mpi4py import MPI

    if datatype == "contiguous":
        made = MPI.BYTE.Create_contiguous(size)
    else:
        made = MPI.BYTE.Create_vector(size // BLOCK, BLOCK, BLOCK_STRIDE)
    return made.Commit()


def _datatype(case: Case) -> MPI.Datatype:
    from mpi4py import MPI

    return MPI.BYTE if case.datatype == "byte" else _committed(case.datatype, case.size)
