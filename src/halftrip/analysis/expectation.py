"""Who falls short of what was expected (--expect), or of an earlier run (--baseline): hosts, or
links between two."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from halftrip.analysis.asked_rows import AskedRows
from halftrip.analysis.baseline import Baseline, Expected, figure_of
from halftrip.analysis.network import slow_by_setting
from halftrip.analysis.rows import Row, in_every_state, in_part, least
from halftrip.errors import UsageError
from halftrip.plan.expectations import DEFAULT_TOLERANCE, expected
from halftrip.plan.parsing import share
from halftrip.plan.vary import in_words
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.median import median
from halftrip.units import significant

# A host falls short if more than this share of its links do.
_MOST_LINKS = 0.5
# At most this many rows that the baseline lacks are named.
_MOST_NAMED = 3


class _Unit(NamedTuple):
    """The unit of a figure, its size in base units, and whether more is better."""

    unit: str
    scale: float
    more_is_better: bool


FIGURES = {
    "latency": _Unit("us", 1e-6, False),
    "bandwidth": _Unit("MB/s", 1e6, True),
    "messages": _Unit("10^6/s", 1e6, True),
}


class Expectations(NamedTuple):
    """What is expected of a run: `figures` by name, s, bytes per second, messages per second; and
    what a `baseline` has. A figure that is worse by more than the share `tolerance` falls short.
    `named` is the file name of the baseline in the run's own plan. `asked`: the plan has a
    tolerance, so that the run is judged by it. `fail_if_slow`: a host or link that is slow beside
    the others fails."""

    figures: Mapping[str, float]
    baseline: Baseline | None = None
    tolerance: float = DEFAULT_TOLERANCE
    named: str | None = None
    asked: bool = False
    fail_if_slow: bool = False

    @classmethod
    def of_plan(cls, plan: Mapping[str, Any], baseline: Baseline | None = None) -> Expectations:
        """What a plan, as a run file has it, expects. Keys that make no sense are ignored: anybody
        may have written the file."""
        figures: dict[str, float] = {}
        tolerance = DEFAULT_TOLERANCE
        if isinstance(plan.get("expect"), str):
            figures = _or(lambda: expected(plan["expect"]), figures)
        if plan.get("tolerance") is not None:
            tolerance = _or(lambda: share(plan["tolerance"]), tolerance)
        named = plan.get("baseline") if isinstance(plan.get("baseline"), str) else None
        asked, slow = plan.get("tolerance") is not None, plan.get("fail_if_slow") is True
        return cls(figures, baseline, tolerance, named, asked, slow)

    @property
    def are_none(self) -> bool:
        """Whether nothing is expected."""
        return not self.figures and self.baseline is None and self.named is None

    @property
    def within(self) -> str:
        return f"within {significant(100 * self.tolerance, 2)} %"


def _or(read: Callable[[], Any], default: Any) -> Any:
    try:
        return read()
    except UsageError:
        return default


class Judgeable(Protocol):
    """Rows of a run, and what they are judged by: see `report.document`."""

    @property
    def run(self) -> Run: ...

    @property
    def rows(self) -> Sequence[Row]: ...

    @property
    def expectations(self) -> Expectations: ...


class JudgedLink(NamedTuple):
    """A figure of a row between two hosts, or two ranks of one; `is_sure`: it falls short even by
    the nearest ends of both intervals. `is_own`: the expected figure is that of the same link, not
    of the median one."""

    hosts: tuple[str, str]
    value: float
    expected: float
    is_short: bool
    is_sure: bool
    is_own: bool = True


class Judged(NamedTuple):
    """The links by which one figure is judged, against what was expected or a baseline. `size` is
    that of a message, bytes (None: not known); `configurations` are those of the links, in their
    order; `state` is the state of the machine that the figures are of, where rows go with it."""

    transport: str
    pattern: str
    size: int | None
    figure: str
    against: Literal["expect", "baseline"]
    links: Sequence[JudgedLink]
    configurations: Sequence[Configuration]
    state: str = ""

    @property
    def variant(self) -> str:
        """The variant of its launches, in words; empty where nothing is varied."""
        return in_words(self.configurations[0].variant)


class Short(NamedTuple):
    """A host, or two between which a link is, that falls short of what was expected of `figure`:
    its `value`, s, bytes per second or messages per second, and what was `expected`, the medians
    over the links of a host that fall short. `links`: how many do, and of how many. `is_sure`: the
    near ends of their intervals fall short, too. `variant`: with what, where something is
    varied; `state`: in which state of the machine, where rows go with it."""

    hosts: tuple[str, ...]
    transport: str
    pattern: str
    size: int | None
    figure: str
    value: float
    expected: float
    against: Literal["expect", "baseline"]
    links: tuple[int, int]
    is_sure: bool
    variant: str = ""
    state: str = ""

    @property
    def factor(self) -> float:
        """How many times as bad as expected; infinite where there is no figure."""
        better, worse = self.value, self.expected
        if not FIGURES[self.figure].more_is_better:
            better, worse = worse, better
        return worse / better if better > 0 else float("inf")


def judged(document: Judgeable) -> list[Judged]:
    """All judged links, grouped by setting. An expected figure that no row has is not among them;
    see `unjudged`."""
    wishes = document.expectations
    found: list[Judged] = []
    for figure, wanted in wishes.figures.items():
        settings: dict[Any, list[Row]] = {}
        for row in in_every_state(_rows(document, figure)):
            word = row.state.word if row.state else ""
            settings.setdefault((row.configuration.setting, word), []).append(row)
        for (_, word), rows in settings.items():
            links = [
                _link(row, document, figure, _value(row, figure), Expected(wanted)) for row in rows
            ]
            found.append(_judged(rows, figure, "expect", links, word))
    if wishes.baseline is not None:
        found += _against(document, wishes.baseline)
    return found


def _against(document: Judgeable, baseline: Baseline) -> Iterator[Judged]:
    """The links of all rows that the baseline has something like, by what is measured and the state
    that both were in."""
    settings: dict[Any, list[tuple[Row, JudgedLink]]] = {}
    for row in least(document.rows):
        hosts = map(document.run.names.host, row.configuration.pair)
        for like in baseline.like(row, hosts)[0]:
            found = in_part(row, like.part)
            figure, value = figure_of(found)
            link = _link(found, document, figure, value, like.expected)
            of_setting = settings.setdefault((row.configuration.setting, like.part.word), [])
            of_setting.append((row, link._replace(is_own=like.is_own)))
    for (_, word), each in settings.items():
        rows, links = [row for row, _ in each], [link for _, link in each]
        yield _judged(rows, figure_of(rows[0])[0], "baseline", links, word)


def _judged(
    rows: Sequence[Row],
    figure: str,
    against: Literal["expect", "baseline"],
    links: Sequence[JudgedLink],
    state: str,
) -> Judged:
    each = [row.configuration for row in rows]
    what = each[0]
    path = what.transport, what.pattern, what.known_size
    return Judged(*path, figure, against, links, each, state)


def unjudged(document: Judgeable) -> list[str]:
    """What was expected but not measured, or cannot be compared, in words."""
    wishes = document.expectations
    lacking = [
        f"{figure} was expected, and no row has it"
        for figure in wishes.figures
        if not _rows(document, figure)
    ]
    if wishes.baseline is None:
        return lacking
    new = dict.fromkeys(
        row.configuration.title
        for row in document.rows
        if row.configuration.setting not in wishes.baseline.typical
    )
    if new or not document.rows:
        what = _some(new) if new else "no row"
        lacking.append(f"{what}, of which {wishes.baseline.name} has nothing like it")
    gone = _gone(document.run, wishes.baseline)
    if gone:
        lacking.append(f"{_some(gone)}, which {wishes.baseline.name} has, and this run has not")
    return lacking


def _some(titles: Iterable[str]) -> str:
    found = [*titles]
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return ", ".join(found[:_MOST_NAMED]) + more


def _gone(run: Run, baseline: Baseline) -> list[str]:
    """The rows of the baseline that the run was to have by its plan, and nothing like them."""

    def kind(each: Configuration) -> tuple[object, ...]:
        return each.transport, each.pattern, each.known_size, each.variant

    has = set(map(kind, run.by_configuration))
    asked = AskedRows.of(run)
    lacking = (each for each in baseline.typical if kind(each) not in has)
    return [*dict.fromkeys(each.title for each in lacking if asked.names(each))]


def untold(document: Judgeable) -> list[str]:
    """What cannot be compared with the baseline since both were measured in different states of the
    machine, in words, by how they differ."""
    baseline = document.expectations.baseline
    if baseline is None:
        return []
    found: dict[str, list[str]] = {}
    for row in least(document.rows):
        hosts = map(document.run.names.host, row.configuration.pair)
        _, apart = baseline.like(row, hosts)
        if apart:
            found.setdefault(apart, []).append(row.configuration.title)
    return [f"{_some(dict.fromkeys(titles))}: {apart}" for apart, titles in found.items()]


def shortfalls(document: Judgeable) -> list[Short]:
    """Who falls short, hosts before links, of each transport and each figure."""
    return [short for each in judged(document) for short in _named(each)]


def fails(document: Judgeable) -> bool:
    """Whether a host or a link surely falls short, or what was expected is not known, as of a host
    that was lost; and whether one is slow, where that fails."""
    if document.run.lost_hosts or unjudged(document):
        return True
    if document.expectations.fail_if_slow:
        configurations = [row.configuration for row in document.rows]
        if any(slow for _, slow in slow_by_setting(document.run, configurations)):
            return True
    return any(short.is_sure for short in shortfalls(document))


def _rows(document: Judgeable, figure: str) -> Sequence[Row]:
    """The rows that a figure is judged by: the latency of the smallest messages, the bandwidth of
    the largest, the rate of the smallest in a window; of a pair that was measured alone and while
    others talked, alone."""
    rows = [row for row in document.rows if not row.configuration.delay]
    latency, rate = (
        least([row for row in rows if row.configuration.is_rate == of_rates])
        for of_rates in (False, True)
    )
    if figure == "latency":
        return _of_size(latency, min)
    if figure == "messages":
        return _of_size(rate, min)
    return _of_size(rate or latency, max)


def _of_size(rows: Sequence[Row], choose: Any) -> list[Row]:
    """The rows of the smallest, or largest, size of each transport."""
    sizes: dict[str, list[int]] = {}
    for row in rows:
        if row.configuration.size_known:
            sizes.setdefault(row.configuration.transport, []).append(row.configuration.size)
    chosen = {transport: choose(each) for transport, each in sizes.items()}
    return [
        row
        for row in rows
        if row.configuration.known_size == chosen.get(row.configuration.transport, -1)
    ]


def _value(row: Row, figure: str) -> float:
    return {
        "latency": row.summary.latency * 1e-9,
        "bandwidth": row.summary.bandwidth,
        "messages": row.rate,
    }[figure]


def _link(row: Row, document: Judgeable, figure: str, value: float, wanted: Expected) -> JudgedLink:
    """A row against what is expected of it. NaN falls short; what has no interval is judged by its
    figure alone."""
    one, other = map(document.run.names.host, row.configuration.pair)
    names = (one, other) if one != other else tuple(f"rank {r}" for r in row.configuration.pair)
    tolerance = document.expectations.tolerance
    # Widths are shares of either side, so that one of 150 % has an end above 0.
    near = 1.0 + _finite(row.verdict.width)
    far = 1.0 + _finite(wanted.width)
    if FIGURES[figure].more_is_better:
        limit = wanted.value * (1 - tolerance)
        short, sure = not value >= limit, not value * near >= limit / far
    else:
        limit = wanted.value * (1 + tolerance)
        short, sure = not value <= limit, not value / near <= limit * far
    return JudgedLink((names[0], names[1]), value, wanted.value, short, short and sure)


def _finite(width: float) -> float:
    return width if math.isfinite(width) else 0.0


def _named(found: Judged) -> Iterator[Short]:
    """The hosts most of whose links fall short, and the other links that do."""
    by_host = links_by_host(found.links)
    hosts = short_hosts(by_host)
    for host, is_sure in hosts.items():
        short = [link for link in by_host[host] if link.is_short]
        yield _short(found, (host,), short, (len(short), len(by_host[host])), is_sure)
    for link in found.links:
        if link.is_short and not set(link.hosts) & set(hosts):
            yield _short(found, link.hosts, [link], (1, 1), link.is_sure)


def links_by_host(links: Iterable[JudgedLink]) -> dict[str, list[JudgedLink]]:
    """The links of each host."""
    by_host: dict[str, list[JudgedLink]] = {}
    for link in links:
        for host in dict.fromkeys(link.hosts):
            by_host.setdefault(host, []).append(link)
    return by_host


def short_hosts(by_host: Mapping[str, Sequence[JudgedLink]]) -> dict[str, bool]:
    """The hosts with several links of which most fall short, and whether most do so surely."""
    found = {}
    for host, links in by_host.items():
        most = _MOST_LINKS * len(links)
        if len(links) > 1 and sum(link.is_short for link in links) > most:
            found[host] = sum(link.is_sure for link in links) > most
    return found


def _short(
    found: Judged,
    hosts: tuple[str, ...],
    links: Sequence[JudgedLink],
    counts: tuple[int, int],
    is_sure: bool,
) -> Short:
    return Short(
        hosts=hosts,
        transport=found.transport,
        pattern=found.pattern,
        size=found.size,
        figure=found.figure,
        value=median([link.value for link in links]),
        expected=median([link.expected for link in links]),
        against=found.against,
        links=counts,
        is_sure=is_sure,
        variant=found.variant,
        state=found.state,
    )
