"""TCP, with TCP_NODELAY unless a configuration asks for Nagle's algorithm. Over loopback on one
host, else by the first of the peer's addresses that answers."""

from __future__ import annotations

from halftrip.control.listener import Reach
from halftrip.results.configuration import TUNABLE, Configuration
from halftrip.transports.base import PairContext
from halftrip.transports.native.stream import SocketTransport, StreamTransport


class TcpTransport(SocketTransport):
    name = "tcp"
    capabilities = StreamTransport.capabilities._replace(settings=dict.fromkeys(TUNABLE[name], ()))

    def refuses(self, configuration: Configuration) -> str | None:
        tuning = configuration.tuning
        if tuning.zerocopy and tuning.streams > 1:
            return "--zerocopy: over one connection alone, not over several --streams"
        if tuning.zerocopy and configuration.buffers == "same":
            return "--zerocopy: with --buffers same, a reply would change what is still to be sent"
        return super().refuses(configuration)

    def reach(self, pair: PairContext) -> Reach:
        return "loopback" if pair.same_host else self.process.network
