"""The view of the tails of each row: quantiles with their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.rows import Row, in_every_state
from halftrip.render.blocks import (
    SPACE,
    Column,
    Items,
    Legend,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.document import Document
from halftrip.report.numbers import number, supported_digits, width_of
from halftrip.stats.estimate import Estimate
from halftrip.views.columns import SIZE, column, one_way_times
from halftrip.views.row_tables import path_columns

_TITLE = "Tails"
_LEGEND = (
    "Of single iterations: {0}, or whole windows. A row whose samples hold several "
    "has only p50, the median of samples, as in the table. ±: its 95 % interval. A "
    "quantile is not given where fewer than twelve samples beyond it count as independent: slow "
    "ones come in bursts. max: the longest that was seen; a longer run exceeds it."
)


def tails(document: Document) -> View:
    """A table with a line for each row, and its legend."""
    if not document.rows:
        return View([Paragraph("no tails: nothing was measured")], title=_TITLE)
    shown = _table(document)
    times_of = "round trips" if document.round_trips else "messages one way"
    legend = Legend([_LEGEND.format(times_of)])
    return View([shown, SPACE, Items(shown.without_column), legend], title=_TITLE)


def _table(document: Document) -> Table:
    """A line for each of its rows, of which there are some."""
    rows = in_every_state(document.rows)
    one_way = one_way_times(document.round_trips)

    def times(row: Row) -> float:
        return (
            row.configuration.messages_per_iteration if row.configuration.is_rate else one_way(row)
        )

    def quantile(name: str, value: Callable[[Row], Estimate], rank: int) -> Column:
        return Column(
            name,
            "us",
            lambda row: _quantile(value(row), times(row)),
            rank=rank,
            key=f"{name.replace('.', '')}_ns",
            value=lambda row: Estimate(*value(row)[:3]).scaled(times(row)),
        )

    columns = (
        *path_columns(rows),
        SIZE,
        *([column("state")] if any(row.state for row in rows) else []),
        quantile("p50", lambda row: row.summary.time, ALWAYS),
        quantile("p90", lambda row: row.summary.p90, MORE),
        quantile("p99", lambda row: row.summary.p99, BRIEF),
        quantile("p99.9", lambda row: row.summary.p999, BRIEF),
        column("max_ns", times, rank=BRIEF),
        column("samples"),
        Column("slices", "", lambda row: str(row.slices), rank=MORE + 2),
    )
    return table(rows, columns).titled("Quantiles")


def _quantile(found: Estimate, times: float) -> str:
    """A quantile, and the wider side of its interval as a share of it."""
    if not found.value > 0 or math.isnan(found.low):
        return number(found.value * times, 3, 1e3)
    width = max(found.value - found.low, found.high - found.value) / found.value
    digits = min(supported_digits(width), 4)
    return f"{number(found.value * times, digits, 1e3)} {width_of(width)}"
