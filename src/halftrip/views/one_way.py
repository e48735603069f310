"""One-way times in words: where the two ways differ, and why some are not known."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.results.reported import Variant
from halftrip.results.run import Run
from halftrip.units import format_size, significant

# More sizes than these are named by the first and the last.
_MOST_SIZES = 3
# Of more pairs than these, the first are named.
_MOST_LINES = 3


def lines(document: Document) -> list[str]:
    """Where one way takes longer than the other, a line for each transport, pair and direction."""
    uneven = [row for row in document.latency_rows if row.one_way and row.one_way.is_uneven]

    def text(path: str, rows: Sequence[Row]) -> str:
        ways = [(way.there, way.back) for row in rows if (way := row.one_way) is not None]
        factors = sorted(max(way) / max(min(way), 1.0) for way in ways)
        ends = dict.fromkeys(significant(each, 2) for each in (factors[0], factors[-1]))
        slow, fast = ("there", "back") if ways[0][0] > ways[0][1] else ("back", "there")
        return f"one way: {path}: {' to '.join(ends)} times as long {slow} as {fast}"

    return _by_path(document, uneven, text)


def reasons(document: Document) -> list[str]:
    """Which rows have no one-way times because the clocks of two hosts are not known well enough, a
    line for each transport and pair."""
    unknown = [row for row in document.latency_rows if row.one_way and not row.one_way.is_known]

    def text(path: str, rows: Sequence[Row]) -> str:
        error = max(row.one_way.error for row in rows if row.one_way is not None)
        first, second = _hosts(document.run, rows[0])
        known = f"the clocks of {first} and {second} are known within {_us(error)}"
        latencies = [_us(row.summary.latency) for row in rows]
        are = "is" if len(set(latencies)) == 1 else "are"
        span = " to ".join(dict.fromkeys((latencies[0], latencies[-1])))
        return f"no times there and back: {path}: {known}, and the latency {are} {span}"

    return _by_path(document, unknown, text)


def _by_path(
    document: Document, rows: Sequence[Row], text: Callable[[str, Sequence[Row]], str]
) -> list[str]:
    """The text of all rows of a path whose longer way is the same; of many paths, the first."""
    found: dict[tuple[str, Variant, tuple[int, int], bool], list[Row]] = {}
    for row in rows:
        way = row.one_way
        there_is_longer = way is not None and way.is_known and way.there > way.back
        configuration = row.configuration
        way_of = configuration.transport, configuration.variant
        key = *way_of, configuration.pair, there_is_longer
        found.setdefault(key, []).append(row)
    pairs = {row.configuration.pair for row in document.latency_rows}
    made = []
    for (transport, variant, pair, _), of_path in found.items():
        ranks = f" ranks {pair[0]}-{pair[1]}" if len(pairs) > 1 else ""
        values = "".join(f" {value}" for _, value in variant)
        made.append(text(f"{transport}{values} {_sizes(of_path)}{ranks}", of_path))
    if len(made) > _MOST_LINES:
        made[_MOST_LINES:] = [f"{len(made) - _MOST_LINES} more paths likewise; see --format csv"]
    return made


def _sizes(rows: Sequence[Row]) -> str:
    sizes = sorted({row.configuration.size for row in rows})
    named = [format_size(size) for size in sizes]
    return ", ".join(named) if len(named) <= _MOST_SIZES else f"{named[0]} to {named[-1]}"


def _hosts(run: Run, row: Row) -> tuple[str, str]:
    hosts = {each.rank: each.host for each in run.environments}
    first, second = (hosts.get(rank, f"rank {rank}") for rank in row.configuration.pair)
    return first, second


def _us(ns: float) -> str:
    return f"{significant(ns / 1e3, 2)} us"
