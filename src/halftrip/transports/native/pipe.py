"""Two pipes, one for each direction."""

from __future__ import annotations

import os
from typing import Any

from halftrip.results.case import Wait
from halftrip.transports.base import Opened
from halftrip.transports.native.stream import Stream


class Transport(Stream):
    # The listener's pipes: to the peer and back, each as (read end, write end).
    _there: tuple[int, int]
    _back: tuple[int, int]

    def missing(self) -> str | None:
        return None if self.scene.same_host else "the ranks are on different hosts"

    def listen(self, wait: Wait) -> Any:
        self._there, self._back = os.pipe(), os.pipe()
        for descriptor in (*self._there, *self._back):
            self.prepared.callback(os.close, descriptor)
        return {"pid": os.getpid(), "read": self._there[0], "write": self._back[1]}

    def connect(self, offer: Any, wait: Wait) -> Opened:
        # Opened through /proc, a pipe needs no name in the file system and no common parent.
        descriptors = f"/proc/{offer['pid']}/fd"
        in_fd = os.open(f"{descriptors}/{offer['read']}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            out_fd = os.open(f"{descriptors}/{offer['write']}", os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            os.close(in_fd)
            raise
        return self.opened(in_fd, out_fd)

    def accept(self, wait: Wait) -> Opened:
        # The ends that are the peer's now: as long as they are open here, its death goes unnoticed.
        self.prepared.pop_all()
        os.close(self._there[0])
        os.close(self._back[1])
        return self.opened(self._back[0], self._there[1])
