"""The rows of a table: one for each case, summarised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.flags import Evidence, Flag, judge
from halftrip.analysis.summaries import count_marked, launch_components, over_all_time, usages
from halftrip.registry import TRANSPORTS
from halftrip.results.case import Case
from halftrip.results.delivery import Delivery, add_deliveries, delivered_share
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.results.usage import Usage
from halftrip.stats.summary import Summary
from halftrip.stats.variance import Components


class Row(NamedTuple):
    """A case and what a reader wants to know of it. `exchanges` is how many a sample holds, at
    most; `line` spans the cache-line round trips around its blocks, ns, in the state that it is of.

    `peer_bandwidth` is what the other end received, by its clock, bytes per second; None where it
    takes no times, where both send, and `over_all_time`. Where both send, `each_way` is what came
    there, and back, until all of a window had come. `verified` is how many messages were found to
    be as they were sent, None where nobody looked. `usage` is what it cost the initiator and the
    responder, None where no time passes, and `marked` how many samples were taken, as far as can be
    told, while one of them had lost its core, None where nothing is known of it. `launches` is how
    many it is of, and `components` by how much they differ.
    """

    case: Case
    summary: Summary
    exchanges: int
    line: tuple[float, float] | None
    flags: tuple[Flag, ...]
    peer_bandwidth: float | None
    each_way: tuple[float, float] | None
    delivery: Delivery | None
    verified: int | None
    usage: tuple[Usage, Usage] | None
    marked: int | None
    launches: int
    components: Components | None

    @property
    def delivered(self) -> float:
        """The share of the messages in the samples that arrived."""
        return delivered_share(self.case, self.delivery)

    @property
    def over_all_time(self) -> bool:
        """Whether the bandwidth is not that of the median window."""
        return over_all_time(self.case, self.delivery)

    @property
    def bandwidth(self) -> float:
        """Payload in all directions in which it is on its way at once, bytes per second, while both
        windows were under way."""
        return self.case.directions * self.summary.bandwidth

    @property
    def rate(self) -> float:
        """Messages per second that arrived, in all directions likewise; NaN where no time
        passed."""
        if self.over_all_time:
            return self.bandwidth / self.case.size
        latency = self.summary.latency
        return self.case.directions * self.delivered / latency * 1e9 if latency > 0 else math.nan


def rows(run: Run) -> list[Row]:
    """The rows of a run in the order of a table, whatever order they were measured in."""
    judged = sorted(judge(run), key=lambda item: _order(item[0].case))
    return [_row(evidence, flags) for evidence, flags in judged]


def _order(case: Case) -> tuple[Any, ...]:
    names = list(TRANSPORTS)
    place = names.index(case.transport) if case.transport in names else len(names)
    rest = msgspec.structs.astuple(case)
    path = (place, case.transport, case.company, case.pair, case.thread)
    kind = (case.pattern, case.mode, case.window, case.wait, case.buffers, case.pages, case.cache)
    return (*path, *kind, case.align, case.datatype, case.size, rest)


def _row(evidence: Evidence, flags: tuple[Flag, ...]) -> Row:
    case, measurements = evidence.case, evidence.measurements
    ends = evidence.probes
    # The other end's medians are of all states.
    one_state = evidence.known.main is None
    counted = [m.launch for m, t in zip(measurements, evidence.known.steady, strict=True) if t.size]
    return Row(
        case=case,
        summary=evidence.summary,
        exchanges=max(measurement.exchanges for measurement in measurements),
        line=(min(ends), max(ends)) if ends else None,
        flags=flags,
        peer_bandwidth=_peer_bandwidth(case, measurements) if one_state else None,
        each_way=_each_way(case, measurements) if one_state else None,
        delivery=add_deliveries(m.delivery for m in measurements),
        verified=_total([m.verified for m in measurements]),
        usage=usages(measurements),
        marked=count_marked(measurements),
        launches=len(set(counted)),
        components=launch_components(evidence.known),
    )


def _peer_bandwidth(case: Case, measurements: Sequence[Measurement]) -> float | None:
    # The receiver's median window is as little of the whole as the sender's.
    if case.directions == 2 or over_all_time(
        case, add_deliveries(m.delivery for m in measurements)
    ):
        return None
    return _bandwidth(case, [(m.peer_ns, m.exchanges) for m in measurements if m.peer_ns])


def _each_way(case: Case, measurements: Sequence[Measurement]) -> tuple[float, float] | None:
    known = [(m.arrival_ns, m.exchanges) for m in measurements if m.arrival_ns is not None]
    there = _bandwidth(case, [(ns[0], exchanges) for ns, exchanges in known])
    back = _bandwidth(case, [(ns[1], exchanges) for ns, exchanges in known])
    return None if there is None or back is None else (there, back)


def _bandwidth(case: Case, samples: list[tuple[float, int]]) -> float | None:
    """Of the median of the repetitions, each of which has a typical sample: how long it took, ns,
    and how many exchanges it holds."""
    messages = case.messages_per_exchange
    times = [ns / (exchanges * messages) for ns, exchanges in samples if ns > 0]
    return case.size / float(np.median(times)) * 1e9 if times else None


def _total(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
