"""multiprocessing.Pipe: connections over two connected Unix sockets."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from halftrip.results.configuration import Configuration
from halftrip.results.patterns import BOTH_WAYS, ONE_WAY
from halftrip.results.threshold import Threshold
from halftrip.transports.base import PairContext, PathSettings
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.stream import SocketPath, UnixTransport, known_thresholds
from halftrip.transports.python.endpoint import (
    BoundMessages,
    MessageCalls,
    ObjectCalls,
    PythonPath,
    PythonTransport,
)
from halftrip.transports.python.mp_objects import connection
from halftrip.transports.python.patterns import Calls


class MpPipeTransport(PythonTransport):
    capabilities = Capabilities(
        patterns={"blocking": ONE_WAY},
        no_pattern=dict.fromkeys(
            BOTH_WAYS,
            "a send waits while the kernel's buffer is full: "
            "two ends that both send first would wait for ever",
        ),
        waits=("block",),
        no_other_wait="connections of multiprocessing have blocking calls only",
        settings={"object": ("buffer", "bytes", "array", "dict")},
    )

    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return MpPipePath(SocketPath(UnixTransport(self.process), pair), pair)


class MpPipePath(PythonPath):
    """Pipe() makes connections of two stream sockets that socketpair() has connected, which only a
    process and its children can share. `socket` connects two of the same kind by an address."""

    def __init__(self, socket: SocketPath, pair: PairContext) -> None:
        super().__init__(pair)
        self._socket = socket
        self.address = socket.address
        self._resources = contextlib.ExitStack()
        self._resources.callback(socket.close)

    def connect(self, address: Any) -> None:
        self._socket.connect(address)
        self._connection = self._resources.enter_context(connection(self._socket.in_fd))
        self._socket.close()

    def thresholds(self) -> Sequence[Threshold]:
        return known_thresholds(self._connection.fileno())

    def calls(self, configuration: Configuration) -> Calls:
        end = self._connection
        if configuration.object == "buffer":
            return MessageCalls(BoundMessages(end.send_bytes, end.recv_bytes_into))
        return ObjectCalls(configuration, end.send, end.recv)

    def close(self) -> None:
        self._resources.close()
