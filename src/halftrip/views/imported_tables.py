"""An overview of an imported text that has many tables: a line for each curve, with the name that
its author has given it."""

from __future__ import annotations

from collections.abc import Sequence

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.analysis.rows import Row
from halftrip.analysis.verdict import NO_INTERVAL
from halftrip.render.blocks import SPACE, Block, Column, Legend, table
from halftrip.report.document import Document
from halftrip.report.fields import FIELDS, varying
from halftrip.report.numbers import NOTHING, marked
from halftrip.results.configuration import Configuration
from halftrip.units import format_size
from halftrip.views.columns import TRANSPORT, setting_column

# So many rows can be read one by one.
_FEW_ROWS = 40
_SAYS = (
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


def blocks(document: Document) -> list[Block]:
    """A line for each curve, in the order of the text."""
    curves: dict[Configuration, list[Row]] = {}
    for row in sorted(document.rows, key=_place):
        curves.setdefault(row.configuration.curve, []).append(row)
    every = [sorted(rows, key=lambda row: row.configuration.size) for rows in curves.values()]
    shown = table(every, [*_path_columns(document), *_FIGURES])
    return [shown._replace(title=["Tables"]), SPACE, Legend([_SAYS])]


def _place(row: Row) -> int:
    return min((each.place for each in row.reported), default=0)


def _path_columns(document: Document) -> list[Column]:
    """What tells the curves apart: first the words of the text itself."""
    configurations = [row.configuration for row in document.rows]
    fields = sorted(varying(configurations), key=lambda field: field in FIELDS)
    several = len({each.transport for each in configurations}) > 1
    return [
        setting_column(field, lambda rows: rows[0].configuration)
        for field in [*[TRANSPORT] * several, *fields]
    ]


def _sizes(rows: Sequence[Row]) -> str:
    ends = [format_size(rows[n].configuration.known_size) for n in (0, -1)]
    return " to ".join(dict.fromkeys(ends))


def _latency(rows: Sequence[Row]) -> str:
    row = rows[0]
    if row.configuration.is_rate or not row.summary.latency > 0:
        return NOTHING
    return marked(row, row.summary.latency, "us", 3)


def _peak(rows: Sequence[Row]) -> str:
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
    Column("sizes", "bytes", _sizes, is_text=True, rank=ALWAYS),
    Column("latency", "us", _latency, rank=ALWAYS),
    Column("peak", "MB/s", _peak, rank=ALWAYS),
    Column("cause", "", _causes, is_text=True, rank=BRIEF),
)
