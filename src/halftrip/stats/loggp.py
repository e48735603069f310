"""The parameters of LogGP from the times of ping-pongs and streams, with and without delays.

LogGP (A. Alexandrov, M. Ionescu, K. Schauser and C. Scheiman, LogGP: Incorporating Long Messages
into the LogP Model, SPAA 1995): a message of s bytes takes o_s + L + (s - 1) G + o_r one way. Both
ends are busy for o_s and o_r, the path takes L for the first byte and G for each further one, and
two messages begin at least g + (s - 1) G apart.

They are told as D. Culler, L. Liu, R. Martin and C. Yoshikawa (Assessing Fast Network Interfaces,
IEEE Micro 16, 1996) and T. Hoefler, A. Lichei and W. Rehm (Low-Overhead LogGP Parameter Assessment
for Modern Interconnection Networks, IPDPS workshops, 2007) do: the sender computes for a delay d
between its calls, which hides all but its own overheads. As with T. Kielmann, H. Bal and
K. Verstoep (Fast Measurement of LogP Parameters for Message Passing Platforms, IPDPS workshops,
2000), overheads are functions of the size. Here the last message of a stream is acknowledged, which
takes the same with few messages and with many, so that it cancels.

Times are ns, sizes bytes. Each figure is a sum of times that were measured one by one, so that its
interval is made of theirs (`estimate.combined`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.stats.estimate import Estimate, combined, linear_fit

# A line through two sizes has nothing left that says whether it is one.
FEWEST_SIZES = 3


class StreamTimes(NamedTuple):
    """The times of two windows of messages of `size` bytes, each with its acknowledgement: `more`
    is that of the one which has so many `messages` more than the one of `fewer`. A window with
    delays is compared with one of a single message, or with one that has the same delays: in that,
    the last message finds the path as idle."""

    size: int
    fewer: Estimate
    more: Estimate
    messages: int

    def between(self, delay: float = 0.0) -> Estimate:
        """The time from one message to the next, less `delay`: (T(n) - T(m)) / (n - m) - delay."""
        share = 1.0 / self.messages
        return combined([(share, self.more), (-share, self.fewer)], -delay)


class Gaps(NamedTuple):
    """The line g + (s - 1) G through the times between messages: `gap` is g, `per_byte` is G.
    `misfit` is by which factor a time is surely off the line at most, at `misfit_at` bytes."""

    gap: Estimate
    per_byte: Estimate
    misfit: float
    misfit_at: int


def both_overheads(delayed: Estimate, delay: float) -> Estimate:
    """o_s + o_r of a ping-pong whose initiator computes for `delay` before it receives: it takes
    o_s + d + o_r, if the reply is there by then."""
    return delayed.scaled(1.0, -delay)


def send_overhead(delayed: StreamTimes, delay: float) -> Estimate:
    """o_s of a stream whose initiator computes for `delay` between its sends: there is a message
    every o_s + d, if the delay is longer than the gap."""
    return delayed.between(delay)


def receive_overhead(
    pingpong: Estimate, pingpong_delay: float, stream: StreamTimes, stream_delay: float
) -> Estimate:
    """o_r: both overheads less o_s."""
    both = both_overheads(pingpong, pingpong_delay)
    return combined([(1.0, both), (-1.0, send_overhead(stream, stream_delay))])


def latency(half: Estimate, both: Estimate, size: int, per_byte: Estimate | None) -> Estimate:
    """L: half a round trip of `size` bytes less o_s + o_r, and less G for each byte but the first.
    `per_byte` None: G is not known, and what it takes is left in L."""
    bytes_ = [] if per_byte is None else [(-float(max(size - 1, 0)), per_byte)]
    return combined([(1.0, half), (-1.0, both), *bytes_])


def gaps(streams: Sequence[StreamTimes]) -> Gaps:
    """The line through the times between messages of streams without delays, of at least
    FEWEST_SIZES sizes, each once (`linear_fit`). Raises ValueError where a time is not above 0, or
    where there are too few.
    """
    times = [each.between() for each in streams]
    if len(streams) < FEWEST_SIZES or not min(each.value for each in times) > 0:
        raise ValueError("a line needs three sizes, and times above 0")
    factors = np.array([(1.0, max(each.size - 1, 0)) for each in streams])
    found = linear_fit(factors, times)
    misfits = found.misfits(times)
    worst = max(misfits)
    gap, per_byte = found.parameters
    return Gaps(gap, per_byte, worst, streams[misfits.index(worst)].size)
