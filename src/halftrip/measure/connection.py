"""A pair of ranks: the memory that they share, and the paths that are open between them.

Every rank has a connection for every pair, whether it is a member or not, and all ranks call its
methods in the same order: they take the steps of opening a path together, so that each knows
whether the others succeeded.
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
    """The connection between `ranks`, of which the first initiates. `pair` is their context at this
    rank, if this rank is one of them."""

    def __init__(
        self, group: Group, ranks: tuple[int, int], pair: PairContext, clock: Clock
    ) -> None:
        self.ranks = ranks
        self.member = group.rank in ranks
        self._group = group
        self._paths: dict[_PathKey, Path | Unavailable | None] = {}
        segment, reason = self._share_memory(pair.different_hosts)
        self.pair = dataclasses.replace(pair, segment=segment, no_segment=reason)
        self._probe: CacheLineProbe | None = None
        # Where two ranks share a core, a cache line takes a context switch, which is no bound.
        # Threads other than the first run on cores that are not probed.
        if segment is not None and not pair.shares_core and pair.thread == 0:
            self._probe = CacheLineProbe(segment, clock)
        self.has_probe = any(agree(group, lambda: self._probe is not None))

    @property
    def initiates(self) -> bool:
        return self._group.rank == self.ranks[0]

    @property
    def responds(self) -> bool:
        return self._group.rank == self.ranks[1]

    def _share_memory(self, refusal: str | None) -> tuple[Bytes | None, str]:
        """Memory that both ranks map, or None and why not; `refusal` is why they cannot."""
        segment: SharedSegment | None = None
        mapped: Bytes | None = None

        def create() -> SharedOffer | None:
            nonlocal segment, mapped
            if not self.initiates:
                return None
            if refusal is not None:
                raise Unavailable(refusal)
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
        """This rank's end of the path that a case uses, opened at the first call; None on a rank
        that is not a member. Raises Unavailable on all ranks, at every call, if it cannot be
        opened."""
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
        """The core-to-core round trip at this moment, ns, on the initiator; None elsewhere."""
        if self._probe is None:
            return None
        if self.initiates:
            return self._probe.initiate()
        self._probe.respond()
        return None

    def close(self) -> None:
        for path in self._paths.values():
            if isinstance(path, Path):
                path.close()
        self._paths.clear()
