"""Paths whose calls are Python, and the endpoints that time them."""

from __future__ import annotations

import gc
import importlib
import time
from abc import abstractmethod
from array import array
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from halftrip.errors import Unavailable
from halftrip.memory.allocator import Bytes
from halftrip.results.block import Times
from halftrip.results.configuration import Configuration, Object
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Timed,
    Transport,
)
from halftrip.transports.python.patterns import (
    Call,
    Calls,
    Iterate,
    Requests,
    blocking,
    nonblocking,
)

# What has arrays in a device's memory that can be pickled.
_DEVICE_ARRAYS = "cupy"


def no_device_arrays() -> str | None:
    """Why there are no arrays in a device's memory here, or None."""
    try:
        importlib.import_module(_DEVICE_ARRAYS)
    except ImportError as error:
        return f"arrays in a device's memory are CuPy's: {error}"
    return None


def object_of(kind: Object, message: Any) -> Any:
    """An object whose payload is `message`, shape (bytes,): the buffer itself, its bytes, an array
    of them, or a dictionary that has them beside a number and a text. Only the buffer and the array
    change with the message. Of a message in a device's memory, the array is CuPy's, over the same
    bytes."""
    if not isinstance(message, np.ndarray):
        return importlib.import_module(_DEVICE_ARRAYS).asarray(message)
    if kind == "bytes":
        return message.tobytes()
    if kind == "dict":
        return {"number": 1, "name": "halftrip", "payload": message.tobytes()}
    return message


def copy_payload(kind: Object, received: Any, into: Any) -> None:
    """Copies the payload of an object that has been received."""
    payload = received["payload"] if kind == "dict" else received
    if not isinstance(into, np.ndarray):
        # Only an array of its own is CuPy certain to copy from.
        object_of(kind, into)[...] = importlib.import_module(_DEVICE_ARRAYS).asarray(payload)
        return
    if hasattr(payload, "get"):
        # From a peer's device: CuPy does not copy to the host by itself.
        payload = payload.get()
    into[:] = np.frombuffer(payload, dtype=np.uint8)


# Every buffer has Python objects of its own.
_MOST_BUFFERS = 1 << 16

_now = partial(time.clock_gettime_ns, time.CLOCK_MONOTONIC_RAW)


class Messages(Protocol):
    """One rank's end of a path, as in native/endpoint.hpp. Where a configuration sends objects,
    both have these instead of bytes."""

    def send(self, message: Any, /) -> object:
        """Returns when `message` may be changed again."""

    def recv(self, into: Bytes, /) -> object:
        """Returns when a message of exactly this size has been received, or returns the object."""


class BoundMessages(NamedTuple):
    """Messages whose calls are functions of a library, with no frame of halftrip's around them."""

    send: Callable[[Any], object]
    recv: Callable[[Any], object]


class MessageCalls(Calls):
    """The calls of `messages`, which are bytes."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def send(self, message: Bytes) -> Call:
        return partial(self._messages.send, message)

    def recv(self, into: Bytes) -> Call:
        return partial(self._messages.recv, into)


class ObjectCalls(Calls):
    """The calls that send and receive objects of the configuration's kind; `send` gets the object
    and then `arguments`. With --verify, an object is made when it is sent, and its payload kept
    when it has been received; both take time."""

    def __init__(
        self,
        configuration: Configuration,
        send: Callable[..., object],
        recv: Callable[[], object],
        *arguments: Any,
    ) -> None:
        self.kind = configuration.object
        self.verifies = configuration.verify
        self._send = send
        self._recv = recv
        self._arguments = arguments

    def send(self, message: Bytes) -> Call:
        return self.sending(self._send, message, *self._arguments)

    def recv(self, into: Bytes) -> Call:
        return self.receiving(self._recv, into)

    def sending(self, send: Callable[..., object], message: Bytes, *arguments: Any) -> Call:
        """A call of `send` with the object that `message` makes, and `arguments`."""
        if self.verifies:
            return lambda: send(object_of(self.kind, message), *arguments)
        return partial(send, object_of(self.kind, message), *arguments)

    def receiving(self, recv: Call, into: Bytes) -> Call:
        """A call of `recv`, which returns an object."""
        if self.verifies:
            return lambda: copy_payload(self.kind, recv(), into)
        return recv


def timestamps(iterate: Iterate, untimed: int, iterations: int, samples: int) -> array[int]:
    """Makes `untimed` iterations first, then `iterations` between each two of the moments that it
    returns, ns of CLOCK_MONOTONIC_RAW; as native/timing.hpp does."""
    # A list would grow, and keep an object for each moment: a page fault for every hundred samples,
    # inside one of them.
    moments = array("q", bytes(8 * (samples + 1)))
    iterate(untimed)
    moments[0] = _now()
    for number in range(1, samples + 1):
        iterate(iterations)
        moments[number] = _now()
    return moments


@cache
def clock_figures() -> tuple[float, float]:
    """The time of a sample without an iteration, and the clock's resolution, ns: for
    `Transport.clock_figures`."""
    steps = np.diff(timestamps(lambda _: None, 100, 1, 2000))
    return float(np.median(steps)), float(steps[steps > 0].min())


class PythonEndpoint(Endpoint):
    """One end of a configuration over a path with these calls."""

    def __init__(
        self,
        calls: Calls | Requests,
        configuration: Configuration,
        initiates: bool,
        buffers: EndpointBuffers,
    ) -> None:
        slots = max(buffers.out.slots, buffers.in_.slots)
        if slots > _MOST_BUFFERS:
            raise Unavailable(f"{slots} buffers are too many for objects of Python")
        self._calls = calls
        make: Any = nonblocking if isinstance(calls, Requests) else blocking
        self._iterate: Iterate = make(
            calls,
            configuration.pattern,
            initiates,
            buffers.out.arrays,
            buffers.in_.arrays,
            configuration.window,
        )
        self._is_timed = initiates or configuration.shape.responder_is_timed

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        # A collection in the middle of a sample looks for garbage of the whole process.
        collects = gc.isenabled()
        gc.disable()
        try:
            moments = timestamps(self._iterate, untimed, iterations, samples)
        except (EOFError, OSError) as error:
            # A connection of multiprocessing says EOFError where the peer has closed it, and within
            # a message an OSError without a number.
            if isinstance(error, EOFError) or error.errno is None:
                raise ConnectionResetError("the peer has closed the connection") from None
            raise
        finally:
            if collects:
                gc.enable()
        if not self._is_timed:
            return Timed()
        ends: Times = np.array(moments, dtype=np.int64)
        return Timed(times=ends[1:] - ends[:-1], start=moments[0])

    def close(self) -> None:
        self._calls.close()


class PythonPath(Path):
    """A path whose messages go through `messages`, which `connect` sets."""

    messages: Messages

    def __init__(self, pair: PairContext) -> None:
        self.pair = pair

    def calls(self, configuration: Configuration) -> Calls | Requests:
        """The calls of a configuration. Raises OSError or Unavailable."""
        return MessageCalls(self.messages)

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        calls = self.calls(configuration)
        return PythonEndpoint(calls, configuration, self.pair.initiates, buffers)


class PythonTransport(Transport):
    """A transport whose configurations are timed in Python."""

    # The objects of a small buffer take ten times its memory, and time to make and to look through
    # for garbage. A batch of so many messages is long enough for the clock.
    most_verified = 256

    @property
    def clock_figures(self) -> tuple[float, float]:
        return clock_figures()

    @abstractmethod
    def path(self, pair: PairContext, settings: PathSettings) -> PythonPath: ...
