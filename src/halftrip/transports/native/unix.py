"""A Unix stream socket."""

from __future__ import annotations

from halftrip.control.listener import Reach
from halftrip.results.configuration import TUNABLE
from halftrip.transports.base import PairContext
from halftrip.transports.native.stream import SocketTransport, StreamTransport


class UnixTransport(SocketTransport):
    name = "unix"
    capabilities = StreamTransport.capabilities._replace(settings=dict.fromkeys(TUNABLE[name], ()))

    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def reach(self, pair: PairContext) -> Reach:
        return "unix"
