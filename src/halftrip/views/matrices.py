"""Figures of each place with each other: hosts, cores, ranks, and kinds of memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.core_map import Shared, cores_of, shared
from halftrip.analysis.network import factors_by, host_factors
from halftrip.analysis.rows import Row, by_limit
from halftrip.report.document import Document
from halftrip.report.fields import varying_within_patterns
from halftrip.results.configuration import Configuration
from halftrip.results.memory_name import both_memories, parse_memory
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats
from halftrip.stats.slices import medians
from halftrip.units import size_in_words
from halftrip.views.notes import at_once, bandwidth_of_link
from halftrip.views.states import held_most

# By the names of both places.
Link = tuple[str, str]
# Fewer cells are no map.
_FEWEST_CELLS = 3
# What the lines of a map of NUMA nodes are.
_RANKS_ON = "ranks on"


class MatrixFigure(NamedTuple):
    """What a matrix shows of a row: its name and unit, the value, and whether more is better."""

    name: str
    unit: str
    of: Callable[[Row], float]
    more_is_better: bool


LATENCY = MatrixFigure("latency", "us", lambda row: row.summary.latency / 1e3, False)
BANDWIDTH = MatrixFigure("bandwidth", "MB/s", lambda row: row.summary.bandwidth / 1e6, True)
RATE = MatrixFigure("messages", "10^6/s", lambda row: row.rate / 1e6, True)
_ROUND_TRIP = MatrixFigure("round trip", "ns", lambda _: 0.0, False)


@dataclass(frozen=True)
class Matrix:
    """A figure of all pairs of places, by the names of both. Several pairs of ranks of the same
    places count by their median.

    `head` is what the places are, and `hosts` their names in order: of cores, in order of what they
    share, which `groups` have by the places in each. Where `across` has names, the columns are
    other places than the lines, called `across_head`, and each direction has a value of its own.
    `factors`: how many times as slow as a usual host each is by this figure: where that is the time
    of a message, or its inverse, by what slow hosts are named by. They are empty where that is not
    known of any. `state` says of which state of the machine the figures are, if they go with one,
    and `words` have its name. `times` makes the medians of the slices of each pair, ns. `asked` are
    the pairs that were to be measured; None: all of them."""

    title: str
    figure: MatrixFigure
    hosts: Sequence[str]
    values: Mapping[Link, float]
    factors: Mapping[str, float]
    state: str = ""
    words: str = ""
    head: str = "host"
    groups: Sequence[tuple[str, Sequence[Sequence[str]]]] = ()
    across: Sequence[str] = ()
    across_head: str = ""
    times: Callable[[], Mapping[Link, Floats]] = field(default=dict)
    asked: frozenset[Link] | None = None

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        return self.across or self.hosts

    def between(self, one: str, other: str) -> float | None:
        if self.across:
            return self.values.get((one, other))
        return self.values.get((one, other), self.values.get((other, one)))

    def is_missing(self, one: str, other: str) -> bool:
        """Whether there is no answer for a cell that was asked for."""
        if self.between(one, other) is not None or (one == other and not self.across):
            return False
        return self.asked is None or not self.asked.isdisjoint(
            {(one, other)} if self.across else {(one, other), (other, one)}
        )

    @cached_property
    def _typical(self) -> float:
        return median(list(self.values.values()))

    def slowness(self, value: float) -> float:
        """How many times as slow as the median pair."""
        return self._typical / value if self.figure.more_is_better else value / self._typical

    def of_host(self, host: str) -> dict[str, float]:
        """The values of a place's links, by the other place."""
        others = [each for each in self.columns if self.across or each != host]
        found = ((other, self.between(host, other)) for other in others)
        return {other: value for other, value in found if value is not None}

    def called(self, *names: str) -> str:
        """Places in words: ``core 3``, or ``core 3 with core 5``."""
        return " with ".join(f"core {each}" if self.head == "core" else each for each in names)


def matrices(document: Document) -> list[tuple[Configuration | None, list[Matrix]]]:
    """All of a run that have a value: of a map of cores, the cache line first; then those of each
    configuration; of several kinds of memory, each with each other, last."""
    lines = [(None, [each]) for each in cache_lines(document)]
    found = [*lines, *of_configurations(document)]
    return [(setting, [each for each in made if each.values]) for setting, made in found]


def of_configurations(document: Document) -> list[tuple[Configuration, list[Matrix]]]:
    """The maps of each configuration: of its pairs, and last of several kinds of memory, or of NUMA
    nodes. What is a single cell of these, or pairs that are each of one node, are no map beside."""
    memories = of_memories(document)
    known, nodes = {setting for setting, _ in memories}, settings_of_nodes(memories)
    pairs = []
    for setting, made in by_setting(document):
        is_cell = len(made[0].values) == 1 and without_memory(setting) in known
        if not is_cell and without_memory(setting) not in nodes:
            pairs.append((setting, made))
    return [*pairs, *memories]


