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
    the median message waits for, if one does, and `full` what the last quantile does that is known:
    of p99, p90 and the longest, which has no interval, that of the name `full_by`."""

    row: Row
    idle: Row
    factor: Estimate
    standing: Queue | None
    full: Queue | None
    full_by: str


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
            queues = _queues(row, alone) if is_between_hosts(row, names) else _NO_QUEUES
            found.append(UnderLoad(row, alone, slower.factor, *queues))
    return found


def without_traffic(configuration: Configuration) -> Configuration:
    return msgspec.structs.replace(configuration, background=NO_BACKGROUND)


def is_between_hosts(row: Row, names: Names) -> bool:
    """Whether its ranks are on two hosts: what makes messages wait within one is no queue."""
    return len({names.hosts.get(rank) for rank in row.configuration.pair}) > 1


_NO_QUEUES = (None, None, "")


def _queues(row: Row, idle: Row) -> tuple[Queue | None, Queue | None, str]:
    traffic, beside = row.traffic, parsed(row.configuration.background)
    if traffic is None or beside is None or row.configuration.is_rate:
        return _NO_QUEUES
    shape, summary = SHAPES[beside.pattern], row.summary
    directions = shape.initiator + shape.responder
    trips = row.configuration.messages_per_iteration
    standing = implied_queue(idle.summary.time, summary.time, trips, traffic, directions)
    late = {"p99": summary.p99, "p90": summary.p90, "longest": Estimate(summary.max)}
    name = next((name for name, time in late.items() if time.value > 0), "")
    if standing is None or not name:
        return standing, None, ""
    return standing, _waiting(idle.summary.time, late[name], trips, traffic, directions), name


def implied_queue(
    idle: Estimate, loaded: Estimate, trips: int, traffic: BackgroundTraffic, directions: int = 1
) -> Queue | None:
    """The queue that makes messages wait beside `traffic`, which is sent in so many `directions`;
    `idle` and `loaded` are times one way, ns, of which a round trip has so many `trips`. None where
    chance, or two frames, or threads that wait for a core, explain what is longer."""
    found = _waiting(idle, loaded, trips, traffic, directions)
    return None if traffic.load > _MOST_BUSY or not found.bytes.low > _TWO_FRAMES else found


def _waiting(
    idle: Estimate, loaded: Estimate, trips: int, traffic: BackgroundTraffic, directions: int
) -> Queue:
    longer = difference(loaded, idle).scaled(trips)
    return Queue(longer, longer.scaled(traffic.bandwidth / directions * 1e-9))
