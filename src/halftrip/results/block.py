"""A block: the samples of one kernel call, with what was observed around it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.results.delivery import Delivery
from halftrip.results.usage import Usage

Times = npt.NDArray[np.int64]

NO_TIMES: Times = np.empty(0, dtype=np.int64)
NO_TIMES.flags.writeable = False


class RoundTrips(NamedTuple):
    """The core-to-core round trip of a cache line just before a block and just after it, ns."""

    before: float
    after: float


class Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """All arrays have shape (n,), for n samples, in ns and in time order; an empty one was not
    taken.

    `times` are the initiator's, and the first sample began at `start`, ns of its
    CLOCK_MONOTONIC_RAW (None: not known). `peer_times` are the times of the same samples by the
    responder's clock. Where a window goes each way, `receive_times` and `peer_receive_times` are
    the times until the last receive of a sample completed, at the initiator and at the responder.

    `cache_line_rtt` is None between hosts, and where cores are shared. Where messages can be lost,
    `timed_out` is how long, ns, was waited for replies that did not come, and `delivery` counts
    the messages. `usage` is what the initiator and the responder spent; None in virtual time.
    """

    times: Times
    start: int | None = None
    peer_times: Times = NO_TIMES
    receive_times: Times = NO_TIMES
    peer_receive_times: Times = NO_TIMES
    cache_line_rtt: RoundTrips | None = None
    timed_out: int = 0
    delivery: Delivery | None = None
    usage: tuple[Usage, Usage] | None = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Block):
            return NotImplemented
        pairs = ((getattr(self, name), getattr(other, name)) for name in self.__struct_fields__)
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    @property
    def elapsed(self) -> int:
        """The time of the samples and of what timed out, ns."""
        return int(self.times.sum()) + self.timed_out


def concatenate(arrays: Iterable[Times]) -> Times:
    """All of them as one, shape (n,)."""
    parts = [array for array in arrays if array.size]
    return np.concatenate(parts) if parts else NO_TIMES


def encode_array(value: Any) -> Any:
    """What msgspec is to write for an array: a list of whole numbers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} cannot be written")


def decode_array(_: type, value: Any) -> Any:
    """The array that msgspec has read as a list. Raises ValueError if it is none of whole
    numbers."""
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise ValueError("expected an array of whole numbers")
    return np.array(value, dtype=np.int64)


def median_or_none(arrays: Sequence[Times]) -> float | None:
    """The median of all of them together; None where there is nothing."""
    values = concatenate(arrays)
    return float(np.median(values)) if values.size else None
