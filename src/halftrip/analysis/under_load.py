"""What traffic beside a path does to messages over it: rows with it beside those without, and the
queue that they imply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.ranking import slower_than
from halftrip.analysis.rows import Row
from halftrip.plan.background import parsed
from halftrip.results.background import BackgroundTraffic
from halftrip.results.configuration import NO_BACKGROUND, Configuration
from halftrip.results.names import Names
from halftrip.results.patterns import SHAPES
from halftrip.stats.estimate import Estimate, difference
from halftrip.stats.quantile import Floats, quantile_of_ordered, tails

# What waits for the frame that is on its way, and for one more, waits in no queue, bytes.
_TWO_FRAMES = 3000
# TCP sends again what was lost no sooner than this, nor than a round trip, after it was sent (RFC
# 6298; Linux's TCP_RTO_MIN, ns).
_TIMEOUT = 200e6
# Of so many messages, p90 is not by chance the longest.
_FEWEST_FOR_P90 = 10
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
    of p99, p90 and the longest, that of the name `full_by`; of few messages it has no interval. It
    is told without the messages `sent_again`: the share of those that a queue dropped, which then
    waited for a timeout, too."""

    row: Row
    idle: Row
    factor: Estimate
    standing: Queue | None
    full: Queue | None
    full_by: str
    sent_again: float


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


_NO_QUEUES = (None, None, "", 0.0)


def _queues(row: Row, idle: Row) -> tuple[Queue | None, Queue | None, str, float]:
    traffic, beside = row.traffic, parsed(row.configuration.background)
    if traffic is None or beside is None or row.configuration.is_rate:
        return _NO_QUEUES
    shape, summary = SHAPES[beside.pattern], row.summary
    directions = shape.initiator + shape.responder
    trips = row.configuration.messages_per_iteration
    standing = implied_queue(idle.summary.time, summary.time, trips, traffic, directions)
    if standing is None or not summary.max > 0:
        return standing, None, "", 0.0
    parts, sent_again = _in_time(row, trips)
    p90, p99 = tails(parts, (0.9, 0.99))
    late = {"p99": p99, "p90": p90}
    name = next((name for name, time in late.items() if time.value > 0), "")
    if not name:
        # The longest of many may have waited for something else, too.
        every = np.sort(np.concatenate(parts))
        name, share = ("p90", 0.9) if every.size >= _FEWEST_FOR_P90 else ("longest", 1.0)
        late[name] = Estimate(quantile_of_ordered(every, share))
    full = _waiting(idle.summary.time, late[name], trips, traffic, directions)
    return standing, full, name, sent_again


def _in_time(row: Row, trips: int) -> tuple[list[Floats], float]:
    """The times of its slices, ns, without those of messages that were lost and sent again, and the
    share of these: above the median, where the next longer time is more by a timeout and twice as
    long. A queue fills more steadily, as other messages find it in between."""
    part = next((each for each in row.measured.parts if row.state and each.word == row.state.word),
                row.measured.whole)  # fmt: skip
    parts = row.measured.times_of(part).steady
    ordered = np.sort(np.concatenate(parts))
    upper = ordered[ordered.size // 2 :]
    is_gap = (upper[1:] - upper[:-1]) * trips >= np.maximum(_TIMEOUT, upper[:-1] * trips)
    if not is_gap.any():
        return parts, 0.0
    longest = upper[int(is_gap.argmax())]
    kept = [each[each <= longest] for each in parts]
    return [each for each in kept if each.size], float(np.mean(ordered > longest))


def implied_queue(
    idle: Estimate, loaded: Estimate, trips: int, traffic: BackgroundTraffic, directions: int = 1
) -> Queue | None:
    """The queue that makes messages wait beside `traffic`, which is sent in so many `directions`;
    `idle` and `loaded` are times one way, ns, of which a round trip has so many `trips`. None where
    chance, or two frames, or threads that wait for a core, explain what is longer."""
    found = _waiting(idle, loaded, trips, traffic, directions)
    return None if is_busy(traffic) or not found.bytes.low > _TWO_FRAMES else found


def is_busy(traffic: BackgroundTraffic) -> bool:
    """Whether messages may have waited for a core of its threads, which tells of no queue."""
    return traffic.load > _MOST_BUSY


def _waiting(
    idle: Estimate, loaded: Estimate, trips: int, traffic: BackgroundTraffic, directions: int
) -> Queue:
    longer = difference(loaded, idle).scaled(trips)
    return Queue(longer, longer.scaled(traffic.bandwidth / directions * 1e-9))
