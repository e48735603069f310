"""Shared memory: copied in by the sender and out by the receiver, with no call into the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.allocator import HostRegion
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.configuration import Configuration
from halftrip.results.threshold import Acts, Threshold
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
    ("the smallest chunk of the shm transport", _native.shm_smallest_chunk, "protocol"),
    (
        "the slots of the shm transport in its smallest chunks, which then grow",
        _SMALL_CHUNKS,
        "protocol",
    ),
    (
        "all slots of the shm transport with its largest chunks",
        _native.shm_slots * _native.shm_largest_chunk,
        "capacity",
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
        side = 0 if pair.initiates else 1
        # Each slice has its rings in other pages, which may be nearer or farther from a core.
        return ShmPath(_native.Shm(pair.segment, side, pair.shares_core), pair)


class ShmPath(Path):
    def __init__(self, messages: _native.Shm, pair: PairContext) -> None:
        self._messages = messages
        self._pair = pair
        segment = pair.segment
        self.segments = 1 if segment is None else segment.size // _native.shm_segment_size

    def use(self, segment: int) -> None:
        self._messages.use(segment)

    def thresholds(self) -> Sequence[Threshold]:
        source = "halftrip's native/endpoints/shm.hpp"
        return [
            Threshold(name=name, value=value, acts=acts, source=source)
            for name, value, acts in _THRESHOLDS
        ]

    def endpoint(self, configuration: Configuration, buffers: EndpointBuffers) -> Endpoint:
        kind = ShmWindow if configuration.is_one_sided else NativeEndpoint
        return kind(self._messages, configuration, self._pair.initiates, buffers)


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
