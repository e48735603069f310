"""TCP with TCP_NODELAY: over loopback on one host, else by the first of the peer's addresses that
answers."""

from __future__ import annotations

from halftrip.control.listener import Reach
from halftrip.transports.base import PairContext
from halftrip.transports.native.stream import SocketTransport


class TcpTransport(SocketTransport):
    def reach(self, pair: PairContext) -> Reach:
        return "loopback" if pair.same_host else self.process.network
