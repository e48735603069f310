"""Which host, or which link between two, is slow: by the pairs that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.additive import Effect, fit, suspects
from halftrip.stats.median import median

# Of fewer hosts, a slow one cannot be told from a slow link.
_FEWEST_HOSTS = 3


class Suspect(NamedTuple):
    """A host, or the link between two, on which messages take longer: `effect` says how many times
    as long, with an interval and a probability. `links` is how many of a host's were measured."""

    hosts: tuple[str, ...]
    effect: Effect
    links: int


def slow_parts(run: Run, configurations: Iterable[Configuration]) -> list[Suspect] | None:
    """The slow hosts and links, the slowest first, by configurations that differ only in their
    pairs; None where there are too few hosts to tell.

    The times of a link are the medians of the slices of all pairs between its two hosts, in either
    direction.
    """
    where = {each.rank: each.host for each in run.environments}
    hosts = sorted(set(where.values()))
    found: dict[tuple[int, int], list[float]] = {}
    for configuration in configurations:
        first, second = (where.get(rank) for rank in configuration.pair)
        if first is None or second is None or first == second:
            continue
        ends = sorted((hosts.index(first), hosts.index(second)))
        found.setdefault((ends[0], ends[1]), []).extend(_slice_medians(run, configuration))
    known = {link: np.array(times) for link, times in found.items() if times}
    linked = {host for link in known for host in link}
    if len(linked) < _FEWEST_HOSTS:
        return None
    return _named(known, hosts)


def _named(
    known: Mapping[tuple[int, int], np.ndarray[tuple[int], np.dtype[np.float64]]],
    hosts: list[str],
) -> list[Suspect]:
    return [
        Suspect(tuple(hosts[host] for host in each.hosts), each.effect, each.links)
        for each in suspects(fit(known))
    ]


def _slice_medians(run: Run, configuration: Configuration) -> list[float]:
    """The median one-way time of each slice, ns."""
    return [
        median(np.concatenate(measurement.one_way_blocks))
        for measurement in run.by_configuration.get(configuration, [])
        if measurement.samples.size
    ]
