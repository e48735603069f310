"""A block: the samples of one kernel call, and what was recorded before and after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from halftrip.results.bounds import LONGEST_NS, Change, Ns, WholeNs
from halftrip.results.counts import Delivery
from halftrip.results.usage import Usage
from halftrip.stats.median import median

Times = npt.NDArray[np.int64]

NO_TIMES: Times = np.empty(0, dtype=np.int64)
NO_TIMES.flags.writeable = False


class RoundTrips(NamedTuple):
    """The core-to-core round trip of a cache line just before a block and just after it, ns."""

    before: Ns
    after: Ns


class Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, eq=False):
    """The samples of one kernel call. An array has shape (n,), one value per sample, in ns and in
    time order; it is empty where these times were not taken.

    `times` are the initiator's; the first sample began at `start`, ns of its CLOCK_MONOTONIC_RAW
    (None: not known). `peer_times` are the times of the same samples by the responder's clock.
    Where a window goes each way, `receive_times` and `peer_receive_times` are the times until the
    last receive of a sample completed, at the initiator and at the responder. Where the responder
    of a ping-pong says when messages arrived, `arrivals` are the times from one arrival to the
    next, by its clock; the first from `peer_start`, ns of its CLOCK_MONOTONIC_RAW, when the last
    message before the samples arrived. `end` is then when the last sample ended, on the clock of
    `start`.

    `core_to_core_rtt` is None where it cannot be probed: between hosts, on a shared core, and of
    threads other than the first. It is that of the nearest of some pages, as each page has a level
    of its own; `core_to_core_farthest` is that of the farthest. Where messages can be lost,
    `timed_out` is the time, ns, spent waiting for replies that did not arrive, and `delivery`
    counts the messages. `usage` is the resource usage of the initiator and the responder; None in
    virtual time.
    """

    times: Times
    start: Change | None = None
    peer_times: Times = NO_TIMES
    receive_times: Times = NO_TIMES
    peer_receive_times: Times = NO_TIMES
    end: Change | None = None
    peer_start: Change | None = None
    arrivals: Times = NO_TIMES
    core_to_core_rtt: RoundTrips | None = None
    core_to_core_farthest: RoundTrips | None = None
    timed_out: WholeNs = 0
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
        """The time of all samples and of the timeouts, ns."""
        return int(self.times.sum()) + self.timed_out


def concatenate(arrays: Iterable[Times]) -> Times:
    """The arrays, one after the other, shape (n,)."""
    parts = [array for array in arrays if array.size]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else NO_TIMES


def encode_array(value: Any) -> Any:
    """msgspec's hook for writing: an array becomes a list of whole numbers."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} cannot be written")


def decode_array(_: type, value: Any) -> Any:
    """msgspec's hook for reading: a list of times becomes an array. Raises ValueError for anything
    else."""
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise ValueError("expected an array of whole numbers")
    return whole_numbers(value)


def whole_numbers(values: list[int]) -> Times:
    """An array of these times, ns. Raises ValueError if they are no times of a block."""
    try:
        times = np.array(values, dtype=np.int64)
    except OverflowError:
        raise ValueError("expected whole numbers of 64 bits") from None
    # Of the list, as numpy takes longer to be called than to look at a few times.
    if values and (min(values) < 0 or sum(values) > LONGEST_NS):
        raise ValueError(f"expected times of 0 to {LONGEST_NS:,} ns, all together")
    return times


def median_or_none(arrays: Sequence[Times]) -> float | None:
    """The median of the values of all arrays together; None if all are empty."""
    values = concatenate(arrays)
    return median(values) if values.size else None
