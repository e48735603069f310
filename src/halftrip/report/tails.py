"""The view of the tails of each row: quantiles with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

from rich.console import Group
from rich.text import Text

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.rows import Row
from halftrip.report.columns import SIZE, column, one_way_times
from halftrip.report.document import Document
from halftrip.report.layout import Column, Made, made_table, view
from halftrip.report.numbers import number, supported_digits, width_of
from halftrip.report.row_tables import path_columns
from halftrip.stats.estimate import Estimate

_LEGEND = (
    "Of single iterations: {0}, or whole windows. A row whose samples hold several "
    "has only p50, the median of samples, as in the table. ±: its 95 % interval. A "
    "quantile is not given where fewer than twelve samples beyond it count as independent: slow "
    "ones come in bursts. max: the longest that was seen; a longer run exceeds it."
)


def render_tails(document: Document, width: int | None = None) -> Group:
    """A table with a line for each row, and its legend."""
    if not document.rows:
        return Group(Text("no tails: nothing was measured"))
    return view(tails_table(document), width, [legend(document)])


def legend(document: Document) -> str:
    """What the columns of the table are."""
    times_of = "round trips" if document.round_trips else "messages one way"
    return _LEGEND.format(times_of)


def tails_table(document: Document) -> Made:
    """A line for each of its rows, of which there are some."""
    rows = document.rows
    one_way = one_way_times(document.round_trips)

    def times(row: Row) -> float:
        return (
            row.configuration.messages_per_iteration if row.configuration.is_rate else one_way(row)
        )

    def quantile(value: Callable[[Row], Estimate]) -> Callable[[Row], str]:
        return lambda row: _quantile(value(row), times(row))

    columns = (
        *path_columns(rows),
        SIZE,
        Column("p50", "us", quantile(lambda row: Estimate(*row.summary[:3])), rank=ALWAYS),
        Column("p90", "us", quantile(lambda row: row.summary.p90), rank=MORE),
        Column("p99", "us", quantile(lambda row: row.summary.p99), rank=BRIEF),
        Column("p99.9", "us", quantile(lambda row: row.summary.p999), rank=BRIEF),
        column("max_ns", times, rank=BRIEF),
        column("samples"),
        Column("slices", "", lambda row: str(row.slices), rank=MORE + 2),
    )
    return made_table(rows, columns)


def _quantile(found: Estimate, times: float) -> str:
    """A quantile, and the wider side of its interval as a share of it."""
    if not found.value > 0 or math.isnan(found.low):
        return number(found.value * times, 3, 1e3)
    width = max(found.value - found.low, found.high - found.value) / found.value
    digits = min(supported_digits(width), 4)
    return f"{number(found.value * times, digits, 1e3)} {width_of(width)}"
