"""What pipes, Unix sockets and TCP have in common: a byte stream behind file descriptors."""

from __future__ import annotations

import os
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from halftrip import _native
from halftrip.control.protocol import Address, Channel, Listener, Reach, connect, introduce
from halftrip.errors import Unavailable
from halftrip.memory.ring import Ring
from halftrip.results.case import Case, Wait
from halftrip.results.patterns import at_once
from halftrip.transports.base import Opened, Transport

# A peer that has connected has said so already; its connection is there.
_ACCEPT_SECONDS = 5.0


@dataclass
class Descriptors(Opened):
    """A byte stream: where to read and where to write."""

    in_fd: int = field(kw_only=True)
    out_fd: int = field(kw_only=True)


class Stream(Transport):
    """A transport whose endpoint reads and writes descriptors."""

    waits = ("block", "spin")
    patterns: ClassVar = {"blocking": _native.PollingStream.patterns}

    def refuses(self, case: Case) -> str | None:
        if case.mode == "onesided":
            return "a byte stream has no memory to reach into"
        reason = super().refuses(case)
        if reason is None and case.size == 0:
            return "a byte stream has no empty messages"
        return reason

    def opened(self, in_fd: int, out_fd: int) -> Opened:
        """Takes over two descriptors, which may be the same one."""
        path = Descriptors(in_fd=in_fd, out_fd=out_fd)
        for descriptor in {in_fd, out_fd}:
            path.resources.callback(os.close, descriptor)
        return path

    def endpoint(self, opened: Opened, case: Case, out: Ring, in_: Ring) -> Any:
        if not isinstance(opened, Descriptors):
            raise TypeError("a byte stream is opened by its descriptors")
        if case.wait == "spin":
            kind: type[Any] = _native.SpinningStream
        elif at_once(case.pattern, case.mode):
            # Asleep in a write, a rank could not read what its peer is asleep in writing.
            kind = _native.PollingStream
        else:
            kind = _native.BlockingStream
        for descriptor in {opened.in_fd, opened.out_fd}:
            os.set_blocking(descriptor, kind is _native.BlockingStream)
        return kind(opened.in_fd, opened.out_fd, self.scene.yields)


class SocketStream(Stream):
    """A transport over a connected socket; subclasses say of what kind."""

    _listener: Listener

    @abstractmethod
    def reachable(self) -> Reach:
        """From where the peer has to be able to connect."""

    def listen(self, wait: Wait) -> Any:
        self._listener = Listener(self.scene.token, self.reachable())
        self.prepared.callback(self._listener.close)
        address = self._listener.address
        return {"unix": address.unix, "hosts": address.hosts, "port": address.port}

    def connect(self, offer: Any, wait: Wait) -> Opened:
        hello = introduce(self.scene.token, "transport", self.scene.rank)
        return self._take(connect(Address(**offer), hello))

    def accept(self, wait: Wait) -> Opened:
        with self.prepared:
            accepted = self._listener.accept(_ACCEPT_SECONDS)
        if accepted is None:
            raise Unavailable("a stranger connected in place of the peer")
        return self._take(accepted[0])

    def _take(self, channel: Channel) -> Opened:
        descriptor = channel.socket.detach()
        return self.opened(descriptor, descriptor)
