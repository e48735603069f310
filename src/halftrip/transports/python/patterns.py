"""The patterns in Python, for transports whose calls are Python: they time what a Python program
gets.

They send the same messages in the same order as those in native/patterns, so that one end of a path
can be native and the other Python. An iteration is a sequence of calls without arguments, each made
beforehand for one buffer, so that a loop adds to them no more than a bare ``for`` does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, cycle, islice
from typing import Any, TypeVar

import numpy as np

from halftrip.memory.allocator import Bytes
from halftrip.results.patterns import BOTH_WAYS, ONE_WAY, SHAPES, Pattern

Call = Callable[[], object]
# Makes so many iterations.
Iterate = Callable[[int], None]
_T = TypeVar("_T")

# Of calls of which a send returns before the peer receives.
PATTERNS = ONE_WAY + BOTH_WAYS

_ACK_BYTES = 1


class Calls(ABC):
    """What one rank's end of a path does with a buffer, as calls without arguments."""

    def close(self) -> None:  # noqa: B027 (most hold nothing)
        """Releases what the calls need; none is made any more."""

    @abstractmethod
    def send(self, message: Bytes) -> Call:
        """A call that sends `message`; when it returns, the buffer may be overwritten."""

    @abstractmethod
    def recv(self, into: Bytes) -> Call:
        """A call that returns when a message of exactly this size has been received."""

    def exchange(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        """The calls that send one message and receive another at once."""
        return self.send(message), self.recv(into)

    def ping(self, message: Bytes, into: Bytes) -> Sequence[Call]:
        """The same, but the message is sent before the receive begins."""
        return self.send(message), self.recv(into)


class Requests(ABC):
    """The same with calls that begin a send or a receive and calls that complete it: the messages
    of a window are on their way together. `blocking` has the calls of acknowledgements. With
    `in_turn`, the reply of a ping-pong begins when its request has been received."""

    blocking: Calls
    in_turn: bool = False

    @abstractmethod
    def send(self, message: Bytes) -> Any:
        """What sends `message`: an element of the argument of `window`."""

    @abstractmethod
    def recv(self, into: Bytes) -> Any:
        """What receives a message of exactly this size."""

    @abstractmethod
    def window(self, requests: Sequence[Any]) -> Sequence[Call]:
        """The calls that begin these sends and receives, in this order, and complete them all."""

    def close(self) -> None:  # noqa: B027 (most hold nothing)
        """Releases the requests; no call is made any more."""


def blocking(
    calls: Calls,
    pattern: Pattern,
    initiates: bool,
    out: Sequence[Any],
    in_: Sequence[Any],
    window: int,
) -> Iterate:
    """The iterations of one end. `out` and `in_` are the buffers, used in turn, shape
    (slots, bytes)."""
    messages: list[Sequence[Call]]
    if pattern == "stream":
        make = calls.send if initiates else calls.recv
        messages = [(make(buffer),) for buffer in (out if initiates else in_)]
    elif pattern == "pingpong":
        messages = [(calls.send(o), calls.recv(i)) for o, i in zip(out, in_, strict=True)]
        if not initiates:
            messages = [(recv, send) for send, recv in messages]
    else:
        both = calls.ping if pattern == "pingping" else calls.exchange
        messages = [both(o, i) for o, i in zip(out, in_, strict=True)]
    windows = _windows(messages, _width(pattern, window))
    after = _acknowledgements(calls, pattern, initiates)
    return _repeated(map(chain.from_iterable, windows), after)


def nonblocking(
    requests: Requests,
    pattern: Pattern,
    initiates: bool,
    out: Sequence[Any],
    in_: Sequence[Any],
    window: int,
) -> Iterate:
    """The same with requests. A window has at least that many, also where its messages share a
    buffer."""
    width = _width(pattern, window)

    def windows_of(make: Callable[[Bytes], Any], buffers: Sequence[Any]) -> list[list[Any]]:
        return _windows(list(map(make, _at_least(width, buffers))), width)

    # The windows of each iteration; one is complete before the next begins.
    iterations: list[Sequence[list[Any]]]
    if pattern == "stream":
        make, buffers = (requests.send, out) if initiates else (requests.recv, in_)
        iterations = [[each] for each in windows_of(make, buffers)]
    else:
        sends, recvs = windows_of(requests.send, out), windows_of(requests.recv, in_)
        if pattern == "pingpong" and requests.in_turn:
            order = (sends, recvs) if initiates else (recvs, sends)
            iterations = list(zip(*order, strict=True))
        else:
            order = (sends, recvs) if pattern == "pingping" else (recvs, sends)
            iterations = [[[*first, *second]] for first, second in zip(*order, strict=True)]
    calls = (chain.from_iterable(map(requests.window, windows)) for windows in iterations)
    return _repeated(calls, _acknowledgements(requests.blocking, pattern, initiates))


def _repeated(iterations: Iterable[Iterable[Call]], after: Sequence[Call]) -> Iterate:
    """Makes the calls of each iteration, then those `after` it, and begins anew after the last.
    All iterations have the same number of calls."""
    each = [[*calls, *after] for calls in iterations]
    endless = cycle(list(chain.from_iterable(each)))
    steps = len(each[0])

    def iterate(count: int) -> None:
        for call in islice(endless, count * steps):
            call()

    return iterate


def _acknowledgements(calls: Calls, pattern: Pattern, initiates: bool) -> Sequence[Call]:
    """The calls that end an iteration at one end."""
    if SHAPES[pattern].window is None:
        return ()
    ack = np.zeros(_ACK_BYTES, dtype=np.uint8)
    send, recv = calls.send(ack), calls.recv(ack.copy())
    if SHAPES[pattern].each_way:
        return send, recv
    return (recv,) if initiates else (send,)


def _width(pattern: Pattern, window: int) -> int:
    """How many messages an iteration sends in a direction."""
    return 1 if SHAPES[pattern].window is None else window


def _at_least(count: int, buffers: Sequence[Any]) -> list[Any]:
    """The buffers, all of them again and again where there are fewer."""
    return list(buffers) * -(-count // len(buffers))


def _windows(items: Sequence[_T], width: int) -> list[list[_T]]:
    """`width` items at a time, in their order, until the cycle begins anew."""
    count = math.lcm(len(items), width) // width
    endless = cycle(items)
    return [list(islice(endless, width)) for _ in range(count)]
