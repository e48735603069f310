"""Each host with each other: latency, bandwidth and messages per second, as a table or, of many
hosts, in one character a pair; and a summary by host."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.analysis.network import factors_by, host_factors
from halftrip.analysis.rows import Row, by_limit
from halftrip.render.blocks import (
    SPACE,
    Block,
    Code,
    Column,
    Legend,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.fields import varying_within_patterns
from halftrip.report.numbers import NOTHING, number
from halftrip.results.configuration import Configuration
from halftrip.stats.median import median
from halftrip.units import size_in_words
from halftrip.views.notes import at_once, bandwidth_of_link
from halftrip.views.states import held_most

# How much slower than the median pair a character stands for, up to this factor; the last one for
# all that is slower still.
_SHADES = ((1.05, "."), (1.2, "-"), (1.5, "+"), (2.0, "#"), (math.inf, "@"))
_LEGEND = (
    "one character a pair, by how many times as slow it is as the median pair: . up to 1.05, - up "
    "to 1.2, + up to 1.5, # up to 2, @ more"
)


class MatrixFigure(NamedTuple):
    """What a matrix shows of a row: its name and unit, the value, and whether more is better."""

    name: str
    unit: str
    of: Callable[[Row], float]
    more_is_better: bool


_LATENCY = MatrixFigure("latency", "us", lambda row: row.summary.latency / 1e3, False)
_BANDWIDTH = MatrixFigure("bandwidth", "MB/s", lambda row: row.summary.bandwidth / 1e6, True)
_RATE = MatrixFigure("messages", "10^6/s", lambda row: row.rate / 1e6, True)


class Matrix(NamedTuple):
    """A figure of all pairs of hosts, by the names of both, in order of name. Several pairs of
    ranks of the same hosts count by their median. `hosts` are in order. `factors`: how many times
    as slow as a usual host each is by this figure: where that is the time of a message, or its
    inverse, by what slow hosts are named by. They are empty where that is not known of any. `state`
    says of which state of the machine the figures are, if they go with one, and `words` have its
    name."""

    title: str
    figure: MatrixFigure
    hosts: list[str]
    values: Mapping[tuple[str, str], float]
    factors: Mapping[str, float]
    state: str
    words: str

    def between(self, one: str, other: str) -> float | None:
        return self.values.get((one, other), self.values.get((other, one)))

    def slowness(self, value: float) -> float:
        """How many times as slow as the median pair."""
        typical = median(list(self.values.values()))
        return typical / value if self.figure.more_is_better else value / typical

    def of_host(self, host: str) -> dict[str, float]:
        """The values of a host's links, by the other host."""
        found = ((other, self.between(host, other)) for other in self.hosts if other != host)
        return {other: value for other, value in found if value is not None}


def matrix(document: Document, by_slowness: bool = False) -> View:
    """For each configuration its matrices. Hosts are in order of name or, `by_slowness`, the
    slowest first."""
    blocks: list[Block] = []
    for each in _matrices(document):
        hosts = each.hosts
        if by_slowness:
            factors = {host: _typical_slowness(each, host) for host in hosts}
            # Those of which nothing is known come last.
            hosts = sorted(hosts, key=lambda host: -factors[host] if factors[host] > 0 else 0.0)
        blocks += [_table(each, hosts), SPACE, _summary(each, hosts), SPACE]
        blocks += [Legend([each.state]), SPACE] if each.state else []
    if not blocks:
        blocks = [Paragraph("no two hosts, or ranks, have been measured")]
    found = partial(_links, document)
    return View(blocks, found, found, "Each host with each other")


def _links(document: Document) -> list[dict[str, Any]]:
    """A record for each pair of hosts and configuration, for programs: the names of both hosts, and
    the medians over all pairs of ranks between them."""
    return [
        {
            "host": one,
            "other_host": other,
            "transport": setting.transport,
            "pattern": setting.pattern,
            "size_bytes": setting.known_size,
            "concurrency": setting.concurrency,
            "state": matrices[0].words,
        }
        | {_KEYS[matrix.figure.name]: _in_base_units(matrix, one, other) for matrix in matrices}
        for setting, matrices in by_setting(document)
        for one, other in matrices[0].values
    ]


def _in_base_units(matrix: Matrix, one: str, other: str) -> float | None:
    """None of the bandwidth of empty messages."""
    value = matrix.between(one, other)
    return None if value is None else value * _SCALES[matrix.figure.name]


_KEYS = {
    "latency": "latency_us",
    "bandwidth": "bandwidth_bytes_per_s",
    "messages": "messages_per_s",
}
_SCALES = {"latency": 1.0, "bandwidth": 1e6, "messages": 1e6}


