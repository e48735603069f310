"""What `multiprocessing` is over Dragon: its pipe and its queue with the start method ``dragon``.

The initiator makes both objects of a path and sends them, pickled, to the responder, as a program
gives them to a process that it starts.
"""

from __future__ import annotations

import pickle
from abc import abstractmethod
from typing import Any, NamedTuple

from halftrip.dragon import process
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ONE_WAY
from halftrip.transports.base import PairContext, PathSettings
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.python.endpoint import (
    BoundMessages,
    MessageCalls,
    ObjectCalls,
    PythonPath,
    PythonTransport,
)
from halftrip.transports.python.patterns import PATTERNS, Calls

_NO_OTHER_WAIT = "how they wait is the choice of Dragon's runtime: adaptive"
_TOO_SMALL = "Dragon has no empty messages"


class _DragonObjects(PythonTransport):
    def missing(self, pair: PairContext) -> str | None:
        return self.process.no_dragon or process.missing()


class DragonPipeTransport(_DragonObjects):
    # A send of what fills the pipe's channel waits for the peer's receive.
    capabilities = Capabilities(
        patterns={"blocking": ONE_WAY},
        waits=("adaptive",),
        no_other_wait=_NO_OTHER_WAIT,
        settings={"object": ("buffer", "bytes", "array", "dict")},
        smallest=1,
        too_small=_TOO_SMALL,
    )

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return DragonPipePath(pair)


class DragonQueueTransport(_DragonObjects):
    capabilities = Capabilities(
        patterns={"blocking": PATTERNS},
        waits=("adaptive",),
        no_other_wait=_NO_OTHER_WAIT,
        settings={"object": ("bytes", "array", "dict")},
        smallest=1,
        too_small=_TOO_SMALL,
    )

    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath:
        return DragonQueuePath(pair)


class _ObjectPath(PythonPath):
    """A path over objects that the initiator makes: its own end, and what the responder gets."""

    def __init__(self, pair: PairContext) -> None:
        super().__init__(pair)
        self._end: Any = None
        if pair.initiates:
            self._end, theirs = self.make()
            self.address = pickle.dumps(theirs)

    @abstractmethod
    def make(self) -> tuple[Any, Any]:
        """Both ends."""

    def connect(self, address: Any) -> None:
        if not self.pair.initiates:
            self._end = pickle.loads(address)  # noqa: S301 (from a rank that knows the token)

    def close(self) -> None:
        if self._end is not None:
            self._end.close()
            self._end = None


class DragonPipePath(_ObjectPath):
    def make(self) -> tuple[Any, Any]:
        from dragon.mpbridge.connection import DragonPipe

        ours, theirs = DragonPipe(True)
        return ours, theirs

    def close(self) -> None:
        # Both ends know that nothing more comes. The end-of-text message that an end would send
        # fails if the other end removes the channel meanwhile.
        if self._end is not None:
            self._end.ghost = True
        super().close()

    def calls(self, configuration: Configuration) -> Calls:
        if configuration.object == "buffer":
            return MessageCalls(BoundMessages(self._end.send_bytes, self._end.recv_bytes_into))
        return ObjectCalls(configuration, self._end.send, self._end.recv)


class _Queues(NamedTuple):
    """The queue that an end puts into, and the one that it gets from."""

    out: Any
    in_: Any

    def close(self) -> None:
        for queue in self:
            queue.close()


class DragonQueuePath(_ObjectPath):
    def make(self) -> tuple[Any, Any]:
        from dragon.mpbridge.queues import Queue

        request, reply = (Queue(use_base_impl=False) for _ in range(2))
        return _Queues(request, reply), _Queues(reply, request)

    def calls(self, configuration: Configuration) -> Calls:
        return ObjectCalls(configuration, self._end.out.put, self._end.in_.get)
