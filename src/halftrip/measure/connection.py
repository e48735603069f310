"""Two ranks that talk: what they share, which transports they have, which paths are open.

Every rank of a session has an object for every pair and calls it alike, a member or not: the steps
of opening a path are taken by all ranks together, so that all know how each went.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from halftrip import _native, registry
from halftrip.clock import Clock
from halftrip.control.collectives import Group
from halftrip.control.protocol import Closed
from halftrip.errors import Unavailable
from halftrip.measure.baselines import LineProbe
from halftrip.memory.host import Bytes
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.case import Wait
from halftrip.transports.base import Opened, Scene, Transport


class Outcome(msgspec.Struct, frozen=True):
    """What came of a rank's part in a step."""

    value: Any = None
    problem: str | None = None


def together(group: Group, step: Callable[[], Any]) -> list[Any]:
    """Takes a step on every rank and returns what it gave on each, in order of rank.

    Raises Unavailable on all of them, with the reason, if the step did on any (or OSError, Closed).
    """
    try:
        outcome = Outcome(value=step())
    except (Unavailable, Closed) as error:
        outcome = Outcome(problem=str(error))
    except OSError as error:
        outcome = Outcome(problem=error.strerror or str(error))
    outcomes: list[Outcome] = group.allgather(outcome, Outcome)
    for other in outcomes:
        if other.problem is not None:
            raise Unavailable(other.problem)
    return [other.value for other in outcomes]


class Pair:
    """The ranks `a`, which initiates, and `b`. `scene` is as rank `group.rank` sees it."""

    def __init__(self, group: Group, ranks: tuple[int, int], scene: Scene, clock: Clock) -> None:
        self.ranks = ranks
        self._group = group
        self._initiates = group.rank == ranks[0]
        self._responds = group.rank == ranks[1]
        self._open: dict[tuple[str, Wait], Opened | Unavailable | None] = {}
        segment, reason = self._share(scene)
        self.scene = dataclasses.replace(scene, segment=segment, no_segment=reason)
        self._transports: dict[str, Transport] = {}
        self._probe: LineProbe | None = None
        # Two ranks on one core hand a line over by a context switch, which bounds nothing.
        # Other threads' cores are not where it is probed from.
        if segment is not None and not scene.yields and scene.thread == 0:
            self._probe = LineProbe(segment, clock)
        self.has_line = any(together(group, lambda: self._probe is not None))

    @property
    def member(self) -> bool:
        return self._initiates or self._responds

    @property
    def initiates(self) -> bool:
        return self._initiates

    def _share(self, scene: Scene) -> tuple[Bytes | None, str]:
        """The memory that both ranks map, or None and why not."""
        segment: SharedSegment | None = None

        def create() -> SharedOffer | None:
            nonlocal segment
            if not self._initiates:
                return None
            if not scene.same_host:
                raise Unavailable("the ranks are on different hosts")
            segment = SharedSegment(_native.shm_segment_size)
            return segment.offer

        mapped: Bytes | None = None

        def attach() -> None:
            nonlocal mapped
            if self._initiates and segment is not None:
                mapped = segment.bytes
            elif self._responds:
                mapped = open_offer(msgspec.convert(offers[self.ranks[0]], SharedOffer))

        try:
            offers = together(self._group, create)
            together(self._group, attach)
        except Unavailable as error:
            return None, str(error)
        finally:
            if segment is not None:
                segment.close()
        return mapped, ""

    def transport(self, name: str) -> Transport:
        """The transport of that name between these ranks."""
        if name not in self._transports:
            kind: type[Transport] = registry.load(registry.TRANSPORTS, name).Transport
            self._transports[name] = kind(self.scene)
        return self._transports[name]

    def missing(self, name: str) -> str | None:
        """Why a transport cannot be used between these ranks, or None."""

        def check() -> None:
            reason = self.transport(name).missing() if self.member else None
            if reason is not None:
                raise Unavailable(reason)

        try:
            together(self._group, check)
        except Unavailable as error:
            return str(error)
        return None

    def open(self, name: str, wait: Wait) -> Opened | None:
        """This rank's end of the path, None on a rank that is not of the pair.

        Raises Unavailable on all ranks if it cannot be opened, now and whenever asked again.
        """
        key = (name, wait)
        if key not in self._open:
            try:
                self._open[key] = self._connect(name, wait)
            except Unavailable as error:
                self._open[key] = error
        opened = self._open[key]
        if isinstance(opened, Unavailable):
            raise opened
        return opened

    def _connect(self, name: str, wait: Wait) -> Opened | None:
        end: Opened | None = None
        listening = False

        def listen() -> Any:
            nonlocal listening
            if not self._initiates:
                return None
            offer = self.transport(name).listen(wait)
            listening = True
            return offer

        def connect() -> None:
            nonlocal end
            if self._responds:
                end = self.transport(name).connect(offers[self.ranks[0]], wait)

        def accept() -> None:
            nonlocal end, listening
            if self._initiates:
                listening = False
                end = self.transport(name).accept(wait)

        try:
            offers = together(self._group, listen)
            together(self._group, connect)
            together(self._group, accept)
        except Unavailable:
            if listening:
                self.transport(name).abandon()
            if end is not None:
                end.close()
            raise
        return end

    def probe(self) -> float | None:
        """The cache-line round trip right now, ns, on the initiator; None elsewhere."""
        if self._probe is None:
            return None
        if self._initiates:
            return self._probe.lead()
        self._probe.follow()
        return None

    def close(self) -> None:
        for opened in self._open.values():
            if isinstance(opened, Opened):
                opened.close()
        self._open.clear()