def settings_of_nodes(
    memories: Iterable[tuple[Configuration, Sequence[Matrix]]],
) -> set[Configuration]:
    """The settings of maps of NUMA nodes, among those of memory, as `without_memory` has them."""
    return {setting for setting, made in memories if made[0].head == _RANKS_ON}


def by_setting(document: Document) -> list[tuple[Configuration, list[Matrix]]]:
    """The matrices of each configuration, whatever the pair, with the most pairs that talked at the
    same time."""
    places = _Places(document)
    fields = varying_within_patterns(
        (row.configuration for row in document.rows), ("ranks", "thread", "concurrent pairs")
    )
    settings: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        settings.setdefault(row.configuration.setting, []).append(row)
    found = []
    for setting, of_setting in settings.items():
        of_limits = by_limit(of_setting)
        for rows in of_limits:
            most = max(row.configuration.concurrency for row in rows)
            words = [setting.transport, setting.pattern, size_in_words(setting.known_size)]
            words += filter(None, (each.of(setting) for each in fields))
            words += [at_once(most)] * (len(of_limits) > 1)
            figures = (BANDWIDTH, RATE) if setting.is_rate else (LATENCY, BANDWIDTH)
            factors = host_factors(document.run, [row.configuration for row in rows])
            made = [_matrix(" ".join(words), figure, rows, places, factors) for figure in figures]
            if made[0].values:
                found.append((msgspec.structs.replace(setting, concurrency=most), made))
    return found


class _Places:
    """What the ranks of a run are called: by their cores in a map of cores, by their hosts where
    there are several, else by their numbers."""

    def __init__(self, document: Document) -> None:
        run = document.run
        self._names = run.names
        self._cores = cores_of(run)
        several = len(set(self._names.hosts.values())) > 1
        self.head = "core" if self._cores else "host"
        self._name = self._names.host if several else self._names.rank
        self.groups = [self._named(each) for each in shared(run)] if self._cores else []
        pairs = run.header.plan.get("pairs")
        self.are_all_asked = pairs == "all" or (pairs == "across" and several)
        failed = [each.configuration.pair for each in run.failures]
        failed += [pair for each in run.skips for pair in each.pairs or ()]
        # Asked for each slice of each pair.
        self._links: dict[tuple[int, int], Link] = {}
        self._failed = {self.link(pair) for pair in failed}

    def name(self, rank: int) -> str:
        return str(self._cores[rank]) if rank in self._cores else self._name(rank)

    def link(self, pair: tuple[int, int]) -> Link:
        if pair not in self._links:
            one, other = sorted(map(self.name, pair), key=_natural)
            self._links[pair] = one, other
        return self._links[pair]

    def ordered(self, names: Iterable[str]) -> list[str]:
        """Names in the order of the map; all cores, also those that no pair has been measured
        of."""
        if self._cores:
            return [str(core) for core in self._cores.values()]
        return sorted(names, key=_natural)

    def asked(self, values: Iterable[Link]) -> frozenset[Link] | None:
        return None if self.are_all_asked else frozenset({*values, *self._failed})

    def _named(self, level: Shared) -> tuple[str, list[list[str]]]:
        return level.name, [[self.name(rank) for rank in group] for group in level.groups]


def _matrix(
    title: str,
    figure: MatrixFigure,
    rows: Sequence[Row],
    places: _Places,
    factors: Mapping[str, float],
) -> Matrix:
    values: dict[Link, list[float]] = {}
    of_links: dict[Link, list[Row]] = {}
    for row in rows:
        link = places.link(row.configuration.pair)
        value = figure.of(row)
        if value > 0:
            values.setdefault(link, []).append(value)
            of_links.setdefault(link, []).append(row)
    hosts = places.ordered({host for pair in values for host in pair})
    is_bandwidth = figure is BANDWIDTH
    if factors and any(row.is_over_all_time for row in rows):
        # What arrived in all the time does not go with the time of a message.
        exponent = -1 if figure.more_is_better else 1
        factors = factors_by({pair: np.power(each, exponent) for pair, each in values.items()})
    name = bandwidth_of_link(rows[0].configuration) if is_bandwidth else figure.name
    return Matrix(
        f"{title}: {name}, {figure.unit}",
        figure,
        hosts,
        {pair: median(each) for pair, each in values.items()},
        factors,
        held_most(rows),
        ", ".join(sorted({row.state.word for row in rows if row.state is not None})),
        places.head,
        places.groups,
        times=partial(_slice_medians, of_links),
        asked=places.asked(values),
    )


