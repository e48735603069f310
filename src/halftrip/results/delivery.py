"""What became of datagrams, which can be lost."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from halftrip.results.case import Case


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of datagrams: how many were `sent`, how many were `lost` (never received), and
    how many were `late` (received after one that was sent later). In a ping-pong, replies are lost
    or late. `jitter` is that of RFC 3550 at the end, ns; None where it is not measured, as without
    a rate."""

    sent: int
    lost: int
    late: int
    jitter: float | None = None


def add_deliveries(deliveries: Iterable[Delivery | None]) -> Delivery | None:
    """The sum of those that are known; the jitter is that of the last one that has any."""
    known = [delivery for delivery in deliveries if delivery is not None]
    if not known:
        return None
    jitters = [delivery.jitter for delivery in known if delivery.jitter is not None]
    return Delivery(
        sent=sum(delivery.sent for delivery in known),
        lost=sum(delivery.lost for delivery in known),
        late=sum(delivery.late for delivery in known),
        jitter=jitters[-1] if jitters else None,
    )


def delivered_share(case: Case, delivery: Delivery | None) -> float:
    """The share of the messages in the samples that arrived, 0 to 1. Below 1 only in a stream: its
    samples last as long whatever was lost, while a lost exchange of a ping-pong is no sample."""
    if delivery is None or not delivery.sent or not case.is_rate:
        return 1.0
    return 1.0 - delivery.lost / delivery.sent
