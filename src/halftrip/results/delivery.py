"""What became of datagrams, which can be lost."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from halftrip.results.case import Case


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of datagrams: how many were `sent`, `lost`, which is that they never came, and
    `late`, which is that they came after one that was sent later. In a ping-pong, what is lost or
    late is the answer to one. `jitter` is that of RFC 3550, ns, at the end; None where a datagram
    has no room to say when it was sent."""

    sent: int
    lost: int
    late: int
    jitter: float | None = None


def add_deliveries(those: Iterable[Delivery | None]) -> Delivery | None:
    """What became of all together; the jitter is that of the last that has one."""
    total = None
    for one in those:
        if total is None or one is None:
            total = one or total
            continue
        total = Delivery(
            sent=total.sent + one.sent,
            lost=total.lost + one.lost,
            late=total.late + one.late,
            jitter=total.jitter if one.jitter is None else one.jitter,
        )
    return total


def delivered_share(case: Case, delivery: Delivery | None) -> float:
    """The share of the messages in the samples that arrived, 0 to 1: all but in a stream, whose
    samples are as long as they are whatever got lost; an exchange of a ping-pong that got lost is
    no sample."""
    if delivery is None or not delivery.sent or not case.is_rate:
        return 1.0
    return 1.0 - delivery.lost / delivery.sent
