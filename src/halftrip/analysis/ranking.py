"""Which of several paths, MPIs, settings or pairs of hosts is the fastest, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.like_states import are_alike
from halftrip.analysis.rows import Row, least
from halftrip.results.configuration import Configuration
from halftrip.results.patterns import ROUND_TRIP
from halftrip.stats.estimate import Estimate, ratio

# The size that people compare, bytes.
_SMALL = 8


class Slower(NamedTuple):
    """A row that is not the fastest, and how many times as long its messages take, with a 95 %
    interval, as far as both rows have one."""

    row: Row
    factor: Estimate

    @property
    def is_told_apart(self) -> bool:
        """Whether chance does not explain that it is slower."""
        return self.factor.low > 1


class Ranking(NamedTuple):
    """The `fastest` row of a size, bytes, and all others of it, the fastest of these first."""

    size: int
    fastest: Row
    others: Sequence[Slower]


class Change(NamedTuple):
    """From the size `begin` to the size `end`, another curve is faster than the fastest of small
    messages, which takes so many times as long at the `end`; `is_last`: no larger size is known of
    that."""

    begin: int
    end: int
    is_last: bool
    fastest: Row
    slower: Slower


def rankings(rows: Sequence[Row]) -> tuple[Ranking, Sequence[Change]] | None:
    """The ranking of small messages, by the first pattern that several curves have, that of round
    trips before others, and which curves are faster at larger sizes; None without two curves of a
    size.

    Figures that go with the state of the machine are compared with those of the same state. The
    interval of a ratio is that of two figures of independent errors (`estimate.ratio`), each over
    launches where there are several: what both have in common makes it wider than it needs to be.
    """
    patterns: dict[str, list[Row]] = {}
    for row in least([row for row in rows if _is_ranked(row)]):
        patterns.setdefault(row.configuration.pattern, []).append(row)
    for pattern in sorted(patterns, key=lambda name: name != ROUND_TRIP):
        sizes = _by_size(patterns[pattern])
        if sizes:
            most = max(map(len, sizes.values()))
            common = [size for size in sorted(sizes) if len(sizes[size]) == most]
            small = _ranking(_SMALL if _SMALL in common else common[0], sizes)
            if small is not None:
                return small, _changes(small, sizes)
    return None


def _is_ranked(row: Row) -> bool:
    """Whether its time is that of a path, measured here."""
    configuration = row.configuration
    usual = configuration.size_known and not configuration.delay and row.source is None
    return usual and row.summary.latency > 0 and not row.is_over_all_time


def _by_size(rows: Sequence[Row]) -> dict[int, dict[Configuration, Row]]:
    """The rows of each size that several curves have, by curve."""
    found: dict[int, dict[Configuration, Row]] = {}
    for row in rows:
        found.setdefault(row.configuration.size, {})[row.configuration.curve] = row
    return {size: of_size for size, of_size in found.items() if len(of_size) > 1}


def _ranking(size: int, sizes: dict[int, dict[Configuration, Row]]) -> Ranking | None:
    fastest = _fastest([*sizes[size].values()])
    others = [
        found
        for row in sizes[size].values()
        if row is not fastest and (found := slower_than(fastest, row)) is not None
    ]
    if not others:
        return None
    return Ranking(size, fastest, sorted(others, key=lambda each: each.factor.value))


def _fastest(rows: Sequence[Row]) -> Row:
    """The fastest in the states of the machine that rows have in common."""
    best, *others = sorted(rows, key=lambda row: row.summary.latency)
    for row in others:
        slower = slower_than(best, row)
        best = row if slower is not None and slower.factor.value < 1 else best
    return best


def slower_than(fastest: Row, row: Row) -> Slower | None:
    """The other row, in a state of the machine that both have figures of; None without one."""
    for one in (fastest, *fastest.others):
        for other in (row, *row.others):
            if _in_one_state(one, other):
                return Slower(row, ratio(other.summary.time, one.summary.time))
    return None


def _in_one_state(one: Row, other: Row) -> bool:
    """Whether both were measured in the same state of the machine. Rows of other hosts have levels
    of their own: then states of one name are the same."""
    if one.state is not None and other.state is not None:
        return one.state.word == other.state.word
    return are_alike(one, other)


def _changes(small: Ranking, sizes: dict[int, dict[Configuration, Row]]) -> list[Change]:
    """Which other curves are the fastest of larger messages, each in which sizes."""
    curve = small.fastest.configuration.curve
    having = sorted(size for size in sizes if size > small.size and curve in sizes[size])
    found: list[Change] = []
    leads = False
    for size in having:
        rows = sizes[size]
        former = rows.get(found[-1].fastest.configuration.curve) if leads else None
        fastest = _fastest([*rows.values()])
        if former is not None and not _is_told_apart(fastest, former):
            # What chance explains is no change.
            fastest = former
        slower = slower_than(fastest, rows[curve])
        if slower is None or not slower.is_told_apart:
            leads = leads and fastest is former
            continue
        begin = found[-1].begin if leads and fastest is former else size
        if begin != size:
            found.pop()
        found.append(Change(begin, size, size == having[-1], fastest, slower))
        leads = True
    return found


def _is_told_apart(fastest: Row, row: Row) -> bool:
    slower = None if fastest is row else slower_than(fastest, row)
    return slower is not None and slower.is_told_apart
