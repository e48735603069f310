"""Overviews: of a run of several paths and sizes, a line for each path, and latencies by size; of
an imported text with many tables, a line for each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.flags.table import NO_INTERVAL
from halftrip.analysis.rows import Row
from halftrip.plan.shown import shown_sizes
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, table
from halftrip.report.document import Document
from halftrip.report.fields import FIELDS, varying
from halftrip.report.numbers import NOTHING, in_unit, marked, width_of
from halftrip.results.configuration import Configuration
from halftrip.results.reported import Variant
from halftrip.units import format_size, size_in_words
from halftrip.views import states
from halftrip.views.columns import TRANSPORT, setting_column

_MARKS_SAY = {
    "caution": "~ interval wider than 2 %, or a cause that matters",
    "no": "! wider than 10 %, or no interval",
}
_NO_OF_SHORT_RUN = "! wider than 10 %, or no interval yet"
# With fewer sizes the table is as short.
_FEWEST_SIZES = 5


class _Path(NamedTuple):
    """The rows of one path: its ping-pong by size, and its row of the most messages per second."""

    name: str
    by_size: dict[int, Row]
    rate: Row | None


def has_overview(rows: Sequence[Row]) -> bool:
    """Whether rows have paths and sizes enough for an overview: several of each, of one pair."""
    latency = [row.configuration for row in _undelayed(rows) if not row.configuration.is_rate]
    pairs = {(configuration.pair, configuration.thread) for configuration in latency}
    sizes = {configuration.size for configuration in latency}
    paths = {configuration.curve for configuration in latency}
    known = all(configuration.size_known for configuration in latency)
    return known and len(pairs) == 1 and len(paths) > 1 and len(sizes) >= _FEWEST_SIZES


def _undelayed(rows: Sequence[Row]) -> list[Row]:
    """The rows whose times are the path's alone."""
    return [row for row in rows if not row.configuration.delay]


def blocks(document: Document) -> list[Block]:
    """A line for each path, and the latencies by size."""
    paths = _paths(document)
    rows = [row for path in paths for row in path.by_size.values()]
    used = {row.verdict.word for row in rows}
    says = _MARKS_SAY | ({"no": _NO_OF_SHORT_RUN} if document.is_short else {})
    return [
        table(paths, _path_columns(paths)).titled("Paths"),
        SPACE,
        table(paths, _size_columns(paths)).titled("Latency by size"),
        Items(
            [
                *(said for word, said in says.items() if word in used),
                *filter(None, (states.words(rows), states.other_states(rows))),
                f"95 %: {states.over(rows)}",
            ]
        ),
    ]


def _paths(document: Document) -> list[_Path]:
    """The paths in the order of tables."""
    rows = _undelayed(document.latency_rows)
    fields = [field for field in varying(row.configuration for row in rows) if field.name != "wait"]
    waits: dict[str, set[str]] = {}
    for row in rows:
        waits.setdefault(row.configuration.transport, set()).add(
            row.configuration.both_ends("wait")
        )
    rates = _rates(_undelayed(document.rate_rows))
    found: dict[Configuration, _Path] = {}
    for row in rows:
        configuration = row.configuration
        words = [configuration.transport, *(field.of(configuration) for field in fields)]
        if len(waits[configuration.transport]) > 1:
            words.append(configuration.both_ends("wait"))
        path = _Path(" ".join(words), {}, rates.get(_path_of(configuration)))
        found.setdefault(configuration.curve, path).by_size[configuration.size] = row
    return list(found.values())


def _path_of(configuration: Configuration) -> tuple[str, Variant]:
    return configuration.transport, configuration.variant


def _rates(rows: Sequence[Row]) -> dict[tuple[str, Variant], Row]:
    """By transport and variant the row of the smallest messages that most of them have."""
    rows = [row for row in rows if row.configuration.size_known]
    counts = Counter(row.configuration.size for row in rows)
    size = min(counts, key=lambda size: (-counts[size], size), default=0)
    of_size = [row for row in rows if row.configuration.size == size]
    best = sorted(of_size, key=lambda row: row.rate if row.rate > 0 else 0.0)
    return {_path_of(row.configuration): row for row in best}


# The table of paths.


def _path_columns(paths: Sequence[_Path]) -> list[Column]:
    size = _common_size(paths)

    def of_row(cell: Callable[[Row], str]) -> Callable[[_Path], str]:
        return lambda path: cell(path.by_size[size]) if size in path.by_size else NOTHING

    columns = [
        Column("transport", "", lambda path: path.name, is_text=True, rank=ALWAYS),
        Column(f"latency {size_in_words(size)}", "us", of_row(_latency), rank=ALWAYS),
        Column("95 %", "", of_row(lambda row: width_of(row.verdict.width)), rank=BRIEF),
        Column("p99", "us", of_row(lambda row: in_unit(row.summary.p99.value, "us")), rank=MORE),
        Column("peak bandwidth", "GB/s", _bandwidth, rank=BRIEF),
        Column("n1/2", "B", _half_size, rank=MORE + 1),
    ]
    rated = [path.rate for path in paths if path.rate is not None]
    if rated:
        name = f"messages {size_in_words(rated[0].configuration.known_size)}"
        columns.append(Column(name, "10^6/s", lambda path: _rate(path.rate), rank=MORE))
    return columns