def _slice_medians(of_links: Mapping[Link, Sequence[Row]]) -> dict[Link, Floats]:
    """The median one-way times of the slices of each link, ns."""
    slices = {
        link: [each for row in rows for each in row.measured.measurements if each.is_sampled]
        for link, rows in of_links.items()
    }
    found = medians(each.one_way_times for of_link in slices.values() for each in of_link)
    return {
        link: np.array([*islice(found, len(of_link))])
        for link, of_link in slices.items()
        if of_link
    }


def cache_lines(document: Document) -> list[Matrix]:
    """The round trip of a cache line from core to core, of a map of cores where it was probed; a
    list of one matrix, or of none."""
    places = _Places(document)
    if places.head != "core":
        return []
    trips: dict[Link, list[float]] = {}
    for pair, found in document.run.core_to_core_of.items():
        trips.setdefault(places.link(pair), []).extend(found)
    if not trips:
        return []
    values = {link: median(each) for link, each in trips.items()}
    made = Matrix(
        "cache line from core to core: round trip, ns",
        _ROUND_TRIP,
        places.ordered(()),
        values,
        {},
        head=places.head,
        groups=places.groups,
        times=lambda: {link: np.array(each) for link, each in trips.items()},
        asked=places.asked(values),
    )
    return [made]


def of_memories(document: Document) -> list[tuple[Configuration, list[Matrix]]]:
    """The memory of the initiator with that of the responder; or, where both are of one NUMA node,
    that node with the one of the ranks. Each direction has its own value."""
    kinds = {end.memory for row in document.rows for end in row.configuration.ends}
    if len(kinds) < 2 and not any(parse_memory(each)[1] for each in kinds):
        # There may be a map of 30,000 pairs of cores.
        return []
    plan = document.run.header.plan
    nodes = {each.rank: each.node for each in document.run.environments}
    settings: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        settings.setdefault(without_memory(row.configuration), []).append(row)
    fields = varying_within_patterns(settings, ("ranks", "thread"))
    found = []
    for setting, rows in settings.items():
        cells, is_numa = _cells_of_memories(rows, nodes)
        if not cells:
            continue
        names = dict.fromkeys(name for link in cells for name in link)
        ordered = sorted(names, key=_natural) if is_numa else [*names]
        ends = ({link[end] for link in cells} for end in (0, 1))
        lines, columns = ([name for name in ordered if name in end] for end in ends)
        words = [setting.transport, setting.pattern, size_in_words(setting.known_size)]
        words += filter(None, (each.of(setting) for each in fields))
        made = []
        for figure in (BANDWIDTH,) if setting.is_rate else (LATENCY, BANDWIDTH):
            values = {link: median([figure.of(row) for row in of]) for link, of in cells.items()}
            made.append(
                Matrix(
                    f"{' '.join(words)}: {figure.name}, {figure.unit}",
                    figure,
                    lines,
                    {link: value for link, value in values.items() if value > 0},
                    {},
                    head=_RANKS_ON if is_numa else "initiator",
                    across=columns,
                    across_head="memory of" if is_numa else "responder",
                    times=partial(_slice_medians, cells),
                    asked=None if is_numa else frozenset(_asked(plan.get("memory"))),
                )
            )
        found.append((setting, made))
    return found


def _cells_of_memories(
    rows: Iterable[Row], nodes: Mapping[int, int | None]
) -> tuple[dict[Link, list[Row]], bool]:
    """The rows of each cell, and whether lines are the NUMA nodes of the ranks, by rank in `nodes`;
    no cells where these are too few for a map."""
    cells: dict[Link, list[Row]] = {}
    of_nodes: dict[Link, list[Row]] = {}
    for row in rows:
        one, other = (end.memory for end in row.configuration.ends)
        cells.setdefault((one, other), []).append(row)
        on = {nodes.get(rank) for rank in row.configuration.pair}
        kind, node = parse_memory(one)
        # Ranks of one node, and memory of one.
        if one == other and kind == "host" and node and len(on) == 1 and None not in on:
            of_nodes.setdefault((f"node {on.pop()}", f"node {node}"), []).append(row)
    if len(of_nodes) >= _FEWEST_CELLS:
        return of_nodes, True
    is_map = len(cells) >= _FEWEST_CELLS and any(one != other for one, other in cells)
    return cells if is_map else {}, False


def _asked(memory: object) -> Iterable[Link]:
    """The memory of both ends that a plan names, each as text."""
    for text in memory if isinstance(memory, list | tuple) else ():
        ends = both_memories(text) if isinstance(text, str) else None
        if ends is not None:
            yield ends


def without_memory(configuration: Configuration) -> Configuration:
    """Its setting, whatever the memory."""
    setting = configuration.setting
    initiator, responder = (msgspec.structs.replace(end, memory="host") for end in setting.ends)
    return msgspec.structs.replace(setting, initiator=initiator, responder=responder)


@lru_cache(maxsize=4096)
def _natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    return [
        (int(digits or 0), text) for text, digits in re.findall(r"([^0-9]*)([0-9]{0,18})", name)
    ]
