"""A Unix stream socket."""

from __future__ import annotations

from halftrip.control.protocol import Reach
from halftrip.transports.native.stream import SocketStream


class Transport(SocketStream):
    def missing(self) -> str | None:
        return None if self.scene.same_host else "the ranks are on different hosts"

    def reachable(self) -> Reach:
        return "unix"