def _matrices(document: Document) -> list[Matrix]:
    return [matrix for _, matrices in by_setting(document) for matrix in matrices if matrix.values]


def by_setting(document: Document) -> list[tuple[Configuration, list[Matrix]]]:
    """The matrices of each configuration, whatever the pair, with the most pairs that talked at the
    same time."""
    where = _names(document)
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
            words += filter(None, (field.of(setting) for field in fields))
            words += [at_once(most)] * (len(of_limits) > 1)
            figures = (_BANDWIDTH, _RATE) if setting.is_rate else (_LATENCY, _BANDWIDTH)
            factors = host_factors(document.run, [row.configuration for row in rows])
            made = [_matrix(" ".join(words), figure, rows, where, factors) for figure in figures]
            if made[0].values:
                found.append((msgspec.structs.replace(setting, concurrency=most), made))
    return found


def _matrix(
    title: str,
    figure: MatrixFigure,
    rows: Sequence[Row],
    where: Callable[[int], str],
    factors: Mapping[str, float],
) -> Matrix:
    values: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        one, other = sorted(map(where, row.configuration.pair), key=_natural)
        value = figure.of(row)
        if value > 0:
            values.setdefault((one, other), []).append(value)
    hosts = sorted({host for pair in values for host in pair}, key=_natural)
    medians = {pair: median(each) for pair, each in values.items()}
    is_bandwidth = figure is _BANDWIDTH
    if factors and any(row.is_over_all_time for row in rows):
        # What arrived in all the time does not go with the time of a message.
        exponent = -1 if figure.more_is_better else 1
        factors = factors_by({pair: np.power(each, exponent) for pair, each in values.items()})
    name = bandwidth_of_link(rows[0].configuration) if is_bandwidth else figure.name
    words = ", ".join(sorted({row.state.word for row in rows if row.state is not None}))
    title = f"{title}: {name}, {figure.unit}"
    return Matrix(title, figure, hosts, medians, factors, held_most(rows), words)


def _names(document: Document) -> Callable[[int], str]:
    """What a rank is called: by its host, if there are several."""
    names = document.run.names
    return names.host if len(set(names.hosts.values())) > 1 else names.rank


def _natural(name: str) -> list[tuple[int, str]]:
    """A key that puts n2 before n10."""
    return [
        (int(digits or 0), text) for text, digits in re.findall(r"([^0-9]*)([0-9]{0,18})", name)
    ]


def _typical_slowness(matrix: Matrix, host: str) -> float:
    """How many times as slow as usual a host is, by one measure for all hosts of a matrix: by the
    factors, or, where none is known, by the median of its links; NaN where that says nothing."""
    if matrix.factors:
        return matrix.factors.get(host, math.nan)
    values = list(matrix.of_host(host).values())
    return matrix.slowness(median(values)) if values else math.nan


def _table(matrix: Matrix, hosts: Sequence[str]) -> Table:
    """The figures, or characters where there is no room for them."""

    def cell(other: str) -> Callable[[str], str]:
        return lambda host: number(matrix.between(host, other)) if host != other else ""

    columns = [
        Column("host", "", str, True, rank=ALWAYS),
        *(Column(other, "", cell(other), rank=ALWAYS) for other in hosts),
    ]
    longest = max(map(len, hosts))
    lines = [
        f"{host:{longest}}  {''.join(_shade(matrix, host, other) for other in hosts)}"
        for host in hosts
    ]
    return table(hosts, columns)._replace(
        title=[matrix.title],
        titling="heading",
        instead=[Code("\n".join(lines), matrix.title), Legend([_LEGEND])],
    )


def _shade(matrix: Matrix, host: str, other: str) -> str:
    value = None if host == other else matrix.between(host, other)
    if value is None:
        return " "
    slowness = matrix.slowness(value)
    return next(shade for most, shade in _SHADES if slowness <= most)


def _summary(matrix: Matrix, hosts: Sequence[str]) -> Table:
    """For each host the median of its links, and its slowest."""

    def slowest(host: str) -> str:
        found = matrix.of_host(host)
        if not found:
            return NOTHING
        other, value = max(found.items(), key=lambda each: matrix.slowness(each[1]))
        return f"{number(value)} to {other}"

    def typical(host: str) -> str:
        values = list(matrix.of_host(host).values())
        return number(median(values)) if values else NOTHING

    columns = [
        Column("host", "", str, True, rank=ALWAYS),
        Column("median", matrix.figure.unit, typical, rank=ALWAYS),
        Column(
            "x as slow as usual",
            "",
            lambda host: number(_typical_slowness(matrix, host)),
            rank=BRIEF,
        ),
        Column("slowest link", matrix.figure.unit, slowest, True, rank=BRIEF),
    ]
    return table(hosts, columns).titled(f"{matrix.title}, by host")
