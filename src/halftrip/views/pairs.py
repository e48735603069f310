"""The pairs of a run: a matrix of who talks how fast with whom, what they got through at once, and
the slowest of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.core_map import cores_of
from halftrip.analysis.figure import ALWAYS
from halftrip.analysis.network import FEWEST_HOSTS, slow_parts
from halftrip.analysis.rows import LARGE, Row, by_limit
from halftrip.render.blocks import SPACE, Block, Column, Items, Table, table
from halftrip.report.document import Document
from halftrip.report.fields import varying_within_patterns
from halftrip.report.numbers import NOTHING, factor_texts, marked, width_of
from halftrip.results.configuration import Configuration
from halftrip.results.names import Names
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median
from halftrip.units import significant, size_in_words
from halftrip.views import notes
from halftrip.views.matrices import cache_lines, of_memories, settings_of_nodes, without_memory
from halftrip.views.matrix import table_of
from halftrip.views.notes import at_once, bandwidth_of_link

_NONE_SLOW = "no host and no link is slow"
# Matrices of more transports or patterns than these would fill the screen.
_MOST_MATRICES = 4
# Without room for a matrix: so many of the slowest pairs.
_MOST_SLOW = 10


class _Pairs(NamedTuple):
    """One configuration measured by several pairs: a title, and its rows by pair. The figure of a
    row is a latency, us, or a bandwidth, in the unit of `scale`."""

    title: str
    rows: dict[tuple[int, int], Row]
    is_rate: bool

    @property
    def unit(self) -> str:
        """Of its figures."""
        return self.scale[1] if self.is_rate else "us"

    @property
    def scale(self) -> tuple[float, str]:
        """The unit of bandwidth, bytes per second, and its name: that in which the largest has a
        digit before the point."""
        known = [row.summary.bandwidth for row in self.rows.values()]
        fastest = max((each for each in known if each > 0), default=0)
        return (1e9, "GB/s") if fastest >= 1e9 else (1e6, "MB/s")

    def figure(self, row: Row) -> float:
        return row.summary.bandwidth / self.scale[0] if self.is_rate else row.summary.latency / 1e3

    def text(self, row: Row) -> str:
        value = row.summary.bandwidth if self.is_rate else row.summary.latency
        if not value > 0:
            return NOTHING
        return marked(row, value, self.unit, 3)

    @property
    def setting(self) -> Configuration:
        """That of all rows, whose pairs differ."""
        return next(iter(self.rows.values())).configuration.setting

    def slowness(self, row: Row) -> float:
        """The figure where more is slower."""
        value = self.figure(row)
        return -value if self.is_rate else value


def has_pairs(rows: Sequence[Row]) -> bool:
    """Whether these are rows of several pairs, whoever initiates."""
    return len({frozenset(row.configuration.pair) for row in rows}) > 1


def blocks(document: Document) -> list[Block]:
    """For each kind of configuration its pairs: the latency of 8 bytes, or of the nearest to them,
    and the bandwidth of the largest messages."""
    memories = of_memories(document)
    nodes = settings_of_nodes(memories)
    rows = [
        row for row in document.rows if not nodes or without_memory(row.configuration) not in nodes
    ]
    document = document._replace(rows=rows)
    found = _groups(document)
    names = _names(document)
    # What all messages between cores are made of; and ranks with the memory of other nodes, whose
    # pairs are all of one node.
    first = [made[0] for setting, made in memories if setting in nodes]
    shown: list[Block] = [
        block for each in (*cache_lines(document), *first) for block in (table_of(each), SPACE)
    ]
    judged: set[Configuration] = set()
    for group in found[:_MOST_MATRICES]:
        shown += [_matrix(group, names), SPACE]
        if group.setting in judged:
            # The same rows, as latencies and as bandwidths.
            continue
        judged.add(group.setting)
        at_fault = _at_fault(document, group, names)
        shown += [Items(_slowest(group, names) if at_fault is None else at_fault), SPACE]
    hidden = _hidden(document, found[:_MOST_MATRICES])
    kept = {row.configuration.setting for group in found for row in group.rows.values()}
    together = [each for each in document.aggregates if each.configuration.setting in kept]
    said = [
        *([f"also measured: {hidden}; show --details"] if hidden else []),
        *notes.at_once_ratios(document.rows, names),
        *notes.tails_at_once(
            [row for group in found[:_MOST_MATRICES] for row in group.rows.values()], names
        ),
        *notes.summed_aggregates(together, names),
    ]
    if said:
        return [*shown, Items(said)]
    while shown and (shown[-1] == SPACE or shown[-1] == Items([])):
        shown.pop()
    return shown


def _names(document: Document) -> Names:
    """What ranks are called, in a map of cores by these."""
    return dataclasses.replace(document.run.names, cores=cores_of(document.run))


def slow(document: Document) -> list[str]:
    """Which hosts and links are slow, for views that do not show the pairs: by which measurement,
    where these do not say the same."""
    names = _names(document)
    by_setting = {group.setting: group for group in reversed(_groups(document))}
    by_line: dict[str, list[str]] = {}
    said = [(group, _at_fault(document, group, names)) for group in by_setting.values()]
    for group, found in reversed(said):
        for line in found or ():
            by_line.setdefault(line, []).append(group.title.partition(":")[0])
    if len(by_line) < 2:
        return [*by_line]
    lines = sorted(by_line.items(), key=lambda each: each[0] == _NONE_SLOW)
    return [f"{line} ({', '.join(titles)})" for line, titles in lines]


def _hidden(document: Document, shown: Sequence[_Pairs]) -> str:
    """What there is no matrix of: titles of configurations."""
    kept = {row.configuration for group in shown for row in group.rows.values()}
    rest = [row.configuration for row in document.rows if row.configuration not in kept]
    names = dict.fromkeys(
        f"{each.title}{f', thread {each.thread}' if each.thread else ''}" for each in rest
    )
    return ", ".join(names)


def _groups(document: Document) -> list[_Pairs]:
    """The rows of each kind of configuration by pair, at one size or two."""
    fields = varying_within_patterns(
        (row.configuration for row in document.rows), ("ranks", "thread", "concurrent pairs")
    )
    differ = len(by_limit(document.rows)) > 1
    curves: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        if not row.configuration.thread:
            curves.setdefault(row.configuration.curve.setting, []).append(row)
    groups = []
    of_limits = [(curve, rows) for curve, found in curves.items() for rows in by_limit(found)]
    for curve, rows in of_limits:
        sizes = sorted({row.configuration.size for row in rows})
        shown = [(sizes[-1], True)]
        if not curve.is_rate:
            small = min(sizes, key=lambda size: abs(size - 8))
            shown = [(small, False), *([(sizes[-1], True)] * (sizes[-1] >= LARGE))]
        for size, is_rate in shown:
            of_size = [row for row in rows if row.configuration.size == size]
            each = of_size[0].configuration
            settings = [field.of(each) for field in fields]
            words = [
                each.transport,
                each.pattern,
                size_in_words(each.known_size),
                *filter(None, settings),
            ]
            if differ:
                words.append(at_once(max(row.configuration.concurrency for row in of_size)))
            by_pair = {row.configuration.pair: row for row in of_size}
            made = _Pairs(" ".join(words), by_pair, is_rate)
            groups.append(made._replace(title=f"{made.title}: {_quantity(made)}"))
    return groups


def _quantity(group: _Pairs) -> str:
    """What the figures of a group are, with their unit."""
    if not group.is_rate:
        return "one-way latency, us"
    scale, unit = group.scale
    name = bandwidth_of_link(next(iter(group.rows.values())).configuration)
    return f"{name}, {unit} (10^{9 if scale == 1e9 else 6} bytes)"


def _matrix(group: _Pairs, names: Names) -> Table:
    """The figure of each pair, initiators down and responders across; a list of the slowest pairs
    where there is no room, or few ranks talk with more than one other. Ranks are called by their
    hosts where each has one of its own."""
    apart = names.are_hosts

    def name(rank: int) -> str:
        return names.rank(rank) if apart else str(names.cores.get(rank, rank))

    ranks = {rank for pair in group.rows for rank in pair}
    # Cores in order of their map.
    ordered = [rank for rank in names.cores if rank in ranks] or sorted(ranks)
    first, second = ({pair[end] for pair in group.rows} for end in (0, 1))
    from_, to = ([rank for rank in ordered if rank in side] for side in (first, second))
    what = "core" if names.cores else "rank"
    slowest = _list_of_slowest(group, names)
    if len(group.rows) < len(ranks):
        return slowest.titled(group.title, "heading")
    columns = [
        Column("host" if apart else what, "", name, apart, rank=ALWAYS),
        *(Column(name(rank), "", _cell(group, rank), rank=ALWAYS) for rank in to),
    ]
    return table(from_, columns)._replace(title=[group.title], titling="heading", instead=[slowest])


def _list_of_slowest(group: _Pairs, names: Names) -> Table:
    """The slowest pairs."""
    slowest = sorted(group.rows.values(), key=group.slowness, reverse=True)[:_MOST_SLOW]
    what, unit = ("bandwidth", group.scale[1]) if group.is_rate else ("latency", "us")
    columns = [
        Column(
            "hosts" if names.are_hosts else "cores" if names.cores else "ranks",
            "",
            lambda row: names.pair(row.configuration.pair),
            True,
            rank=ALWAYS,
        ),
        Column(what, unit, group.text, rank=ALWAYS),
    ]
    return table(slowest, columns)


def _cell(group: _Pairs, responder: int) -> Callable[[int], str]:
    def cell(initiator: int) -> str:
        row = group.rows.get((initiator, responder))
        return "" if row is None else group.text(row)

    return cell


def _at_fault(document: Document, group: _Pairs, names: Names) -> list[str] | None:
    """Which hosts and which links are slow, or the slowest pair and that it cannot be told; None
    where there are too few hosts to tell."""
    found = slow_parts(document.run, [row.configuration for row in group.rows.values()])
    if found is None:
        hosts = {names.hosts.get(rank) for pair in group.rows for rank in pair}
        if len(hosts) < FEWEST_HOSTS:
            return None
        differ = "which host or link is slow cannot be told: times differ or vary too much"
        return [*_slowest(group, names), differ]
    launches = {each.launch for each in document.run.measurements}
    alone = ", not measured again" if len(launches) == 1 else ""
    lines = []
    for suspect in found[:_MOST_SLOW]:
        effect = suspect.effect
        times, low, high = factor_texts(Estimate(effect.factor, effect.low, effect.high))
        factor, within = f"{times} x the usual time", f"95 %: {low} to {high}"
        if len(suspect.hosts) == 1:
            what = f"slow host: {suspect.hosts[0]}: {factor} on all its {suspect.links} links"
        else:
            what = f"slow link: {' to '.join(suspect.hosts)} alone: {factor}"
        again = ", also when measured again" if suspect.again else alone
        if len({names.hosts.get(rank) for pair in group.rows for rank in pair}) == FEWEST_HOSTS:
            again += "; or the two others are nearer to each other"
        lines.append(f"{what} ({within}){again}")
    if len(found) > _MOST_SLOW:
        lines.append(f"and {len(found) - _MOST_SLOW} more")
    return lines or [_NONE_SLOW]


def _slowest(group: _Pairs, names: Names) -> Sequence[str]:
    """The slowest pair, and whether its interval tells it from the typical one."""
    known = {pair: row for pair, row in group.rows.items() if group.figure(row) > 0}
    if len(known) < 2:
        return []
    pair, row = max(known.items(), key=lambda item: group.slowness(item[1]))
    typical = median([group.figure(each) for each in known.values()])
    width = row.verdict.width
    apart = abs(group.figure(row) - typical) > width * group.figure(row)
    within = f", within its interval ({width_of(row.verdict.width)})"
    hosts = dict.fromkeys(names.hosts[rank] for rank in pair if rank in names.hosts)
    where = f" ({' and '.join(hosts)})" if hosts and not names.are_hosts else ""
    who = f"slowest: {names.pairs([pair])}{where}"
    said = f"{who}: {group.text(row)} {group.unit}; median of {len(known)} pairs: "
    return [f"{said}{significant(typical, 3)} {group.unit}{'' if apart else within}"]
