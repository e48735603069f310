"""MPI point to point: whichever library mpi4py has loaded."""

from __future__ import annotations

from typing import Any

from halftrip import _native
from halftrip.model import Case, Wait
from halftrip.mpi import function_address
from halftrip.transports.base import Opened
from halftrip.transports.base import Transport as Base

# The count argument of MPI_Send is an int.
_LARGEST = 2**31 - 1


class Transport(Base):
    waits = ("spin",)
    waits_reason = "how MPI waits is the library's own choice; see its settings"

    def missing(self) -> str | None:
        return None if self.scene.mpi is not None else self.scene.no_mpi

    def refuses(self, case: Case) -> str | None:
        if case.size > _LARGEST:
            return f"MPI counts at most {_LARGEST} bytes in one message"
        return super().refuses(case)

    def listen(self, wait: Wait) -> Any:
        return None

    def connect(self, offer: Any, wait: Wait) -> Opened:
        return self._end()

    def accept(self, wait: Wait) -> Opened:
        return self._end()

    def _end(self) -> Opened:
        from mpi4py import MPI

        # A handle is an int in MPICH and its kin, a pointer in Open MPI and in MPI 5's own ABI.
        by_size = {4: _native.MpiInt, 8: _native.MpiPointer}
        endpoint = by_size[MPI._sizeof(MPI.Comm)](
            send=function_address("MPI_Send"),
            recv=function_address("MPI_Recv"),
            communicator=MPI._addressof(self.scene.mpi),
            byte=MPI._addressof(MPI.BYTE),
            peer=self.scene.peer,
        )
        return Opened(endpoint)
