"""Two pipes, one for each direction."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from typing import Any

from halftrip.results.threshold import Threshold
from halftrip.transports.base import PairContext, Path, PathSettings
from halftrip.transports.native.stream import StreamPath, StreamTransport


class PipeTransport(StreamTransport):
    def missing(self, pair: PairContext) -> str | None:
        return pair.different_hosts

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        return PipePath(pair)


class PipePath(StreamPath):
    """The initiator makes both pipes; the responder opens its ends of them through /proc, so that
    they need no name in the file system and no common parent."""

    def __init__(self, pair: PairContext) -> None:
        super().__init__(pair)
        if pair.initiates:
            self._request = self._pipe()
            self._reply = self._pipe()
            self.address = {
                "pid": os.getpid(),
                "read": self._request[0],
                "write": self._reply[1],
            }

    def _pipe(self) -> tuple[int, int]:
        """The ends of a new pipe. Raises OSError, and then keeps none that was made before."""
        try:
            ends = os.pipe()
        except OSError:
            self.close()
            raise
        for descriptor in ends:
            self.resources.callback(os.close, descriptor)
        return ends

    def thresholds(self) -> Sequence[Threshold]:
        capacity = fcntl.fcntl(self.out_fd, fcntl.F_GETPIPE_SZ)
        name, source = "the capacity of the pipe", "F_GETPIPE_SZ"
        return [Threshold(name=name, value=capacity, acts="capacity", source=source)]

    def connect(self, address: Any) -> None:
        if self.pair.initiates:
            # The peer has these ends now: while they are open here, too, this rank does not notice
            # the peer's death.
            self.resources.pop_all()
            os.close(self._request[0])
            os.close(self._reply[1])
            self.take(self._reply[0], self._request[1])
            return
        descriptors = f"/proc/{address['pid']}/fd"
        in_fd = os.open(f"{descriptors}/{address['read']}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            out_fd = os.open(f"{descriptors}/{address['write']}", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(in_fd)
            raise
        self.take(in_fd, out_fd)
