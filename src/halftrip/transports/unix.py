"""A Unix stream socket."""

from __future__ import annotations

from halftrip.transports.stream import SocketStream
from halftrip.wire import Reach


class Transport(SocketStream):
    def missing(self) -> str | None:
        return None if self.scene.same_host else "the ranks are on different hosts"

    def reachable(self) -> Reach:
        return "unix"
