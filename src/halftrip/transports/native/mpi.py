"""MPI between two ranks: whichever library mpi4py has loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from halftrip.errors import Unavailable
from halftrip.memory.allocator import HostRegion
from halftrip.memory.ring import BLOCK, BLOCK_STRIDE
from halftrip.mpi.library import (
    addresses,
    blocking_end,
    contiguous,
    counts_to,
    kind,
    native_path,
    timed_tag,
)
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ONE_WAY
from halftrip.results.threshold import Threshold
from halftrip.transports import device_pointers, mpi
from halftrip.transports.base import (
    Carried,
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    ProcessContext,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.mpi import carried, path_thresholds
from halftrip.transports.native.endpoint import (
    NativeEndpoint,
    NativeWindow,
    delayed_of,
    patterns_of,
)

if TYPE_CHECKING:
    from mpi4py import MPI

_SENDS = {"blocking": "MPI_Send", "ssend": "MPI_Ssend"}
# The functions that each native endpoint calls, in the order of its arguments.
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
            "ssend": tuple(p for p in ONE_WAY if p in patterns_of("MpiInt")),
            "nonblocking": patterns_of("MpiNonblockingInt"),
            "persistent": patterns_of("MpiPersistentInt"),
            "onesided": patterns_of("MpiWindowInt"),
        },
        waits=mpi.WAITS,
        no_other_wait=mpi.NO_OTHER_WAIT,
        settings={"datatype": ("byte", "contiguous", "vector")},
        staging=("none", "staged"),
        delayed=delayed_of("MpiInt"),
        copied_once=True,
    )

    def missing(self, pair: PairContext) -> str | None:
        return mpi.missing(self.process)

    def refuses(self, configuration: Configuration) -> str | None:
        if configuration.is_one_sided and configuration.align:
            return f"--align {configuration.align}: a window lies where MPI puts it"
        reason = mpi.refusal(configuration) or super().refuses(configuration)
        if (
            reason is None
            and configuration.datatype == "vector"
            and (configuration.size % BLOCK or not configuration.size)
        ):
            return f"--datatype vector: a strided message is made of blocks of {BLOCK} bytes"
        return reason

    def obstacle(self, configuration: Configuration, pair: PairContext) -> str | None:
        return device_pointers.obstacle(configuration, pair)

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return MpiPath(self.process, pair)


class MpiPath(Path):
    """Two ranks of the communicator, and a tag for the thread: there is nothing to open."""

    def __init__(self, process: ProcessContext, pair: PairContext) -> None:
        self._process = process
        self._pair = pair
        self._tag = timed_tag(pair.thread)

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        path = self._native_path(configuration)
        if configuration.is_one_sided:
            # What can fail at one end comes before the window, which both ends open and free.
            functions = addresses(_WINDOW, configuration.size)
            window = self._window(buffers.exposed_bytes)
            # The lower rank is the first in the window.
            target = int(self._pair.peer > self._process.rank)
            return MpiWindow(
                path, functions, window, target, configuration, self._pair.initiates, buffers
            )
        if configuration.mode == "nonblocking":
            name, functions = "MpiNonblocking", addresses(_NONBLOCKING, configuration.size)
            end = kind(name)(path, functions, max_window=configuration.window)
        elif configuration.mode == "persistent":
            name, functions = "MpiPersistent", addresses(_PERSISTENT, configuration.size)
            out, in_ = buffers.out.native, buffers.in_.native
            end = kind(name)(path, functions, out, in_, max_window=configuration.window)
        else:
            end = blocking_end(path, _SENDS[configuration.mode], configuration.size)
        endpoint = NativeEndpoint(end, configuration, self._pair.initiates, buffers)
        if configuration.mode == "persistent":
            # Each buffer has a request of its own.
            endpoint.lasting = max(buffers.out.slots, buffers.in_.slots) <= mpi.MOST_REQUESTS
        return endpoint

    def carried(self) -> Carried | None:
        return carried(self._pair.same_host)

    def thresholds(self) -> Sequence[Threshold]:
        return path_thresholds(self._pair.same_host)

    def _native_path(self, configuration: Configuration) -> Any:
        from mpi4py import MPI

        datatype = _datatype(configuration)
        return native_path(
            self._process.communicator,
            self._pair.peer,
            self._tag,
            None if datatype is MPI.BYTE else datatype,
            configuration.size,
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
        buffers: EndpointBuffers,
    ) -> None:
        from mpi4py import MPI

        self._window, self._resources = window
        exposed = np.asarray(self._window.tomemory(), dtype=np.uint8)
        end = kind("MpiWindow")(
            path,
            functions,
            window=MPI._addressof(self._window),
            target=target,
            base=configuration.align,
            # The peer's window has the same size.
            size=exposed.size,
        )
        super().__init__(end, configuration, initiates, buffers)
        self.expose(HostRegion(exposed))

    def synchronize(self) -> None:
        self._window.Sync()

    def close(self) -> None:
        super().close()
        self._resources.close()


# Kept as those of mpi.library.
@cache
def _strided(size: int) -> MPI.Datatype:
    from mpi4py import MPI

    return MPI.BYTE.Create_vector(size // BLOCK, BLOCK, BLOCK_STRIDE).Commit()


def _datatype(configuration: Configuration) -> MPI.Datatype:
    from mpi4py import MPI

    kind, size = configuration.datatype, configuration.size
    if kind == "byte" and size <= counts_to():
        return MPI.BYTE
    return _strided(size) if kind == "vector" else contiguous(size)
