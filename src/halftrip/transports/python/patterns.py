"""The patterns in Python, for transports whose calls are Python: they time what a Python program
gets.

They send the same messages in the same order as those in native/patterns, so that one end of a path
can be native and the other Python. A transport whose endpoint is a `PythonEndpoint` is one file:
what connects two ranks, and an object with `send` and `recv`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halftrip.memory.allocator import Bytes
from halftrip.results.block import Times
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import Pattern, is_both_ways
from halftrip.transports.base import Buffers, Endpoint, PairContext, Path, Timed

_ACK_BYTES = 1


class Messages(Protocol):
    """One rank's end of a path, as in native/endpoint.hpp."""

    def send(self, message: Bytes, /) -> None:
        """Returns when `message` may be overwritten."""

    def recv(self, into: Bytes, /) -> None:
        """Returns when a message of exactly this size has been received."""


class Exchanger:
    """One end of a pattern over `messages`: calling it makes one iteration.

    `out` and `in_` are the buffers, used in turn, shape (slots, bytes).
    """

    def __init__(
        self,
        messages: Messages,
        pattern: Pattern,
        initiates: bool,
        out: npt.NDArray[np.uint8],
        in_: npt.NDArray[np.uint8],
        window: int,
    ) -> None:
        self._messages = messages
        self._out: Iterator[Bytes] = itertools.cycle(out)
        self._in: Iterator[Bytes] = itertools.cycle(in_)
        self._window = window
        self._ack = np.zeros(_ACK_BYTES, dtype=np.uint8)
        # Python's calls block: to send and receive at once takes a second thread.
        self._sender = ThreadPoolExecutor(1) if is_both_ways(pattern, "blocking") else None
        ends = _PATTERNS[pattern]
        self._iteration = ends.initiate if initiates else ends.respond

    def __call__(self) -> None:
        self._iteration(self)

    def close(self) -> None:
        if self._sender is not None:
            self._sender.shutdown()

    def send(self, count: int = 1) -> None:
        for _ in range(count):
            self._messages.send(next(self._out))

    def recv(self, count: int = 1) -> None:
        for _ in range(count):
            self._messages.recv(next(self._in))

    def send_window(self) -> None:
        self.send(self._window)

    def recv_window(self) -> None:
        self.recv(self._window)

    def send_ack(self) -> None:
        self._messages.send(self._ack)

    def recv_ack(self) -> None:
        self._messages.recv(self._ack)

    def both(self, count: int) -> None:
        """Sends and receives `count` messages at once."""
        if self._sender is None:
            raise RuntimeError("this pattern does not send and receive at once")
        sending = self._sender.submit(self.send, count)
        self.recv(count)
        sending.result()

    def both_windows(self) -> None:
        self.both(self._window)
        self.send_ack()
        self.recv_ack()


class _Ends(NamedTuple):
    """What each end of a pattern does in one iteration, and whether the responder takes times, too:
    not where its clock reads would lengthen what the initiator times."""

    initiate: Callable[[Exchanger], None]
    respond: Callable[[Exchanger], None]
    responder_timed: bool


def _in_turn(*steps: Callable[[Exchanger], None]) -> Callable[[Exchanger], None]:
    def exchange(end: Exchanger) -> None:
        for step in steps:
            step(end)

    return exchange


def _send_and_receive(end: Exchanger) -> None:
    end.both(1)


_PATTERNS: dict[Pattern, _Ends] = {
    "pingpong": _Ends(
        _in_turn(Exchanger.send, Exchanger.recv),
        _in_turn(Exchanger.recv, Exchanger.send),
        responder_timed=False,
    ),
    "stream": _Ends(
        _in_turn(Exchanger.send_window, Exchanger.recv_ack),
        _in_turn(Exchanger.recv_window, Exchanger.send_ack),
        responder_timed=True,
    ),
    "bidirectional": _Ends(Exchanger.both_windows, Exchanger.both_windows, responder_timed=True),
    "exchange": _Ends(_send_and_receive, _send_and_receive, responder_timed=True),
    "pingping": _Ends(_send_and_receive, _send_and_receive, responder_timed=True),
}
# For `Capabilities.patterns` of a transport whose endpoint is a PythonEndpoint.
PATTERNS: tuple[Pattern, ...] = tuple(_PATTERNS)


def run(
    exchange: Callable[[], None],
    untimed: int,
    iterations: int,
    timestamps: Times,
    now: Callable[[], int],
) -> None:
    """Makes `untimed` iterations first, then `iterations` between each two of `timestamps`, shape
    (samples + 1,), which it fills in the unit of `now`; as native/timing.hpp does."""
    for _ in range(untimed):
        exchange()
    timestamps[0] = now()
    for number in range(1, len(timestamps)):
        for _ in range(iterations):
            exchange()
        timestamps[number] = now()


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


@cache
def clock_figures() -> tuple[float, float]:
    """The cost of reading the clock of a PythonEndpoint, and its resolution, ns: for
    `Transport.clock_figures`."""
    readings = np.array([_now() for _ in range(2000)])
    steps = np.diff(readings)
    return float(np.median(steps)), float(steps[steps > 0].min())


class PythonEndpoint(Endpoint):
    """One end of a path for a configuration whose messages go through `messages`."""

    def __init__(
        self, messages: Messages, configuration: Configuration, initiates: bool, buffers: Buffers
    ) -> None:
        self._exchanger = Exchanger(
            messages,
            configuration.pattern,
            initiates,
            buffers.out.messages,
            buffers.in_.messages,
            configuration.window,
        )
        self._is_timed = initiates or _PATTERNS[configuration.pattern].responder_timed

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        timestamps = np.zeros(samples + 1, dtype=np.int64)
        run(self._exchanger, untimed, iterations, timestamps, _now)
        if not self._is_timed:
            return Timed()
        return Timed(times=np.diff(timestamps), start=int(timestamps[0]))

    def close(self) -> None:
        self._exchanger.close()


class PythonPath(Path):
    """A path whose messages go through `messages`, which `connect` sets."""

    messages: Messages

    def __init__(self, pair: PairContext) -> None:
        self.pair = pair

    def endpoint(self, configuration: Configuration, buffers: Buffers) -> Endpoint:
        return PythonEndpoint(self.messages, configuration, self.pair.initiates, buffers)
