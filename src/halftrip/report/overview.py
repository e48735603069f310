"""An overview of a run of several paths and sizes: a line for each path, and latencies by size."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from halftrip.report.cells import NOTHING, wrapped
from halftrip.report.columns import width_of
from halftrip.report.document import Document
from halftrip.report.fields import varying
from halftrip.report.rows import Row
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.units import format_size, significant

# The sizes that people know by heart, as far as they were measured.
_KNOWN_SIZES = (8, 1 << 10, 64 << 10, 1 << 20, 4 << 20)
_MARKS = {"ok": "", "caution": "~", "no": "!"}
_GAP = "   "
# With fewer sizes the table is as short.
_FEWEST_SIZES = 5


class _Path(NamedTuple):
    """The rows of one path: its ping-pong by size, and its row of the most messages per second."""

    name: str
    by_size: dict[int, Row]
    rate: Row | None


def has_overview(run: Run) -> bool:
    """Whether a run has paths and sizes enough for an overview: several of each, of one pair."""
    latency = [configuration for configuration in run.by_configuration if not configuration.is_rate]
    pairs = {(configuration.pair, configuration.thread) for configuration in latency}
    sizes = {configuration.size for configuration in latency}
    paths = {configuration.curve for configuration in latency}
    return len(pairs) == 1 and len(paths) > 1 and len(sizes) >= _FEWEST_SIZES


def lines(document: Document, width: int) -> list[Text]:
    """A line for each path, and the latencies by size, in lines of at most `width` columns."""
    paths = _paths(document)
    return [
        *(Text(line) for line in _table(_path_cells(paths), width)),
        Text(),
        *(Text(line) for line in _matrix(paths, width)),
    ]


def _paths(document: Document) -> list[_Path]:
    """The paths in the order of tables."""
    fields = [
        field
        for field in varying(row.configuration for row in document.latency_rows)
        if field.name != "wait"
    ]
    waits: dict[str, set[str]] = {}
    for row in document.latency_rows:
        waits.setdefault(row.configuration.transport, set()).add(
            row.configuration.both_ends("wait")
        )
    rates = {row.configuration.transport: row for row in document.rate_rows}
    found: dict[Configuration, _Path] = {}
    for row in document.latency_rows:
        configuration = row.configuration
        words = [configuration.transport, *(field.of(configuration) for field in fields)]
        if len(waits[configuration.transport]) > 1:
            words.append(configuration.both_ends("wait"))
        path = _Path(" ".join(words), {}, rates.get(configuration.transport))
        found.setdefault(configuration.curve, path).by_size[configuration.size] = row
    return list(found.values())


# The table of paths.


def _path_cells(paths: Sequence[_Path]) -> list[list[str]]:
    """A line for each path, under two lines of headings."""
    size = _common_size(paths)
    heads = ["transport", f"latency {format_size(size)} B", "95 %", "p99", "peak bandwidth", "n1/2"]
    units = ["", "us", "", "us", "GB/s", "B"]
    has_rate = any(path.rate is not None for path in paths)
    rate_size = next((path.rate.configuration.size for path in paths if path.rate is not None), 0)
    if has_rate:
        heads.append(f"messages {format_size(rate_size)} B")
        units.append("10^6/s")
    lines = [heads, units]
    for path in paths:
        row = path.by_size.get(size)
        peak = _peak(path)
        cells = [path.name, *_latency(row), *_bandwidth(peak), _half_size(path, peak)]
        if has_rate:
            cells.append(_rate(path.rate))
        lines.append(cells)
    return lines


def _common_size(paths: Sequence[_Path]) -> int:
    """8 bytes, or the smallest size of most paths."""
    counts = Counter(size for path in paths for size in path.by_size)
    most = max(counts.values())
    common = sorted(size for size, count in counts.items() if count == most)
    return 8 if 8 in common else common[0]


def _latency(row: Row | None) -> list[str]:
    if row is None or not row.summary.latency > 0:
        return [NOTHING, "", NOTHING]
    p99 = row.summary.p99.value
    return [
        f"{us(row.summary.latency)}{mark(row)}",
        width_of(row.verdict),
        NOTHING if math.isnan(p99) else us(p99),
    ]


def _peak(path: _Path) -> Row | None:
    """The row with most bandwidth."""
    known = [row for row in path.by_size.values() if row.summary.bandwidth > 0]
    return max(known, key=lambda row: row.summary.bandwidth, default=None)


def _bandwidth(peak: Row | None) -> list[str]:
    if peak is None:
        return [NOTHING]
    rate = significant(peak.summary.bandwidth / 1e9, 3)
    return [f"{rate}{mark(peak)} at {format_size(peak.configuration.size)}"]


def _half_size(path: _Path, peak: Row | None) -> str:
    """The smallest size with half of the largest bandwidth: Hockney's n1/2."""
    if peak is None:
        return NOTHING
    half = peak.summary.bandwidth / 2
    return format_size(
        min(size for size, row in path.by_size.items() if row.summary.bandwidth >= half)
    )


def _rate(row: Row | None) -> str:
    if row is None or not row.rate > 0:
        return NOTHING
    return f"{significant(row.rate / 1e6, 3)}{mark(row)}"


# The latencies by size.


def _matrix(paths: Sequence[_Path], width: int) -> list[str]:
    sizes = _shown_sizes(paths)
    lines = [["one-way latency, us", *(format_size(size) for size in sizes)]]
    for path in paths:
        rows = [path.by_size.get(size) for size in sizes]
        lines.append([path.name, *(NOTHING if row is None else _cell(row) for row in rows)])
    shown = _table(lines, width)
    used = {row.verdict.word for path in paths for row in path.by_size.values()}
    says = {
        "caution": "~ interval wider than 2 %, or a cause that matters",
        "no": "! wider than 10 %, or none",
    }
    marks = [text for word, text in says.items() if word in used]
    return [*shown, *wrapped("", "   ".join(marks), width)]


def _shown_sizes(paths: Sequence[_Path]) -> list[int]:
    measured = sorted({size for path in paths for size in path.by_size})
    known = [size for size in _KNOWN_SIZES if size in measured]
    if len(known) >= min(3, len(measured)) or len(measured) <= len(_KNOWN_SIZES):
        return known if len(measured) > len(_KNOWN_SIZES) else measured
    last = len(measured) - 1
    steps = len(_KNOWN_SIZES) - 1
    return [measured[last * step // steps] for step in range(steps + 1)]


def _cell(row: Row) -> str:
    return f"{us(row.summary.latency)}{mark(row)}" if row.summary.latency > 0 else NOTHING


# Cells.


def us(ns: float) -> str:
    return significant(ns / 1e3, 3)


def mark(row: Row) -> str:
    return _MARKS[row.verdict.word]


def _table(lines: Sequence[Sequence[str]], width: int) -> list[str]:
    """Lines of text with the first column to the left and the others to the right; columns that
    the width has no room for are left out, from the last one."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    gap = _GAP
    while len(widths) > 2 and sum(widths) + len(gap) * (len(widths) - 1) > width:
        if len(gap) > 1:
            gap = gap[1:]
        else:
            widths.pop()
            gap = _GAP
    return [
        gap.join(
            cell.ljust(size) if number == 0 else cell.rjust(size)
            for number, (cell, size) in enumerate(zip(line, widths, strict=False))
        ).rstrip()
        for line in lines
    ]