def _common_size(paths: Sequence[_Path]) -> int:
    """8 bytes, or the smallest size of most paths."""
    counts = Counter(size for path in paths for size in path.by_size)
    most = max(counts.values())
    common = sorted(size for size, count in counts.items() if count == most)
    return 8 if 8 in common else common[0]


def _peak(path: _Path) -> Row | None:
    """The row with most bandwidth."""
    known = [row for row in path.by_size.values() if row.summary.bandwidth > 0]
    return max(known, key=lambda row: row.summary.bandwidth, default=None)


def _bandwidth(path: _Path) -> str:
    peak = _peak(path)
    if peak is None:
        return NOTHING
    rate = marked(peak, peak.summary.bandwidth, "GB/s", 3)
    return f"{rate} at {format_size(peak.configuration.known_size)}"


def _half_size(path: _Path) -> str:
    """The size from which on the bandwidth is at least half of the largest, up to that of the
    largest: Hockney's n1/2."""
    peak = _peak(path)
    if peak is None:
        return NOTHING
    half = peak.configuration.size
    for size in sorted((s for s in path.by_size if s <= half), reverse=True):
        if path.by_size[size].summary.bandwidth < peak.summary.bandwidth / 2:
            break
        half = size
    return format_size(half)


def _rate(row: Row | None) -> str:
    if row is None or not row.rate > 0:
        return NOTHING
    return marked(row, row.rate, "10^6/s", 3)


# The latencies by size.


def _size_columns(paths: Sequence[_Path]) -> list[Column]:
    sizes = shown_sizes({size for path in paths for size in path.by_size})

    def of_size(size: int) -> Callable[[_Path], str]:
        return lambda path: _latency(path.by_size[size]) if size in path.by_size else NOTHING

    return [
        Column("one-way latency, us", "", lambda path: path.name, is_text=True, rank=ALWAYS),
        *(Column(format_size(size), "", of_size(size), rank=BRIEF) for size in sizes),
    ]


def _latency(row: Row) -> str:
    return marked(row, row.summary.latency, "us", 3) if row.summary.latency > 0 else NOTHING


# Of an imported text with many tables: a line for each curve, by the name that its author gave it.

# So many rows can be read one by one.
_FEW_ROWS = 40
_TABLES_SAY = (
    "a line for each table of the text. latency: one way, of its smallest size; peak: its most "
    "bandwidth, in all directions together; 1 MB = 10^6 bytes. ~ and !: caution and no; "
    "--details has all rows, -p and -s choose some."
)


def has_tables(document: Document) -> bool:
    """Whether a run is imported, and has many rows of several curves, of times as well as of
    bandwidths, of which no size is common to all."""
    curves = {row.configuration.curve for row in document.rows}
    both = bool(document.latency_rows) and bool(document.rate_rows)
    is_long = len(document.rows) > _FEW_ROWS
    return bool(document.run.sources) and both and is_long and len(curves) > 1


def blocks_of_tables(document: Document) -> list[Block]:
    """A line for each curve, in the order of the text."""
    curves: dict[Configuration, list[Row]] = {}
    for row in sorted(document.rows, key=_place):
        curves.setdefault(row.configuration.curve, []).append(row)
    every = [sorted(rows, key=lambda row: row.configuration.size) for rows in curves.values()]
    shown = table(every, [*_curve_columns(document), *_FIGURES])
    return [shown.titled("Tables"), SPACE, Legend([_TABLES_SAY])]


def _place(row: Row) -> int:
    return min((each.place for each in row.reported), default=0)


def _curve_columns(document: Document) -> list[Column]:
    """What tells the curves apart: first the words of the text itself."""
    configurations = [row.configuration for row in document.rows]
    fields = sorted(varying(configurations), key=lambda field: field in FIELDS)
    several = len({each.transport for each in configurations}) > 1
    return [
        setting_column(field, lambda rows: rows[0].configuration)
        for field in [*[TRANSPORT] * several, *fields]
    ]


def _ends(rows: Sequence[Row]) -> str:
    ends = [format_size(rows[n].configuration.known_size) for n in (0, -1)]
    return " to ".join(dict.fromkeys(ends))


def _latency_of_smallest(rows: Sequence[Row]) -> str:
    row = rows[0]
    if row.configuration.is_rate or not row.summary.latency > 0:
        return NOTHING
    return marked(row, row.summary.latency, "us", 3)


def _peak_of(rows: Sequence[Row]) -> str:
    known = [row for row in rows if row.bandwidth > 0]
    if not known:
        return NOTHING
    best = max(known, key=lambda row: row.bandwidth)
    at = f" at {format_size(best.configuration.known_size)}" if len(rows) > 1 else ""
    return f"{marked(best, best.bandwidth, 'MB/s', 3)}{at}"


def _causes(rows: Sequence[Row]) -> str:
    """The causes of rows that are not ok; that they are single figures, where it is nothing else
    in any of them."""
    causes = [row.verdict.cause.name for row in rows if row.verdict.cause is not None]
    others = [cause for cause in causes if cause != NO_INTERVAL]
    return ", ".join(dict.fromkeys(others or causes))


_FIGURES = (
    Column("sizes", "bytes", _ends, rank=ALWAYS),
    Column("latency", "us", _latency_of_smallest, rank=ALWAYS),
    Column("peak", "MB/s", _peak_of, rank=ALWAYS),
    Column("cause", "", _causes, is_text=True, rank=BRIEF),
)
