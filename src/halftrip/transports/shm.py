"""Shared memory: copied in by the sender and out by the receiver, with no call into the kernel."""

from __future__ import annotations

from typing import Any

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.model import Wait
from halftrip.transports.base import Opened
from halftrip.transports.base import Transport as Base


class Transport(Base):
    waits = ("spin",)
    waits_reason = "shm is memory that is polled; there is nothing in it to sleep on"

    def missing(self) -> str | None:
        return None if self.scene.segment is not None else self.scene.no_segment

    def listen(self, wait: Wait) -> Any:
        return None

    def connect(self, offer: Any, wait: Wait) -> Opened:
        return self._side(1)

    def accept(self, wait: Wait) -> Opened:
        return self._side(0)

    def _side(self, side: int) -> Opened:
        if self.scene.segment is None:
            raise Unavailable(self.scene.no_segment)
        return Opened(_native.Shm(self.scene.segment, side, self.scene.yields))
