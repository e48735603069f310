"""halftrip's own table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from halftrip.model import Case, Run
from halftrip.show.rows import Row, rows
from halftrip.units import format_size, significant

# What is written where a figure does not exist.
NOTHING = "-"


class Column(NamedTuple):
    """A column: its name and unit, and what it says of a row."""

    name: str
    unit: str
    cell: Callable[[Row], str]


# Fields of a case that get a column where the rows differ in them, else a place in the heading.
_FIELDS: tuple[tuple[str, Callable[[Case], str]], ...] = (
    ("pattern", lambda case: case.pattern),
    ("mode", lambda case: case.mode),
    ("buffers", lambda case: case.buffers),
    ("pages", lambda case: case.pages),
    ("memory", lambda case: case.memory),
    ("cache", lambda case: case.cache),
    ("ranks", lambda case: f"{case.pair[0]}-{case.pair[1]}"),
)


def _us(ns: float, digits: int = 3) -> str:
    return NOTHING if math.isnan(ns) else significant(ns / 1e3, digits)


def _interval(row: Row) -> str:
    low, high = row.summary.low, row.summary.high
    return NOTHING if math.isnan(low) else f"{_us(low, 4)} to {_us(high, 4)}"


def _samples(row: Row) -> str:
    times = f" x{row.exchanges}" if row.exchanges > 1 else ""
    return f"{row.summary.samples:,}{times}"


def _line(row: Row) -> str:
    if row.line is None:
        return NOTHING
    low, high = row.line
    return f"{low:.0f}" if high <= 1.1 * low else f"{low:.0f} to {high:.0f}"


_COLUMNS = (
    Column("size", "bytes", lambda row: format_size(row.case.size)),
    Column("latency", "us", lambda row: _us(row.summary.latency, 4)),
    Column("95 % interval", "us", _interval),
    Column("p99", "us", lambda row: _us(row.summary.p99)),
    Column("max", "us", lambda row: _us(row.summary.max)),
    Column("bandwidth", "MB/s", lambda row: significant(row.summary.bandwidth / 1e6, 3)),
    Column("first", "us", lambda row: _us(row.summary.first)),
    Column("samples", "", _samples),
    Column("line", "ns", _line),
)

LEGEND = (
    "latency: median of half a round trip; interval: of that median, 95 % confidence.",
    "p99, max: of the samples; a sample is one round trip, or the mean of as many as x says.",
    "bandwidth: size / latency, one direction, 1 MB = 10^6 bytes. first: the first exchange, half.",
    "line: a cache line to the other core and back, before and after the row (lowest to highest).",
)


def render(run: Run) -> Group:
    """The whole of what a run says: its rows, what was not measured, the bounds."""
    parts: list[RenderableType] = []
    table_rows = rows(run)
    if table_rows:
        parts += [_heading(run, table_rows), _table(table_rows)]
        parts += [Text(line, style="dim") for line in LEGEND]
        parts.append(Text())
        parts += [Text(line) for line in bounds(run)]
    parts += [Text(line) for line in skipped(run)]
    if run.interrupted is not None:
        parts.append(Text(f"interrupted: {run.interrupted}", style="bold red"))
    return Group(*parts)


def _varying(table_rows: Sequence[Row]) -> list[tuple[str, Callable[[Case], str]]]:
    return [(name, of) for name, of in _FIELDS if len({of(row.case) for row in table_rows}) > 1]


def _heading(run: Run, table_rows: Sequence[Row]) -> Text:
    varying = {name for name, _ in _varying(table_rows)}
    case = table_rows[0].case
    said = [f"{name} {of(case)}" for name, of in _FIELDS if name not in varying]
    cores = [
        f"{e.rank} on {e.host} {'any core' if e.core is None else f'core {e.core}'}"
        for e in run.environments
    ]
    return Text(", ".join(said) + (f"; rank {', rank '.join(cores)}" if cores else ""))


def _table(table_rows: Sequence[Row]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("transport\n", no_wrap=True)
    table.add_column("wait\n", no_wrap=True)
    varying = _varying(table_rows)
    for name, _ in varying:
        table.add_column(f"{name}\n", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(f"{column.name}\n{column.unit}", justify="right", no_wrap=True)
    table.add_column("flags\n", no_wrap=True)
    for row, following in zip(table_rows, [*table_rows[1:], None], strict=True):
        table.add_row(
            row.case.transport,
            row.case.wait,
            *(of(row.case) for _, of in varying),
            *(column.cell(row) for column in _COLUMNS),
            Text(" ".join(flag.name for flag in row.flags), style="yellow"),
            end_section=following is not None and following.case.transport != row.case.transport,
        )
    return table


def bounds(run: Run) -> list[str]:
    """The machine's own limits, one line each."""
    lines = []
    probes = [p for m in run.measurements if m.line for p in (m.line.before, m.line.after)]
    if probes:
        lines.append(
            f"bound: a cache line to the other core and back takes {np.median(probes):.0f} ns "
            f"(median of {len(probes)} probes, {min(probes):.0f} to {max(probes):.0f})"
        )
    if run.copies:
        copies = [f"{format_size(c.size)} {significant(c.size / c.ns, 3)}" for c in run.copies]
        lines.append(f"bound: memcpy in one rank, GB/s (10^9 bytes): {', '.join(copies)}")
    return lines


def skipped(run: Run) -> list[str]:
    """What was not measured and why, one line for each reason."""
    lines = []
    for skip in run.skips:
        what = skip.transport
        if skip.sizes is not None:
            what += f" {', '.join(format_size(size) for size in skip.sizes)}"
        lines.append(f"not measured: {what}: {skip.reason}")
    return lines
