"""Which host, or which link between two, is slow: by the pairs that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.additive import Effect, fit, suspects
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

# Among fewer hosts, a slow one cannot be told from a slow link.
FEWEST_HOSTS = 3
# With a suspected link, this many other links of each of its hosts are measured again.
_PARTNERS = 4
# The standard deviation of the logarithms of healthy links with which what is slow is still told
# from them. With twice that, the slowest takes 1.5 times as long as the fastest (uniform:
# exp(0.12 * sqrt(12))).
_MOST_SPREAD = 0.06
# If a host could take more than this many times as long without being found, none is called well.
_MOST_HIDDEN = 1.5
# Up to this many links, all are measured again, as the network may have become busier or quieter.
_FEW_LINKS = 30


class Suspect(NamedTuple):
    """A host, or the link between two, on which messages take longer: `effect` says how many times
    as long, with an interval and a probability. `links` is how many of a host's were measured.
    `again`: it was found by the first times, and again by those of --retest, which alone count."""

    hosts: tuple[str, ...]
    effect: Effect
    links: int
    again: bool = False


def slow_parts(run: Run, configurations: Iterable[Configuration]) -> list[Suspect] | None:
    """The slow hosts and links, the slowest first, by configurations that differ only in their
    pairs; None where it cannot be told: there are too few hosts, or none is found while all links
    differ so much, as on a busy machine, that a slow one could hide among them.

    The times of a link are the medians of the slices of all pairs between its two hosts, in either
    direction.
    """
    by_link = _by_link(run, configurations)
    known, hosts = _times(run, by_link)
    if len({host for link in known for host in link}) < FEWEST_HOSTS:
        return None
    explained = fit(known)
    slow = suspects(explained)
    hidden = max(node.high for node in explained.nodes.values())
    if not slow and (explained.spread > _MOST_SPREAD or hidden > _MOST_HIDDEN):
        return None
    found = [(tuple(hosts[host] for host in each.hosts), each) for each in slow]
    before = _found_before(run, by_link) if found else set()
    return [Suspect(names, each.effect, each.links, names in before) for names, each in found]


def slow_by_setting(
    run: Run, configurations: Iterable[Configuration]
) -> list[tuple[Configuration, list[Suspect] | None]]:
    """What `slow_parts` finds by the configurations of each setting."""
    return [(group[0].setting, slow_parts(run, group)) for group in judged(configurations)]


def host_factors(run: Run, configurations: Iterable[Configuration]) -> dict[str, float]:
    """How many times as long messages take on the links of each host as on those of a usual one, by
    what `slow_parts` names hosts by; without those of which nothing can be told."""
    known, hosts = _times(run, _by_link(run, configurations))
    return _factors(known, hosts)


def factors_by(costs: Mapping[tuple[str, str], Iterable[float]]) -> dict[str, float]:
    """The same by any cost of each link, above 0, such as the inverse of its bandwidth, by the
    names of its hosts."""
    hosts = sorted({host for link in costs for host in link})
    known: dict[tuple[int, int], Floats] = {}
    for link, values in costs.items():
        one, other = sorted(map(hosts.index, link))
        found = _positive(values)
        if one != other and found.size:
            known[one, other] = found
    return _factors(known, hosts)


def _factors(known: Mapping[tuple[int, int], Floats], hosts: Sequence[str]) -> dict[str, float]:
    if len({host for link in known for host in link}) < FEWEST_HOSTS:
        return {}
    nodes = fit(known).nodes.items()
    return {hosts[n]: effect.factor for n, effect in nodes if math.isfinite(effect.high)}


def suspect_rows(run: Run) -> list[Configuration]:
    """The rows to measure again before slow hosts and links are named: all links, if they are few;
    else those of each suspected host, and each suspected link with some others of both its hosts,
    which lead to hosts that are not suspected."""
    found: dict[Configuration, None] = {}
    for configurations in judged(run.by_configuration):
        suspected = slow_parts(run, configurations) or ()
        by_link = _by_link(run, configurations)
        if suspected and len(by_link) <= _FEW_LINKS:
            found |= dict.fromkeys(configurations)
            continue
        for suspect in suspected:
            links = [link for link in by_link if set(suspect.hosts) <= set(link)]
            if len(suspect.hosts) > 1:
                links += [
                    link for host in suspect.hosts for link in _good_links(host, by_link, suspected)
                ]
            found |= dict.fromkeys(each for link in links for each in by_link[link])
    return list(found)


def judged(configurations: Iterable[Configuration]) -> list[list[Configuration]]:
    """Groups of configurations that differ only in their pairs: of each pair the one with the
    fewest others at the same time."""
    groups: dict[Configuration, dict[tuple[int, int, int], Configuration]] = {}
    for each in configurations:
        group = groups.setdefault(each.setting, {})
        key = (*each.pair, each.thread)
        if key not in group or each.concurrency < group[key].concurrency:
            group[key] = each
    return [list(group.values()) for group in groups.values()]


def _by_link(
    run: Run, configurations: Iterable[Configuration]
) -> dict[tuple[str, str], list[Configuration]]:
    """The configurations of each link, by the names of its hosts, in order."""
    where = {each.rank: each.host for each in run.environments}
    found: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in configurations:
        first, second = (where.get(rank) for rank in configuration.pair)
        if first is not None and second is not None and first != second:
            link = min(first, second), max(first, second)
            found.setdefault(link, []).append(configuration)
    return found


def _times(
    run: Run, by_link: Mapping[tuple[str, str], list[Configuration]]
) -> tuple[dict[tuple[int, int], Floats], list[str]]:
    """The medians of the slices of each link, ns, by the places of its hosts among all, which are
    the second."""
    hosts = sorted({host for link in by_link for host in link})
    known: dict[tuple[int, int], Floats] = {}
    for (one, other), rows in by_link.items():
        times = _positive(time for each in rows for time in _slice_medians(run, each))
        if times.size:
            known[hosts.index(one), hosts.index(other)] = times
    return known, hosts


def _positive(values: Iterable[float]) -> Floats:
    """Those that a clock which is fine enough may have shown."""
    return np.array([each for each in values if 0 < each < math.inf])


def _good_links(
    host: str, links: Iterable[tuple[str, str]], suspected: Iterable[Suspect]
) -> list[tuple[str, str]]:
    """Some links of a host to hosts that are not suspected; the links are not, either."""
    bad = {each.hosts for each in suspected}
    good = [
        link
        for link in links
        if host in link
        and link not in bad
        and not any((other,) in bad for other in link if other != host)
    ]
    return sorted(good)[:_PARTNERS]


def _found_before(
    run: Run, by_link: Mapping[tuple[str, str], list[Configuration]]
) -> set[tuple[str, ...]]:
    """The hosts and links that were found by the times before those that replace them; all of their
    links have newer ones."""
    if not run.again:
        return set()
    newer = min(again.launch for again in run.again)
    older = [each for each in run.measurements if each.launch < newer]
    former = msgspec.structs.replace(run, measurements=tuple(older), again=())
    found = slow_parts(former, [each for rows in by_link.values() for each in rows]) or ()
    return {
        suspect.hosts
        for suspect in found
        if all(
            measurement.launch >= newer
            for link, rows in by_link.items()
            if set(suspect.hosts) <= set(link)
            for each in rows
            for measurement in run.by_configuration.get(each, ())
        )
    }


def _slice_medians(run: Run, configuration: Configuration) -> list[float]:
    """The median one-way time of each slice, ns."""
    return [
        median(np.concatenate(measurement.one_way_blocks))
        for measurement in run.by_configuration.get(configuration, [])
        if measurement.samples.size
    ]
