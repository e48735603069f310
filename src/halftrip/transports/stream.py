"""What pipes, Unix sockets and TCP have in common: a byte stream behind file descriptors."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.model import Case, Wait
from halftrip.transports.base import Opened, Transport
from halftrip.wire import Address, Channel, Listener, Reach, connect, introduce

# A peer that has connected has said so already; its connection is there.
_ACCEPT_SECONDS = 5.0


class Stream(Transport):
    """A transport whose endpoint reads and writes descriptors."""

    waits = ("block", "spin")

    def refuses(self, case: Case) -> str | None:
        if case.size == 0:
            return "a byte stream has no empty messages"
        return super().refuses(case)

    def opened(self, in_fd: int, out_fd: int, wait: Wait) -> Opened:
        """Takes over two descriptors, which may be the same one."""
        resources = contextlib.ExitStack()
        for descriptor in {in_fd, out_fd}:
            resources.callback(os.close, descriptor)
            os.set_blocking(descriptor, wait == "block")
        kind = _native.BlockingStream if wait == "block" else _native.SpinningStream
        return Opened(kind(in_fd, out_fd, self.scene.yields), resources)


class SocketStream(Stream):
    """A transport over a connected socket; subclasses say of what kind."""

    _listener: Listener

    def reach(self) -> Reach:
        raise NotImplementedError

    def listen(self, wait: Wait) -> Any:
        self._listener = Listener(self.scene.token, self.reach())
        self.prepared.callback(self._listener.close)
        address = self._listener.address
        return {"unix": address.unix, "hosts": address.hosts, "port": address.port}

    def connect(self, offer: Any, wait: Wait) -> Opened:
        hello = introduce(self.scene.token, "transport", self.scene.rank)
        return self._take(connect(Address(**offer), hello), wait)

    def accept(self, wait: Wait) -> Opened:
        with self.prepared:
            accepted = self._listener.accept(_ACCEPT_SECONDS)
        if accepted is None:
            raise Unavailable("a stranger connected in place of the peer")
        return self._take(accepted[0], wait)

    def _take(self, channel: Channel, wait: Wait) -> Opened:
        descriptor = channel.socket.detach()
        return self.opened(descriptor, descriptor, wait)
