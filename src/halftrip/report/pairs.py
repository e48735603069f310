"""The pairs of a run: a matrix of who talks how fast with whom, what they got through at once, and
the slowest of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.text import Text

from halftrip.report import notes
from halftrip.report.cells import NOTHING, wrapped
from halftrip.report.columns import supported_digits
from halftrip.report.document import Document
from halftrip.report.layout import ALWAYS, Column, as_text, made_table
from halftrip.report.overview import mark
from halftrip.report.rows import Row
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import significant

# Matrices of more transports or patterns than these would fill the screen.
_MOST_MATRICES = 4
# Without room for a matrix: so many of the slowest pairs.
_MOST_SLOW = 10


class _Pairs(NamedTuple):
    """One configuration measured by several pairs: a title, and its rows by pair. The figure of a
    row is a latency, us, or a bandwidth, GB/s."""

    title: str
    rows: dict[tuple[int, int], Row]
    is_rate: bool

    def figure(self, row: Row) -> float:
        return row.bandwidth / 1e9 if self.is_rate else row.summary.latency / 1e3

    def text(self, row: Row) -> str:
        value = self.figure(row)
        if not value > 0:
            return NOTHING
        return f"{significant(value, min(supported_digits(row.verdict.width), 3))}{mark(row)}"

    def slowness(self, row: Row) -> float:
        """The figure where more is slower."""
        value = self.figure(row)
        return -value if self.is_rate else value


def has_pairs(run: Run) -> bool:
    """Whether several pairs were measured."""
    return len({configuration.pair for configuration in run.by_configuration}) > 1


def lines(document: Document, width: int) -> list[Text]:
    """For each transport and pattern the pairs at one size: the smallest of latencies, the largest
    of bandwidths; in lines of at most `width` columns."""
    found = _groups(document)
    hosts = {e.rank: e.host for e in document.run.environments if e.launch == 0}
    shown: list[Text] = []
    for group in found[:_MOST_MATRICES]:
        shown += [Text(group.title, style="bold"), *_matrix(group, width), Text()]
        for said in _slowest(group, hosts):
            shown += map(Text, wrapped("", said, width, 4))
        shown.append(Text())
    if len(found) > _MOST_MATRICES:
        others = ", ".join(group.title.partition(":")[0] for group in found[_MOST_MATRICES:])
        shown += map(Text, wrapped("also measured: ", f"{others}; show --details", width))
    titles = {id(group): row for group in found for row in group.rows.values()}
    sizes = {(row.configuration.curve.setting, row.configuration.size) for row in titles.values()}
    at_once = [
        aggregate
        for aggregate in document.aggregates
        if (aggregate.configuration.curve.setting, aggregate.configuration.size) in sizes
    ]
    for said in notes.summed_aggregates(at_once):
        shown += map(Text, wrapped("", said, width, 4))
    return shown


def _groups(document: Document) -> list[_Pairs]:
    """The rows of each transport and pattern by pair, at one size."""
    curves: dict[Configuration, list[Row]] = {}
    for row in document.rows:
        curves.setdefault(row.configuration.curve.setting, []).append(row)
    groups = []
    for curve, rows in curves.items():
        sizes = sorted({row.configuration.size for row in rows})
        size = sizes[-1] if curve.is_rate else min(sizes, key=lambda size: abs(size - 8))
        of_size = [row for row in rows if row.configuration.size == size]
        what = "bandwidth, GB/s (10^9 bytes)" if curve.is_rate else "one-way latency, us"
        title = f"{of_size[0].configuration.title} B: {what}"
        by_pair = {row.configuration.pair: row for row in of_size if not row.configuration.thread}
        groups.append(_Pairs(title, by_pair, curve.is_rate))
    return groups


def _matrix(group: _Pairs, width: int) -> list[Text]:
    """The figure of each pair, initiators down and responders across; a list of the slowest pairs
    where there is no room, or few ranks talk with more than one other."""
    ranks = sorted({rank for pair in group.rows for rank in pair})
    from_ = sorted({pair[0] for pair in group.rows})
    to = sorted({pair[1] for pair in group.rows})
    if len(group.rows) >= len(ranks):
        columns = [
            Column("rank", "", str, rank=ALWAYS),
            *(Column(str(rank), "", _cell(group, rank), rank=ALWAYS) for rank in to),
        ]
        shown = as_text(made_table(from_, columns).table, width)
        if max(len(line) for line in shown) <= width:
            return shown
    slowest = sorted(group.rows.values(), key=group.slowness, reverse=True)[:_MOST_SLOW]
    name, unit = ("bandwidth", "GB/s") if group.is_rate else ("latency", "us")
    figure = Column(name, unit, group.text, rank=ALWAYS)
    columns = [
        Column("ranks", "", lambda row: _name(row.configuration.pair), True, rank=ALWAYS),
        figure,
    ]
    return as_text(made_table(slowest, columns).table, width)


def _cell(group: _Pairs, responder: int) -> Callable[[int], str]:
    def cell(initiator: int) -> str:
        row = group.rows.get((initiator, responder))
        return "" if row is None else group.text(row)

    return cell


def _slowest(group: _Pairs, hosts: dict[int, str]) -> Sequence[str]:
    """The slowest pair, and whether its interval tells it from the typical one."""
    known = {pair: row for pair, row in group.rows.items() if group.figure(row) > 0}
    if len(known) < 2:
        return []
    pair, row = max(known.items(), key=lambda item: group.slowness(item[1]))
    typical = median([group.figure(each) for each in known.values()])
    apart = abs(group.figure(row) - typical) > row.verdict.width * group.figure(row)
    names = dict.fromkeys(hosts[rank] for rank in pair if rank in hosts)
    where = f" ({' and '.join(names)})" if names else ""
    said = f"slowest: ranks {_name(pair)}{where}: {group.text(row)}; median of {len(known)} pairs: "
    return [said + significant(typical, 3) + ("" if apart else ", within the interval")]


def _name(pair: tuple[int, int]) -> str:
    return f"{pair[0]}-{pair[1]}"
