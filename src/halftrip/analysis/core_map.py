"""The cores of a run that has a rank on each, and what they share, as the kernel tells."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from halftrip.results.records import Environment
from halftrip.results.run import Run

SIBLINGS, NODE = "SMT siblings", "NUMA node"


class Shared(NamedTuple):
    """What cores share, as ``L3 cache``, and the ranks on cores that share each one, in order of
    the map."""

    name: str
    groups: tuple[tuple[int, ...], ...]


def cores_of(run: Run) -> dict[int, int]:
    """The core of each rank, in order of what they share, where the plan has a core for each rank
    of one host; else empty: it is ranks that were compared."""
    if not isinstance(run.header.plan.get("cores"), list | tuple):
        return {}
    first = {each.rank: each for each in reversed(run.environments)}
    found = {rank: each.core for rank, each in first.items() if each.core is not None}
    hosts = {each.host for each in run.environments}
    if len(hosts) != 1 or not len(set(found.values())) == len(found) == len(first):
        return {}
    keys = _keys(run, first)
    by_size = [*reversed(keys)]

    def place(rank: int) -> tuple[object, ...]:
        return (*(keys[name].get(rank, ()) for name in by_size), found[rank])

    return {rank: found[rank] for rank in sorted(found, key=place)}


def shared(run: Run) -> list[Shared]:
    """What only some of the cores of `cores_of` share, from what the fewest do. What the same ones
    share stands together."""
    cores = cores_of(run)
    keys = _keys(run, {each.rank: each for each in reversed(run.environments)})
    found: dict[tuple[tuple[int, ...], ...], str] = {}
    for name, of_rank in keys.items():
        groups: dict[Hashable, list[int]] = {}
        for rank in cores:
            if rank in of_rank:
                groups.setdefault(of_rank[rank], []).append(rank)
        key = tuple(map(tuple, groups.values()))
        if not 1 < len(key) < len(cores) or sum(map(len, key)) < len(cores):
            continue
        if found.get(key) != SIBLINGS:
            # All that is within a physical core is its threads'.
            found[key] = f"{found[key]} and {name}" if key in found else name
    return [Shared(name, groups) for groups, name in found.items()]


def _keys(run: Run, first: Mapping[int, Environment]) -> dict[str, dict[int, tuple[int, ...]]]:
    """What tells which of each kind a rank's core has, by its name, the smallest first."""
    caches: dict[str, dict[int, tuple[int, ...]]] = {}
    for each in run.thresholds:
        if each.acts == "cache" and each.cores:
            of_ranks = caches.setdefault(each.name.removeprefix("the "), {})
            of_ranks.setdefault(each.rank, tuple(each.cores))
    return {
        SIBLINGS: {
            rank: tuple(each.siblings) for rank, each in first.items() if each.siblings is not None
        },
        **dict(sorted(caches.items())),
        NODE: {rank: (each.node,) for rank, each in first.items() if each.node is not None},
    }
