"""What traffic beside a path does to messages over it: rows with it beside those without, and the
queue that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from halftrip.analysis.ranking import slower_than
from halftrip.analysis.rows import Row
from halftrip.plan.background import parsed
from halftrip.results.background import BackgroundTraffic
from halftrip.results.configuration import NO_BACKGROUND, Configuration
from halftrip.results.names import Names
from halftrip.results.patterns import SHAPES
from halftrip.stats.estimate import Estimate, difference

# What waits for the frame that is on its way, and for one more, waits in no queue, bytes.
_TWO_FRAMES = 3000
# Threads that spend more of their time than this wait for a core, not for a link.
_MOST_BUSY = 0.7


class Queue(NamedTuple):
    """By how much longer a round trip takes, ns, and how many bytes of payload pass meanwhile in
    each direction in which the background sends."""

    ns: Estimate
    bytes: Estimate


class UnderLoad(NamedTuple):
    """A row beside traffic, the same one without (`idle`), and how many times as long it takes,
    with a 95 % interval as far as both rows have one. `standing` is the queue that explains what
    the median message waits for, if one does, and `most` the one that nine of ten do not exceed
    (None: not known), which is the full one where something keeps it full. Rarer quantiles are of
    messages that were dropped, and sent again after a timeout."""

    row: Row
    idle: Row
    factor: Estimate
    standing: Queue | None
    most: Queue | None


def under_load(rows: Sequence[Row], names: Names) -> list[UnderLoad]:
    """The rows beside traffic of which there is one without, in their order; `names` are those of
    ranks."""
    known = {row.configuration: row for row in rows}
    found = []
    for row in rows:
        alone = known.get(without_traffic(row.configuration))
        if alone is None or alone is row:
            continue
        slower = slower_than(alone, row)
        if slower is not None:
            queues = _queues(row, alone) if is_between_hosts(row, names) else (None, None)
            found.append(UnderLoad(row, alone, slower.factor, *queues))
    return found


def without_traffic(configuration: Configuration) -> Configuration:
    return msgspec.structs.replace(configuration, background=NO_BACKGROUND)


def is_between_hosts(row: Row, names: Names) -> bool:
    """Whether its ranks are on two hosts: what makes messages wait within one is no queue."""
    return len({names.hosts.get(rank) for rank in row.configuration.pair}) > 1


def _queues(row: Row, idle: Row) -> tuple[Queue | None, Queue | None]:
    traffic, beside = row.traffic, parsed(row.configuration.background)
    if traffic is None or beside is None or row.configuration.is_rate:
        return None, None
    shape = SHAPES[beside.pattern]
    directions = shape.initiator + shape.responder
    trips = row.configuration.messages_per_iteration
    standing, most = (
        implied_queue(idle.summary.time, time, trips, traffic, directions)
        for time in (row.summary.time, row.summary.p90)
    )
    return standing, most


def implied_queue(
    idle: Estimate, loaded: Estimate, trips: int, traffic: BackgroundTraffic, directions: int = 1
) -> Queue | None:
    """The queue that makes messages wait beside `traffic`, which is sent in so many `directions`;
    `idle` and `loaded` are times one way, ns, of which a round trip has so many `trips`. None where
    chance, or two frames, or threads that wait for a core, explain what is longer."""
    longer = difference(loaded, idle).scaled(trips)
    queued = longer.scaled(traffic.bandwidth / directions * 1e-9)
    if traffic.load > _MOST_BUSY or not queued.low > _TWO_FRAMES:
        return None
    return Queue(longer, queued)
