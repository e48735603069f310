"""MPI between two ranks: whichever library mpi4py has loaded."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.layout import BLOCK, BLOCK_STRIDE
from halftrip.mpi.library import function_address, timed_tag
from halftrip.results.configuration import Configuration
from halftrip.transports import mpi
from halftrip.transports.base import (
    Buffers,
    Endpoint,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import NativeEndpoint, NativeWindow, patterns_of

if TYPE_CHECKING:
    from mpi4py import MPI

_SENDS = {"blocking": "MPI_Send", "ssend": "MPI_Ssend"}
# The functions that each native endpoint calls, in the order of its arguments.
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
_WINDOW = ("MPI_Put", "MPI_Get", "MPI_Win_flush", "MPI_Win_sync", "MPI_Send", "MPI_Recv")


class MpiTransport(Transport):
    capabilities = Capabilities(
        patterns={
            "blocking": patterns_of("MpiInt"),
            # MPI_Ssend has no counterpart that sends and receives at once.
            "ssend": tuple(p for p in ("pingpong", "stream") if p in patterns_of("MpiInt")),
            "nonblocking": patterns_of("MpiNonblockingInt"),
            "persistent": patterns_of("MpiPersistentInt"),
            "onesided": patterns_of("MpiWindowInt"),
        },
        waits=mpi.WAITS,
        no_other_wait=mpi.NO_OTHER_WAIT,
        datatypes=("byte", "contiguous", "vector"),
        largest=mpi.LARGEST,
        too_large=mpi.TOO_LARGE,
    )

    def missing(self, pair: PairContext) -> str | None:
        return mpi.missing(self.process)

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.mode == "onesided" and configuration.align:
            return f"--align {configuration.align}: a window lies where MPI puts it"
        reason = mpi.refusal(configuration) or super().refuses(configuration)
        if (
            reason is None
            and configuration.datatype == "vector"
            and (configuration.size % BLOCK or not configuration.size)
        ):
            return f"--datatype vector: a strided message is made of blocks of {BLOCK} bytes"
        return reason

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return MpiPath(self.process, pair)


class MpiPath(Path):
    """Two ranks of the communicator, and a tag for the thread: there is nothing to open."""

    def __init__(self, process: ProcessContext, pair: PairContext) -> None:
        self._process = process
        self._pair = pair
        self._tag = timed_tag(pair.thread)

    def endpoint(self, configuration: Configuration, buffers: Buffers) -> Endpoint:
        path = self._native_path(configuration)
        if configuration.mode == "onesided":
            # What can fail at one end comes before the window, which both ends open and free.
            functions = _addresses(_WINDOW)
            window = self._window(buffers.exposed_bytes)
            # The lower rank is the first in the window.
            target = int(self._pair.peer > self._process.rank)
            return MpiWindow(
                path, functions, window, target, configuration, self._pair.initiates, buffers
            )
        if configuration.mode == "nonblocking":
            kind, functions = "MpiNonblocking", _addresses(_NONBLOCKING)
            end = _kind(kind)(path, functions, max_window=configuration.window)
        elif configuration.mode == "persistent":
            kind, functions = "MpiPersistent", _addresses(_PERSISTENT)
            out, in_ = buffers.out.native, buffers.in_.native
            end = _kind(kind)(path, functions, out, in_, max_window=configuration.window)
        else:
            end = _kind("Mpi")(path, _addresses((_SENDS[configuration.mode], *_BLOCKING)))
        endpoint = NativeEndpoint(end, configuration, self._pair.initiates, buffers)
        if configuration.mode == "persistent":
            # Each buffer has a request of its own.
            endpoint.lasting = max(buffers.out.slots, buffers.in_.slots) <= mpi.MOST_REQUESTS
        return endpoint

    def _native_path(self, configuration: Configuration) -> Any:
        from mpi4py import MPI

        datatype = _datatype(configuration)
        return _kind("MpiPath")(
            communicator=MPI._addressof(self._process.communicator),
            byte=MPI._addressof(MPI.BYTE),
            datatype=MPI._addressof(datatype),
            typed_size=configuration.size if datatype is not MPI.BYTE else 0,
            typed_extent=datatype.Get_true_extent()[1],
            peer=self._pair.peer,
            tag=self._tag,
        )

    def _window(self, size: int) -> tuple[MPI.Win, contextlib.ExitStack]:
        """A window in memory that MPI allocates: on one host it can be shared, which is faster than
        a window over our own. Its access epoch lasts as long as the window. Both ends call this.
        Raises Unavailable."""
        from mpi4py import MPI

        world = self._process.communicator
        if world is None:
            raise Unavailable(self._process.no_mpi)
        with contextlib.ExitStack() as resources:
            try:
                all_ranks = world.Get_group()
                resources.callback(all_ranks.Free)
                # These two ranks alone; the lower one becomes rank 0.
                ends = all_ranks.Incl(sorted((self._process.rank, self._pair.peer)))
                resources.callback(ends.Free)
                communicator = world.Create_group(ends, tag=self._tag)
                resources.callback(communicator.Free)
                window = MPI.Win.Allocate(size, 1, comm=communicator)
                resources.callback(window.Free)
                if window.Get_attr(MPI.WIN_MODEL) != MPI.WIN_UNIFIED:
                    raise Unavailable("this MPI keeps a copy of a window apart from its memory")
                window.Lock_all()
                resources.callback(window.Unlock_all)
            except MPI.Exception as error:
                raise Unavailable(f"no window: {error}") from None
            return window, resources.pop_all()


class MpiWindow(NativeWindow):
    def __init__(
        self,
        path: Any,
        functions: list[int],
        window: tuple[MPI.Win, contextlib.ExitStack],
        target: int,
        configuration: Configuration,
        initiates: bool,
        buffers: Buffers,
    ) -> None:
        from mpi4py import MPI

        self._window, self._resources = window
        exposed = np.asarray(self._window.tomemory(), dtype=np.uint8)
        end = _kind("MpiWindow")(
            path,
            functions,
            window=MPI._addressof(self._window),
            target=target,
            base=configuration.align,
            # The peer's window has the same size.
            size=exposed.size,
        )
        super().__init__(end, configuration, initiates, buffers)
        self.expose(exposed)

    def synchronize(self) -> None:
        self._window.Sync()

    def close(self) -> None:
        super().close()
        self._resources.close()


def _kind(name: str) -> Any:
    """The native type of that name for this MPI's handles: an int in MPICH and its relatives, a
    pointer in Open MPI and in MPI 5's own ABI."""
    from mpi4py import MPI

    kinds = {4: "Int", 8: "Pointer"}
    return getattr(_native, name + kinds[MPI._sizeof(MPI.Comm)])


def _addresses(names: tuple[str, ...]) -> list[int]:
    return [function_address(name) for name in names]


# Made once for each size and kept: types are few, and requests may outlive a configuration.
@cache
def _committed(datatype: str, size: int) -> MPI.Datatype:
    from mpi4py import MPI

    if datatype == "contiguous":
        made = MPI.BYTE.Create_contiguous(size)
    else:
        made = MPI.BYTE.Create_vector(size // BLOCK, BLOCK, BLOCK_STRIDE)
    return made.Commit()


def _datatype(configuration: Configuration) -> MPI.Datatype:
    from mpi4py import MPI

    return (
        MPI.BYTE
        if configuration.datatype == "byte"
        else _committed(configuration.datatype, configuration.size)
    )
