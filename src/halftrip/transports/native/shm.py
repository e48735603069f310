"""Shared memory: copied in by the sender and out by the receiver, with no call into the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.allocator import Bytes, HostRegion
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration
from halftrip.results.threshold import Acts, Threshold
from halftrip.telemetry.copy_thresholds import copy_thresholds
from halftrip.transports.base import (
    Endpoint,
    EndpointBuffers,
    PairContext,
    Path,
    PathSettings,
    Transport,
)
from halftrip.transports.capabilities import Capabilities
from halftrip.transports.native.endpoint import (
    NativeEndpoint,
    NativeWindow,
    delayed_of,
    patterns_of,
)

# Up to so many bytes, the slots hold a message in the smallest chunks; then chunks grow.
_SMALL_CHUNKS = _native.shm_slots * _native.shm_smallest_chunk
_THRESHOLDS: tuple[tuple[str, int, Acts], ...] = (
    ("the first cache line of the shm transport's slots", _native.shm_line, "protocol"),
    ("the lines that the shm transport copies with the first one", _native.shm_short, "protocol"),
    (
        "what the shm transport sends by non-temporal stores, unless it is a reply",
        _native.shm_nontemporal,
        "copy",
    ),
    ("the smallest chunk of the shm transport", _native.shm_smallest_chunk, "protocol"),
    (
        "the slots of the shm transport in its smallest chunks, which then grow",
        _SMALL_CHUNKS,
        "protocol",
    ),
    (
        "all slots of the shm transport, beyond which replies go by non-temporal stores",
        _native.shm_slots * _native.shm_largest_chunk,
        "copy",
    ),
)


class ShmTransport(Transport):
    capabilities = Capabilities(
        patterns={"blocking": patterns_of("Shm"), "onesided": patterns_of("ShmWindow")},
        waits=("spin",),
        staging=("staged",),
        delayed=delayed_of("Shm"),
        shares_memory=True,
        no_other_wait="shm is memory that is polled; there is nothing in it to sleep on",
    )

    def missing(self, pair: PairContext) -> str | None:
        return None if pair.segment is not None else pair.no_segment

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        if pair.segment is None:
            raise Unavailable(pair.no_segment)
        # Each slice has its rings in other pages, which may be nearer or farther from a core.
        return ShmPath(_messages(pair.segment, pair), pair)


class ShmRingTransport(ShmTransport):
    """The same with one way for all patterns, as a model of the path needs it: replies, too, go
    through the ring of their direction."""

    capabilities = ShmTransport.capabilities._replace(
        patterns={"blocking": patterns_of("Shm")},
        no_mode={"onesided": "one-sided calls use no ring; -t shm has them"},
        no_other_wait="shm-ring is memory that is polled; there is nothing in it to sleep on",
    )

    def path(self, pair: PairContext, settings: PathSettings) -> Path:
        if pair.segment is None:
            raise Unavailable(pair.no_segment)
        return ShmRingPath(pair)


def _messages(memory: Bytes, pair: PairContext, replies_apart: bool = True) -> _native.Shm:
    """This rank's end of the rings in memory of one or several segments."""
    side = 0 if pair.initiates else 1
    return _native.Shm(memory, side, pair.shares_core, replies_apart)


def _segments(pair: PairContext) -> int:
    """How many segments the memory of a pair has."""
    return 1 if pair.segment is None else pair.segment.size // _native.shm_segment_size


class ShmPath(Path):
    def __init__(self, messages: _native.Shm, pair: PairContext) -> None:
        self._messages = messages
        self._pair = pair
        self.segments = _segments(pair)

    def use(self, segment: int) -> None:
        self._messages.use(segment)

    def thresholds(self) -> Sequence[Threshold]:
        source = "halftrip's native/endpoints/shm.hpp"
        return [
            Threshold(name=name, value=value, acts=acts, source=source)
            for name, value, acts in _THRESHOLDS
        ] + [*copy_thresholds()]

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        kind = ShmWindow if configuration.is_one_sided else NativeEndpoint
        return kind(self._messages, configuration, self._pair.initiates, buffers)


class ShmRingPath(ShmPath):
    """In memory of its own, which the initiator makes: both ends count what has gone through the
    pair's, and a second path there would change it."""

    def __init__(self, pair: PairContext) -> None:
        self._pair = pair
        self.segments = _segments(pair)
        self._segment: SharedSegment | None = None
        if pair.initiates:
            self._segment = SharedSegment(self.segments * _native.shm_segment_size)
            self.address = msgspec.to_builtins(self._segment.offer)

    def connect(self, address: Any) -> None:
        if self._segment is None:
            memory = open_offer(msgspec.convert(address, SharedOffer))
        else:
            # The responder has opened it.
            memory = self._segment.bytes
            self.close()
        self._messages = _messages(memory, self._pair, replies_apart=False)

    def close(self) -> None:
        if self._segment is not None:
            self._segment.close()
            self._segment = None


class ShmWindow(NativeWindow):
    """Each end exposes a segment of its own, and reaches into the peer's."""

    def __init__(
        self,
        messages: _native.Shm,
        configuration: Configuration,
        initiates: bool,
        buffers: EndpointBuffers,
    ) -> None:
        super().__init__(messages, configuration, initiates, buffers)
        self._segment = SharedSegment(buffers.exposed_bytes)
        self.expose(HostRegion(self._segment.bytes))
        self.address = msgspec.to_builtins(self._segment.offer)

    def connect(self, address: Any) -> None:
        theirs = open_offer(msgspec.convert(address, SharedOffer))
        self._end = _native.ShmWindow(self._end, theirs[self._configuration.align :])

    def close(self) -> None:
        super().close()
        self._segment.close()
