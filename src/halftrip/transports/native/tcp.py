"""TCP with TCP_NODELAY: over loopback on one host, else by whichever of the peer's addresses
answers."""

from __future__ import annotations

from halftrip.control.protocol import Reach
from halftrip.transports.native.stream import SocketStream


class Transport(SocketStream):
    def missing(self) -> str | None:
        return None

    def reachable(self) -> Reach:
        return "loopback" if self.scene.same_host else "network"
