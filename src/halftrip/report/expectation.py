"""Who falls short of what was expected (--expect): hosts, or links between two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from halftrip.errors import UsageError
from halftrip.plan.expectations import expected
from halftrip.plan.parsing import share
from halftrip.report.document import Document
from halftrip.report.rows import Row
from halftrip.stats.median import median
from halftrip.units import significant

# Of a host that falls short, more than this share of its links do.
_MOST_LINKS = 0.5
_DEFAULT_TOLERANCE = 0.1


class _Figure(NamedTuple):
    """The unit of a figure, its size in base units, and whether more is better."""

    unit: str
    scale: float
    more_is_better: bool


_FIGURES = {
    "latency": _Figure("us", 1e-6, False),
    "bandwidth": _Figure("MB/s", 1e6, True),
    "messages": _Figure("10^6/s", 1e6, True),
}


class Short(NamedTuple):
    """A host, or two between which a link is, that falls short of what was expected of `figure`:
    its `value`, s, bytes per second or messages per second, the median over the links of a host.
    `links` of its links do. `is_sure`: the near ends of their intervals fall short, too."""

    hosts: tuple[str, ...]
    transport: str
    figure: str
    value: float
    expected: float
    links: tuple[int, int]
    is_sure: bool


class _Link(NamedTuple):
    hosts: tuple[str, str]
    value: float
    is_short: bool
    is_sure: bool


def expected_of(plan: Mapping[str, Any]) -> dict[str, float]:
    """What a plan, as a run file has it, expects of each figure: s, bytes per second, messages per
    second. Nothing where that makes no sense: anybody may have written the file."""
    try:
        return expected(str(plan["expect"]))
    except (KeyError, UsageError):
        return {}


def _tolerance(plan: Mapping[str, Any]) -> float:
    try:
        return share(plan["tolerance"])
    except (KeyError, UsageError):
        return _DEFAULT_TOLERANCE


def shortfalls(document: Document) -> list[Short]:
    """Who falls short, hosts before links, of each transport and each figure."""
    plan = document.run.header.plan
    tolerance = _tolerance(plan)
    where = {each.rank: each.host for each in document.run.environments}
    found: list[Short] = []
    for figure, wanted in expected_of(plan).items():
        by_transport: dict[str, list[Row]] = {}
        for row in _rows(document, figure):
            by_transport.setdefault(row.configuration.transport, []).append(row)
        for transport, rows in by_transport.items():
            links = [_link(row, figure, wanted, tolerance, where) for row in rows]
            found += _named(links, transport, figure, wanted)
    return found


def lines(document: Document) -> list[str]:
    """A line for each that falls short, or one that none does; none where nothing was expected."""
    plan = document.run.header.plan
    wishes = expected_of(plan)
    if not wishes:
        return []
    within = f"within {significant(100 * _tolerance(plan), 2)} %"
    said = []
    for short in shortfalls(document):
        who = " to ".join(short.hosts)
        some, of = short.links
        links = f" on {some} of its {of} links" if len(short.hosts) == 1 else ""
        word = "falls short" if short.is_sure else "may fall short"
        value, wanted = (_text(short.figure, each) for each in (short.value, short.expected))
        said.append(
            f"{word}: {who}: {short.transport} {short.figure} {value}{links}, "
            f"expected {wanted} {within}"
        )
    if not said:
        names = ", ".join(f"{name} {_text(name, value)}" for name, value in wishes.items())
        said = [f"as expected: {names}, {within}"]
    return said


def _text(figure: str, value: float) -> str:
    unit = _FIGURES[figure]
    return f"{significant(value / unit.scale, 3)} {unit.unit}"


def _rows(document: Document, figure: str) -> Sequence[Row]:
    """The rows that a figure is judged by: the latency of the smallest messages, the bandwidth of
    the largest, the rate of the smallest in a window."""
    if figure == "latency":
        return _of_size(document.latency_rows, min)
    if figure == "messages":
        return _of_size(document.rate_rows, min)
    return _of_size(document.rate_rows or document.latency_rows, max)


def _of_size(rows: Sequence[Row], choose: Any) -> list[Row]:
    """Of each transport the rows of its smallest, or largest, size."""
    sizes: dict[str, list[int]] = {}
    for row in rows:
        sizes.setdefault(row.configuration.transport, []).append(row.configuration.size)
    chosen = {transport: choose(each) for transport, each in sizes.items()}
    return [row for row in rows if row.configuration.size == chosen[row.configuration.transport]]


def _link(
    row: Row, figure: str, expected: float, tolerance: float, where: Mapping[int, str]
) -> _Link:
    one, other = (where.get(rank, f"rank {rank}") for rank in row.configuration.pair)
    names = (one, other) if one != other else tuple(f"rank {r}" for r in row.configuration.pair)
    value = {
        "latency": row.summary.latency * 1e-9,
        "bandwidth": row.bandwidth,
        "messages": row.rate,
    }[figure]
    width = row.verdict.width
    if _FIGURES[figure].more_is_better:
        limit = expected * (1 - tolerance)
        short, sure = not value >= limit, not value * (1 + width) >= limit
    else:
        limit = expected * (1 + tolerance)
        short, sure = not value <= limit, not value * (1 - width) <= limit
    return _Link((names[0], names[1]), value, short, short and sure)


def _named(links: Sequence[_Link], transport: str, figure: str, expected: float) -> Iterable[Short]:
    """The hosts most of whose links fall short, and the other links that do."""
    by_host: dict[str, list[_Link]] = {}
    for link in links:
        for host in link.hosts:
            by_host.setdefault(host, []).append(link)
    hosts = {
        host: short
        for host, of_host in by_host.items()
        if len(of_host) > 1
        and len(short := [link for link in of_host if link.is_short]) > _MOST_LINKS * len(of_host)
    }
    for host, short in hosts.items():
        yield Short(
            (host,),
            transport,
            figure,
            median([link.value for link in short]),
            expected,
            (len(short), len(by_host[host])),
            sum(link.is_sure for link in short) > _MOST_LINKS * len(by_host[host]),
        )
    for link in links:
        if link.is_short and not set(link.hosts) & set(hosts):
            yield Short(link.hosts, transport, figure, link.value, expected, (1, 1), link.is_sure)
