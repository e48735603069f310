"""The timing of one case: what the sampler asks for, done by both ranks of a pair at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip import _native
from halftrip.clock import Clock
from halftrip.errors import HalftripError
from halftrip.group import Group
from halftrip.memory import host as host_memory
from halftrip.model import Case
from halftrip.pair import Pair, together
from halftrip.sampler import Batch, Sampler

# How long the initiator leaves its peer to get into the loop, where no exchange may go before.
_READY_SECONDS = 0.002


class Bench:
    """A case that is set up: the path is open, the buffers are there.

    Every rank of the group makes one for every case, of the pair or not.
    """

    def __init__(self, group: Group, pair: Pair, case: Case, clock: Clock) -> None:
        """Raises Unavailable, on all ranks, if the path or the buffers cannot be had."""
        self._group = group
        self._pair = pair
        self._case = case
        self._clock = clock
        self._opened = pair.open(case.transport, case.wait)
        self._out = self._in = np.empty(0, dtype=np.uint8)
        together(group, self._allocate)

    def _allocate(self) -> None:
        if not self._pair.member:
            return
        self._out = host_memory.allocate(self._case.size, self._case.pages)
        if self._case.buffers == "same":
            self._in = self._out
        else:
            self._in = host_memory.allocate(self._case.size, self._case.pages)

    def run(self, sampler: Sampler | None, between: Callable[[int], None]) -> None:
        """Times what `sampler`, which is rank 0's, asks for, until it is content.

        Rank 0 calls `between` after each batch, with the nanoseconds that its timed part took.
        """
        while True:
            wanted = sampler.next() if sampler is not None else None
            batch: Batch | None = self._group.broadcast(wanted, Batch | None)
            if batch is None:
                return
            gathered = self._group.gather(self._take_part(batch), bytes)
            if gathered is not None and sampler is not None:
                times = np.frombuffer(gathered[self._pair.ranks[0]], dtype=np.int64)
                sampler.feed(times)
                between(int(times.sum()))

    def _take_part(self, batch: Batch) -> bytes:
        """This rank's part of a batch: the times of its samples, ns, on the initiator."""
        if self._opened is None:
            return b""
        try:
            if self._pair.initiates:
                return self._initiate(self._opened.endpoint, batch).tobytes()
            exchanges = batch.lead + batch.exchanges * batch.samples
            _native.pong(self._opened.endpoint, self._out, self._in, exchanges)
            return b""
        except OSError as error:
            raise self._failure(error.strerror or str(error)) from None
        except _native.MpiError as error:
            raise self._failure(f"MPI error {error}") from None

    def _initiate(self, endpoint: Any, batch: Batch) -> npt.NDArray[np.int64]:
        if batch.cold:
            time.sleep(_READY_SECONDS)
        stamps = np.zeros(batch.samples + 1, dtype=np.int64)
        _native.ping(
            endpoint,
            self._out,
            self._in,
            batch.lead,
            batch.exchanges,
            stamps,
            self._clock.source,
        )
        return self._clock.intervals(stamps)

    def _failure(self, reason: str) -> HalftripError:
        case = msgspec.to_builtins(self._case)
        what = f"{case['transport']} {case['pattern']} of {case['size']} bytes"
        return HalftripError(f"{what} failed on rank {self._group.rank}: {reason}")
