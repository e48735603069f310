"""Which pairs of ranks talk when, and on which cores: each depends on the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from halftrip.plan.pairing import AtOnce, Schedules
from halftrip.plan.plan import Plan
from halftrip.telemetry import topology


def scheduled(
    plan: Plan,
    views: Sequence[topology.CoreView],
    hosts: Sequence[str],
    absent: Collection[int] = (),
) -> tuple[Schedules, list[list[topology.Place]]]:
    """Who talks when, and the places of every rank's threads. Pairs that are to share no cache are
    known when ranks have their places: these are then as if all pairs talked at once. Raises
    UsageError or Unavailable."""
    limits: tuple[AtOnce, ...] = ("all",) if "caches" in plan.limits else plan.limits
    schedule = Schedules(len(views), plan.pairs, limits, hosts, absent)
    chosen = places(plan, views, schedule.pairs_of(0))
    if limits != plan.limits:
        caches = [view.caches(each) for view, each in zip(views, chosen, strict=True)]
        schedule = Schedules(len(views), plan.pairs, plan.limits, hosts, absent, caches)
    return schedule, chosen


def places(
    plan: Plan, views: Sequence[topology.CoreView], first: Sequence[tuple[int, int]]
) -> list[list[topology.Place]]:
    """The places of every rank's threads, by rank. Threads that talk in the `first` round are
    placed side by side. Raises UsageError or Unavailable for cores that cannot be used."""
    threads = plan.threads
    order = [
        rank * threads + thread for pair in first for thread in range(threads) for rank in pair
    ]
    rest = [slot for slot in range(len(views) * threads) if slot not in order]
    each = [view for view in views for _ in range(threads)]
    roles = {rank: role for pair in first for role, rank in enumerate(pair)}
    of_slots = [roles.get(rank, 0) for rank in range(len(views)) for _ in range(threads)]
    found = topology.place(each, plan.cores, [*order, *rest], threads, of_slots)
    return [found[rank * threads : (rank + 1) * threads] for rank in range(len(views))]
