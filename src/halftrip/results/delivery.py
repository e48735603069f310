"""How many datagrams arrived, were lost, or came out of order."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from halftrip.results.bounds import Amount, Count
from halftrip.results.configuration import Configuration


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of datagrams: `sent`, `lost` (never received) and `reordered` (received after one that
    was sent later). In a ping-pong, replies are lost or reordered. `jitter` is the interarrival
    jitter of RFC 3550 after the last datagram, ns; None where it is not measured, as without a
    rate."""

    sent: Count
    lost: Count
    reordered: Count
    jitter: Amount | None = None


def add_deliveries(deliveries: Iterable[Delivery | None]) -> Delivery | None:
    """The sum of the known ones, None if none is; the jitter is the last known one."""
    known = [delivery for delivery in deliveries if delivery is not None]
    if not known:
        return None
    jitters = [delivery.jitter for delivery in known if delivery.jitter is not None]
    return Delivery(
        sent=sum(delivery.sent for delivery in known),
        lost=sum(delivery.lost for delivery in known),
        reordered=sum(delivery.reordered for delivery in known),
        jitter=jitters[-1] if jitters else None,
    )


def delivered_share(configuration: Configuration, delivery: Delivery | None) -> float:
    """The share of the messages in the samples that arrived, 0 to 1. Only a stream can have less
    than 1: its samples include lost messages; a lost iteration of a ping-pong is no sample."""
    if delivery is None or not delivery.sent or not configuration.is_rate:
        return 1.0
    return 1.0 - delivery.lost / delivery.sent
