"""Each host with each other, or each core: latency, bandwidth and messages per second, as a table
or, of many, in one character a pair; a summary by host, and which cores belong together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.render.blocks import (
    SPACE,
    Block,
    Code,
    Column,
    Items,
    Legend,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.numbers import NOTHING, number
from halftrip.stats.median import median
from halftrip.views import maps
from halftrip.views.matrices import Matrix, by_setting, matrices

# How much slower than the median pair a character stands for, up to this factor; the last one for
# all that is slower still, the first for pairs that are closer to each other than most.
_SHADES = ((0.8, "'"), (1.05, "."), (1.2, "-"), (1.5, "+"), (2.0, "#"), (math.inf, "@"))
_LEGEND = (
    "one character a pair, by how many times as slow it is as the median pair: ' up to 0.8, . up "
    "to 1.05, - up to 1.2, + up to 1.5, # up to 2, @ more; / no answer"
)


def matrix(document: Document, by_slowness: bool = False) -> View:
    """For each configuration its matrices. Hosts are in order of name or, `by_slowness`, the
    slowest first; cores are in order of what they share."""
    blocks: list[Block] = []
    for _, made in matrices(document):
        for each in made:
            hosts = each.hosts
            if by_slowness:
                factors = {host: _typical_slowness(each, host) for host in hosts}
                # Those of which nothing is known come last.
                hosts = sorted(hosts, key=lambda host: -factors[host] if factors[host] > 0 else 0.0)
            blocks += [table_of(each, hosts), SPACE]
            blocks += [] if each.across else [_summary(each, hosts), SPACE]
            blocks += [Legend([each.state]), SPACE] if each.state else []
    said = maps.lines(document)
    blocks += [Items(said)] if said else []
    if not blocks:
        blocks = [Paragraph("no two hosts, or ranks, have been measured")]
    found = partial(_links, document)
    return View(blocks, found, found, "Each with each other")


def _links(document: Document) -> list[dict[str, Any]]:
    """A record for each pair of hosts and configuration, for programs: the names of both hosts, and
    the medians over all pairs of ranks between them."""
    return [
        {
            "host": matrices[0].called(one),
            "other_host": matrices[0].called(other),
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


def _typical_slowness(matrix: Matrix, host: str) -> float:
    """How many times as slow as usual a host is, by one measure for all hosts of a matrix: by the
    factors, or, where none is known, by the median of its links; NaN where that says nothing."""
    if matrix.factors:
        return matrix.factors.get(host, math.nan)
    values = list(matrix.of_host(host).values())
    return matrix.slowness(median(values)) if values else math.nan


def table_of(matrix: Matrix, hosts: Sequence[str] = ()) -> Table:
    """The figures, or characters where there is no room for them; lines in the order of `hosts`, or
    in that of the matrix."""
    hosts = hosts or matrix.hosts

    def cell(other: str) -> Callable[[str], str]:
        return lambda host: (
            "" if host == other and not matrix.across else number(matrix.between(host, other))
        )

    across = matrix.across or hosts
    columns = [
        Column(matrix.head, "", str, True, rank=ALWAYS),
        *(Column(other, "", cell(other), rank=ALWAYS) for other in across),
    ]
    longest = max(map(len, hosts))
    lines = [
        f"{host:{longest}}  {''.join(_shade(matrix, host, other) for other in across)}"
        for host in hosts
    ]
    title = f"{matrix.title}; across: {matrix.across_head}" if matrix.across else matrix.title
    return table(hosts, columns)._replace(
        title=[title],
        titling="heading",
        instead=[Code("\n".join(lines), matrix.title), Legend([_LEGEND])],
    )


def _shade(matrix: Matrix, host: str, other: str) -> str:
    value = matrix.between(host, other) if host != other or matrix.across else None
    if value is None:
        return "/" if matrix.is_missing(host, other) else " "
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
        Column(matrix.head, "", str, True, rank=ALWAYS),
        Column("median", matrix.figure.unit, typical, rank=ALWAYS),
        Column(
            "x as slow as usual",
            "",
            lambda host: number(_typical_slowness(matrix, host)),
            rank=BRIEF,
        ),
        Column("slowest link", matrix.figure.unit, slowest, True, rank=BRIEF),
    ]
    return table(hosts, columns).titled(f"{matrix.title}, by {matrix.head}")
