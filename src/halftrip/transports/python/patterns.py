"""The patterns in Python, for transports whose calls are Python: what a Python program gets. No
transport has such calls yet; until then the tests hold the native patterns against these.

They send the same messages in the same order as those in native/patterns, so that either end of a
path can be native and the other Python.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halftrip.memory.host import Bytes

_ACK = 1


class Messages(Protocol):
    """One rank's end of a path, as in native/endpoint.hpp."""

    def send(self, message: Bytes, /) -> None: ...
    def recv(self, into: Bytes, /) -> None: ...


class Exchanger:
    """One end of a pattern over `endpoint`: calling it makes one exchange.

    `out` and `in_` are buffers to be used in turn, shape (slots, bytes).
    """

    def __init__(
        self,
        endpoint: Messages,
        pattern: str,
        initiates: bool,
        out: npt.NDArray[np.uint8],
        in_: npt.NDArray[np.uint8],
        window: int,
    ) -> None:
        self._endpoint = endpoint
        self._out: Iterator[Bytes] = itertools.cycle(out)
        self._in: Iterator[Bytes] = itertools.cycle(in_)
        self._window = window
        self._ack = np.zeros(_ACK, dtype=np.uint8)
        # Who sends and receives at once needs a thread: Python's calls block.
        self._sender = ThreadPoolExecutor(1) if pattern in _AT_ONCE else None
        part = _PATTERNS[pattern]
        self._exchange = part.initiate if initiates else part.respond

    def __call__(self) -> None:
        self._exchange(self)

    def close(self) -> None:
        if self._sender is not None:
            self._sender.shutdown()

    def send(self, count: int = 1) -> None:
        for _ in range(count):
            self._endpoint.send(next(self._out))

    def recv(self, count: int = 1) -> None:
        for _ in range(count):
            self._endpoint.recv(next(self._in))

    def send_window(self) -> None:
        self.send(self._window)

    def recv_window(self) -> None:
        self.recv(self._window)

    def send_ack(self) -> None:
        self._endpoint.send(self._ack)

    def recv_ack(self) -> None:
        self._endpoint.recv(self._ack)

    def both(self, count: int) -> None:
        if self._sender is None:
            raise RuntimeError("this pattern does not send and receive at once")
        sending = self._sender.submit(self.send, count)
        self.recv(count)
        sending.result()

    def both_windows(self) -> None:
        self.both(self._window)
        self.send_ack()
        self.recv_ack()


class _Part(NamedTuple):
    """What each end of a pattern does in one exchange."""

    initiate: Callable[[Exchanger], None]
    respond: Callable[[Exchanger], None]


def _in_turn(*steps: Callable[[Exchanger], None]) -> Callable[[Exchanger], None]:
    def exchange(end: Exchanger) -> None:
        for step in steps:
            step(end)

    return exchange


def _one_each(end: Exchanger) -> None:
    end.both(1)


_PATTERNS: dict[str, _Part] = {
    "pingpong": _Part(
        _in_turn(Exchanger.send, Exchanger.recv), _in_turn(Exchanger.recv, Exchanger.send)
    ),
    "stream": _Part(
        _in_turn(Exchanger.send_window, Exchanger.recv_ack),
        _in_turn(Exchanger.recv_window, Exchanger.send_ack),
    ),
    "bidirectional": _Part(Exchanger.both_windows, Exchanger.both_windows),
    "exchange": _Part(_one_each, _one_each),
    "pingping": _Part(_one_each, _one_each),
}
_AT_ONCE = ("bidirectional", "exchange", "pingping")
PATTERNS = tuple(_PATTERNS)


def take_part(
    exchange: Callable[[], None],
    lead: int,
    batch: int,
    stamps: npt.NDArray[np.int64],
    now: Callable[[], int],
) -> None:
    """`lead` exchanges untimed, then `batch` between each two of `stamps`, shape (samples + 1,), in
    the unit of `now`; as native/timing.hpp does."""
    for _ in range(lead):
        exchange()
    stamps[0] = now()
    for number in range(1, len(stamps)):
        for _ in range(batch):
            exchange()
        stamps[number] = now()
