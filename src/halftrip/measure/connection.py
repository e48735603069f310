"""Two ranks that talk: the memory that they share, the paths that are open between them.

Every rank has a connection for every pair and calls it alike, a member of the pair or not: all
ranks take the steps of opening a path together, so that each knows how the others fared.
"""

from __future__ import annotations

import dataclasses

import msgspec

from halftrip import _native
from halftrip.clock import Clock
from halftrip.control.agreement import agree
from halftrip.control.collectives import Group
from halftrip.errors import Unavailable
from halftrip.measure.baselines import CacheLineProbe
from halftrip.memory.allocator import Bytes
from halftrip.memory.shared import SharedOffer, SharedSegment, open_offer
from halftrip.results.case import Case, Wait
from halftrip.transports.base import PairContext, Path, Transport

# The transport, and how each end waits.
_PathKey = tuple[str, Wait, Wait]


class Connection:
    """The ranks `ranks`, of which the first initiates. `pair` is what this rank, if it is one of
    them, knows of the other."""

    def __init__(
        self, group: Group, ranks: tuple[int, int], pair: PairContext, clock: Clock
    ) -> None:
        self.ranks = ranks
        self.member = group.rank in ranks
        self._group = group
        self._paths: dict[_PathKey, Path | Unavailable | None] = {}
        segment, reason = self._share_memory(pair.same_host)
        self.pair = dataclasses.replace(pair, segment=segment, no_segment=reason)
        self._probe: CacheLineProbe | None = None
        # Where two ranks share a core, a cache line moves by a context switch, which bounds
        # nothing. Threads other than the first run on cores that are not probed.
        if segment is not None and not pair.shares_core and pair.thread == 0:
            self._probe = CacheLineProbe(segment, clock)
        self.has_probe = any(agree(group, lambda: self._probe is not None))

    @property
    def initiates(self) -> bool:
        return self._group.rank == self.ranks[0]

    @property
    def responds(self) -> bool:
        return self._group.rank == self.ranks[1]

    def _share_memory(self, same_host: bool) -> tuple[Bytes | None, str]:
        """Memory that both ranks map, or None and why not."""
        segment: SharedSegment | None = None
        mapped: Bytes | None = None

        def create() -> SharedOffer | None:
            nonlocal segment, mapped
            if not self.initiates:
                return None
            if not same_host:
                raise Unavailable("the ranks are on different hosts")
            segment = SharedSegment(_native.shm_segment_size)
            mapped = segment.bytes
            return segment.offer

        def attach() -> None:
            nonlocal mapped
            if self.responds:
                mapped = open_offer(msgspec.convert(offers[self.ranks[0]], SharedOffer))

        try:
            offers = agree(self._group, create)
            agree(self._group, attach)
        except Unavailable as error:
            return None, str(error)
        finally:
            if segment is not None:
                segment.close()
        return mapped, ""

    def missing(self, transport: Transport) -> str | None:
        """Why a transport cannot be used between these ranks, or None."""

        def check() -> None:
            reason = transport.missing(self.pair) if self.member else None
            if not any(transport.capabilities.patterns.values()):
                reason = "not in this build of halftrip"
            if reason is not None:
                raise Unavailable(reason)

        try:
            agree(self._group, check)
        except Unavailable as error:
            return str(error)
        return None

    def path(self, transport: Transport, case: Case) -> Path | None:
        """This rank's end of the path that a case uses, opened when it is first asked for; None on
        a rank that is not of the pair. Raises Unavailable on all ranks, now and whenever asked
        again, if it cannot be opened."""
        key = (case.transport, case.initiator.wait, case.responder.wait)
        if key not in self._paths:
            try:
                self._paths[key] = self._open(transport, case)
            except Unavailable as error:
                self._paths[key] = error
        path = self._paths[key]
        if isinstance(path, Unavailable):
            raise path
        return path

    def _open(self, transport: Transport, case: Case) -> Path | None:
        path: Path | None = None

        def make() -> object:
            nonlocal path
            if not self.member:
                return None
            path = transport.path(self.pair, self.pair.end_of(case).wait)
            return path.address

        def connect(address: object) -> None:
            if path is not None:
                path.connect(address)

        try:
            addresses = agree(self._group, make)
            initiator, responder = (addresses[rank] for rank in self.ranks)
            agree(self._group, lambda: connect(initiator) if self.responds else None)
            agree(self._group, lambda: connect(responder) if self.initiates else None)
        except Unavailable:
            if path is not None:
                path.close()
            raise
        return path

    def opened(self, case: Case) -> Path | None:
        """The path that a case uses, if it is open at this rank."""
        path = self._paths.get((case.transport, case.initiator.wait, case.responder.wait))
        return path if isinstance(path, Path) else None

    def probe(self) -> float | None:
        """The core-to-core round trip of a cache line now, ns, on the initiator; None elsewhere."""
        if self._probe is None:
            return None
        if self.initiates:
            return self._probe.lead()
        self._probe.follow()
        return None

    def close(self) -> None:
        for path in self._paths.values():
            if isinstance(path, Path):
                path.close()
        self._paths.clear()
