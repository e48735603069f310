"""Shared memory: copied in by the sender and out by the receiver, with no call into the kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from halftrip import _native
from halftrip.errors import Unavailable
from halftrip.memory.host import Bytes
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.case import Case, Wait
from halftrip.transports.base import OneSided, Opened, Window


class Transport(OneSided):
    waits = ("spin",)
    waits_reason = "shm is memory that is polled; there is nothing in it to sleep on"
    patterns: ClassVar = {"blocking": _native.Shm.patterns, "onesided": _native.ShmWindow.patterns}

    def missing(self) -> str | None:
        return None if self.scene.segment is not None else self.scene.no_segment

    def listen(self, wait: Wait) -> Any:
        return None

    def connect(self, offer: Any, wait: Wait) -> Opened:
        return self._side(1)

    def accept(self, wait: Wait) -> Opened:
        return self._side(0)

    def _side(self, side: int) -> Opened:
        if self.scene.segment is None:
            raise Unavailable(self.scene.no_segment)
        return Opened(_native.Shm(self.scene.segment, side, self.scene.yields))

    def expose(self, size: int) -> Window:
        segment = SharedSegment(size)
        window = Window(region=segment.bytes, offer=msgspec.to_builtins(segment.offer))
        window.resources.callback(segment.close)
        return window

    def reach(self, opened: Opened, case: Case, window: Window, offer: Any) -> Any:
        theirs: Bytes = open_offer(msgspec.convert(offer, SharedOffer))
        return _native.ShmWindow(opened.endpoint, theirs[case.align :])
