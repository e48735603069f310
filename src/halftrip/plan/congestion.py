"""Pairs of ranks that get in each other's way: incast to one host, then random pairs of hosts (as
GPCNeT's congestors: Chunduri et al., SC 2019)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from halftrip.errors import UsageError
from halftrip.plan.pairing import Pair
from halftrip.plan.plan import Plan

_FEWEST = 3
# A seed that a user types again is short.
_MOST_SEED = 1_000_000


def with_congestion(plan: Plan, hosts: tuple[str, ...]) -> tuple[Plan, tuple[str, ...]]:
    """A plan whose pairs are ``congestion`` with those that this means between `hosts`, and the
    host of each of its ranks; another plan as it is. Raises UsageError where there is no such."""
    if plan.pairs != "congestion":
        return plan, hosts
    if plan.ranks is not None:
        raise UsageError("congestion has ranks of its own on each host; leave out --ranks")
    seed = plan.pairs_seed
    if seed is None:
        seed = random.SystemRandom().randrange(_MOST_SEED)
    hosts, pairs = congested(hosts, seed)
    return msgspec.structs.replace(plan, hosts=hosts, pairs=pairs, pairs_seed=seed), hosts


def congested(hosts: Sequence[str], seed: int) -> tuple[tuple[str, ...], tuple[Pair, ...]]:
    """The host of each rank, and pairs, initiator and responder: in one round, a rank of each other
    host with one of the first; in the next, each host with another, so that each of them sends to
    one and receives from one. Which these are, `seed` says. Raises UsageError for fewer hosts than
    three."""
    names = list(dict.fromkeys(hosts))
    count = len(names)
    if count < _FEWEST:
        raise UsageError(f"congestion is between {_FEWEST} hosts or more; there are {count}")
    at_first = count - 1
    places = (names[0],) * at_first + tuple(name for name in names[1:] for _ in range(2))

    def sender(host: int) -> int:
        return at_first + 2 * (host - 1)

    incast = [(sender(host), host - 1) for host in range(1, count)]
    order = list(range(count))
    # A cycle through all hosts: none is its own partner.
    random.Random(seed).shuffle(order)  # noqa: S311 (nothing is kept secret by it)
    pairs = []
    for one, other in zip(order, [*order[1:], order[0]], strict=True):
        # Neither the rank with which the same host has a pair already, nor the one that sends.
        receives = 1 if order[order.index(0) - 1] == 1 else 0
        pairs.append(
            (
                1 - receives if one == 0 else sender(one),
                receives if other == 0 else sender(other) + 1,
            )
        )
    return places, (*incast, *pairs)
