"""The rows of a table: one for each case, summarised."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halftrip.model import (
    Case,
    Delivery,
    Measurement,
    Run,
    add_deliveries,
    delivered_share,
    summarize_case,
)
from halftrip.registry import TRANSPORTS
from halftrip.stats.summary import Summary
from halftrip.verdict import Flag, flags


class Row(NamedTuple):
    """A case and what a reader wants to know of it. `exchanges` is how many a sample holds, at
    most; `line` spans the cache-line round trips around its repetitions, ns.

    `peer_bandwidth` is what the other end's clock says, bytes per second: of what it received, or,
    where both send, of what it sent; None where it takes no times, and at a rate. `verified` is how
    many messages were found to be as they were sent, None where nobody looked.
    """

    case: Case
    summary: Summary
    exchanges: int
    line: tuple[float, float] | None
    flags: tuple[Flag, ...]
    peer_bandwidth: float | None
    delivery: Delivery | None
    verified: int | None

    @property
    def delivered(self) -> float:
        """The share of the messages in the samples that arrived."""
        return delivered_share(self.case, self.delivery)

    @property
    def bandwidth(self) -> float:
        """Payload in all directions in which it is on its way at once, bytes per second: where
        there are two, each by the clock of its sender, if it takes times."""
        there = self.summary.bandwidth
        if self.case.directions == 1:
            return there
        return there + (there if self.peer_bandwidth is None else self.peer_bandwidth)

    @property
    def rate(self) -> float:
        """Messages per second that arrived, in all directions likewise; NaN where no time
        passed."""
        if self.case.rate is not None:
            return self.bandwidth / self.case.size
        latency = self.summary.latency
        return self.case.directions * self.delivered / latency * 1e9 if latency > 0 else math.nan


def rows(run: Run) -> list[Row]:
    """The rows of a run in the order of a table, whatever order they were measured in."""
    cases = sorted(run.by_case.items(), key=lambda item: _order(item[0]))
    return [_row(run, case, measurements) for case, measurements in cases]


def _order(case: Case) -> tuple[Any, ...]:
    names = list(TRANSPORTS)
    place = names.index(case.transport) if case.transport in names else len(names)
    rest = msgspec.structs.astuple(case)
    path = (place, case.transport, case.company, case.pair, case.thread)
    kind = (case.pattern, case.mode, case.window, case.wait, case.buffers, case.pages, case.cache)
    return (*path, *kind, case.align, case.datatype, case.size, rest)


def _row(run: Run, case: Case, measurements: list[Measurement]) -> Row:
    ends = [end for m in measurements if m.line for end in (m.line.before, m.line.after)]
    return Row(
        case=case,
        summary=summarize_case(measurements),
        exchanges=max(measurement.exchanges for measurement in measurements),
        line=(min(ends), max(ends)) if ends else None,
        flags=flags(run, measurements),
        peer_bandwidth=_peer_bandwidth(case, measurements),
        delivery=add_deliveries(m.delivery for m in measurements),
        verified=_total([m.verified for m in measurements]),
    )


def _peer_bandwidth(case: Case, measurements: list[Measurement]) -> float | None:
    if case.rate is not None:
        # The median of windows, of which many go faster than the rate.
        return None
    messages = case.messages_per_exchange
    times = [m.peer_ns / (m.exchanges * messages) for m in measurements if m.peer_ns]
    share = delivered_share(case, add_deliveries(m.delivery for m in measurements))
    return case.size * share / float(np.median(times)) * 1e9 if times else None


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
