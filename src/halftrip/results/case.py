"""A case: one point of a plan."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.registry import SIMULATED
from halftrip.results.patterns import Mode, Pattern, at_once, trips

Wait = Literal["block", "spin"]
Buffers = Literal["same", "separate"]
Pages = Literal["4K", "huge"]
Cache = Literal["hot", "cold"]
Datatype = Literal["byte", "contiguous", "vector"]
# What may differ between the two ends of a case.
EndField = Literal["memory", "pages", "wait"]


class CaseEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to one end of a case.

    `memory` is the kind of memory that its buffers are in, `pages` their page size. `wait` is how
    it waits for a message: in the kernel, or by polling. `core` is the core that was asked for;
    None: one was chosen, see `records.Environment`.
    """

    memory: str = "host"
    pages: Pages = "4K"
    wait: Wait
    core: int | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured between the two ranks of `pair`, by their threads of number `thread`.

    `buffers` says whether a rank receives into the buffer that it sends from. `window` is how many
    messages are in flight. With `align`, buffers start that many bytes after a multiple of twice
    `align`; 0: the first starts a page. `datatype` is what MPI is told a message is made of. `rate`
    is what a sender offers, bytes per second; None: as much as it can. With `verify`, messages are
    filled and checked between batches, and each of a window has a buffer of its own. `concurrency`
    is how many pairs, threads counted, talk at the same time, this one included.
    """

    transport: str
    pattern: Pattern = "pingpong"
    mode: Mode = "blocking"
    size: int
    initiator: CaseEnd
    responder: CaseEnd
    buffers: Buffers = "separate"
    cache: Cache = "hot"
    pair: tuple[int, int] = (0, 1)
    window: int = 1
    align: int = 0
    datatype: Datatype = "byte"
    rate: float | None = None
    verify: bool = False
    thread: int = 0
    concurrency: int = 1

    @property
    def ends(self) -> tuple[CaseEnd, CaseEnd]:
        """The initiator's and the responder's."""
        return self.initiator, self.responder

    def both_ends(self, field: EndField) -> str:
        """A field of both ends in words: ``spin``, or ``spin:block`` where they differ."""
        values = [str(getattr(end, field)) for end in self.ends]
        return ":".join(dict.fromkeys(values))

    @property
    def messages_per_exchange(self) -> int:
        """How many messages go one way, one after the other, in an exchange."""
        return trips(self.pattern, self.mode) * self.window

    @property
    def is_simulated(self) -> bool:
        """Whether it is measured in virtual time, on no machine."""
        return self.transport == SIMULATED

    @property
    def is_rate(self) -> bool:
        """Whether its result is a bandwidth rather than the time of one message."""
        return self.pattern in ("stream", "bidirectional") or self.window > 1

    @property
    def directions(self) -> int:
        """In how many directions payload is sent at once."""
        return 2 if at_once(self.pattern, self.mode) else 1
