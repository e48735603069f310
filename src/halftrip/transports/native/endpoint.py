"""Endpoints whose timed loops are native."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from halftrip import _native
from halftrip.memory.allocator import Region, Stage, memory_named
from halftrip.results.block import NO_TIMES, Times
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import is_of_host
from halftrip.results.patterns import ONE_WAY, Pattern
from halftrip.transports.base import Endpoint, EndpointBuffers, Timed

_CACHE_LINE = 64


class Staging:
    """What an end stages messages with: `end` sends them over the native endpoint `path`. An end
    whose own `memory` the processor reaches copies nothing, but sends in the same chunks. Raises
    Unavailable."""

    def __init__(self, path: Any, configuration: Configuration, memory: str) -> None:
        self._stage: Stage | None = None
        chunk = configuration.staging or 0
        largest = min(chunk or configuration.size, configuration.size)
        part = -(-max(largest, 1) // _CACHE_LINE) * _CACHE_LINE
        messages = _native.messages(path)
        if is_of_host(memory):
            self.end = _native.Staged(messages, None, 0, part, chunk)
            return
        self._stage = memory_named(memory).stage(2 * part)
        self.end = _native.Staged(
            messages, self._stage.stream.native, self._stage.region.pointer, part, chunk
        )

    def close(self) -> None:
        """Frees the stage."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None


def patterns_of(kind: str) -> tuple[Pattern, ...]:
    """The patterns of a native type; none where this build does not have it."""
    return tuple(getattr(getattr(_native, kind, None), "patterns", ()))


def delayed_of(kind: str) -> tuple[Pattern, ...]:
    """The patterns of a native type whose initiator can have a delay: the native loops know it of
    these two, with blocking calls."""
    return tuple(pattern for pattern in patterns_of(kind) if pattern in ONE_WAY)


def touched(count: int) -> Times:
    """Zeros, shape (count,), in pages that are mapped already: the first touch of a page takes as
    long as some samples."""
    zeros = np.empty(count, dtype=np.int64)
    zeros.fill(0)
    return zeros


class NativeEndpoint(Endpoint):
    """`end` is an object of one of the native endpoint types."""

    def __init__(
        self, end: Any, configuration: Configuration, initiates: bool, buffers: EndpointBuffers
    ) -> None:
        self._configuration = configuration
        self._staging: Staging | None = None
        if configuration.staging is not None:
            own = configuration.initiator if initiates else configuration.responder
            self._staging = Staging(end, configuration, own.memory)
            end = self._staging.end
        self._end = end
        self._buffers = buffers
        self._call = _native.initiate if initiates else _native.respond
        self._initiates = initiates
        self._rings = (buffers.out.native, buffers.in_.native)

    def run(self, untimed: int, iterations: int, samples: int) -> Timed:
        clock = self._buffers.clock
        timestamps = touched(samples + 1)
        receive_times = None
        # With several iterations in a sample, one more clock read in each would take too much of
        # it.
        if self._configuration.shape.each_way and iterations == 1:
            receive_times = touched(samples)
        arrivals = self.takes_arrivals and not self._initiates and self._end.has_arrivals
        mark = clock.mark()
        self._take_part(untimed, iterations, timestamps, receive_times, arrivals)
        if timestamps[-1] == 0:
            # This end takes no times: its clock reads would lengthen the initiator's samples.
            return Timed()
        if arrivals:
            moments = clock.raw_times(timestamps, mark)
            return Timed(start=int(moments[0]), arrivals=np.diff(moments))
        start, end = clock.raw_times(timestamps[[0, -1]], mark).tolist()
        return Timed(
            times=clock.intervals(timestamps),
            start=start,
            end=end,
            receive_times=NO_TIMES if receive_times is None else clock.durations(receive_times),
        )

    def _take_part(
        self,
        untimed: int,
        iterations: int,
        timestamps: Times,
        receive_times: Times | None,
        arrivals: bool,
    ) -> None:
        configuration, clock = self._configuration, self._buffers.clock
        part = (
            self._end,
            configuration.pattern,
            *self._rings,
            configuration.window,
            untimed,
            iterations,
            timestamps,
            clock.source,
        )
        if self._initiates and configuration.delay:
            delay = clock.ticks(configuration.delay)
            call = partial(_native.initiate_delayed, *part, delay, clock.ticks(clock.cost))
        else:
            call = partial(self._call, *part, receive_times, configuration.touch, arrivals)
        self.spending(call)

    def close(self) -> None:
        self._end = None
        if self._staging is not None:
            self._staging.close()


class NativeWindow(NativeEndpoint):
    """An endpoint that exposes memory, which the peer reads and writes."""

    def expose(self, memory: Region) -> None:
        self.exposed = memory
        if self._configuration.shape.is_polled:
            polled = self._buffers.out.in_memory(memory, self._configuration.size)
            self._rings = (self._buffers.out.native, polled)
        if self._configuration.touch != "none" and not self._initiates:
            # The responder has nothing to send or receive: it touches its own window.
            touched = self._buffers.out.in_memory(memory)
            self._rings = (touched, touched)
