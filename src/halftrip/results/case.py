"""A case: one point of a plan."""

from __future__ import annotations

from typing import Literal

import msgspec

from halftrip.results.patterns import Mode, Pattern, at_once, trips

Wait = Literal["block", "spin"]
Buffers = Literal["same", "separate"]
Pages = Literal["4K", "huge"]
Memory = Literal["host"]
Cache = Literal["hot", "cold"]
Datatype = Literal["byte", "contiguous", "vector"]


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """One point of the plan: what is measured between the two ranks of `pair`, by the threads of
    theirs that are called `thread`.

    `wait` is how a receiver waits: in the kernel, or by polling. `buffers` says whether a rank
    receives into the buffer that it sends from. `window` is how many messages are in flight. With
    `align`, buffers start so many bytes after a multiple of twice that; 0: the first of them at the
    start of a page. `datatype` is what MPI is told that a message is made of. `rate` is what a
    sender offers, bytes per second; None: all that it can. With `verify`, messages are filled and
    checked between batches, and each of a window has a buffer of its own. `company` is how many
    pairs, threads counted, talk at the same time, this one included.
    """

    transport: str
    pattern: Pattern = "pingpong"
    mode: Mode = "blocking"
    size: int
    memory: Memory = "host"
    buffers: Buffers = "separate"
    pages: Pages = "4K"
    cache: Cache = "hot"
    wait: Wait
    pair: tuple[int, int] = (0, 1)
    window: int = 1
    align: int = 0
    datatype: Datatype = "byte"
    rate: float | None = None
    verify: bool = False
    thread: int = 0
    company: int = 1

    @property
    def messages_per_exchange(self) -> int:
        """How many messages go one way, one after the other, in an exchange."""
        return trips(self.pattern, self.mode) * self.window

    @property
    def is_virtual(self) -> bool:
        """Whether it is of a path that is only thought of, on no machine."""
        return self.transport == "simulated"

    @property
    def is_rate(self) -> bool:
        """Whether what matters is how much gets through, not how long one message takes."""
        return self.pattern in ("stream", "bidirectional") or self.window > 1

    @property
    def directions(self) -> int:
        """In how many directions payload is on its way at once."""
        return 2 if at_once(self.pattern, self.mode) else 1
