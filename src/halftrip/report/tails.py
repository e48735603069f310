"""The view of the tails of each row: quantiles with their intervals."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group
from rich.text import Text

from halftrip.report.cells import NOTHING, number
from halftrip.report.columns import one_way_times
from halftrip.report.document import Document
from halftrip.report.fields import Field, varying
from halftrip.report.grid import Figure, grid
from halftrip.report.rows import Row
from halftrip.stats.tails import Quantile
from halftrip.units import format_size

_LEGEND = (
    "Of single iterations: messages one way, or whole windows. A row whose samples hold several",
    "has only p50, the median of samples, as in the table. In brackets: the 95 % interval. A",
    "quantile is not given where fewer than twelve samples beyond it count as independent: slow",
    "ones come in bursts. max: the longest that was seen; a longer run exceeds it.",
)


def render_tails(document: Document) -> Group:
    """A table with a line for each row, and its legend."""
    rows = document.rows
    if not rows:
        return Group(Text("no tails: nothing was measured"))
    one_way = one_way_times(document.round_trips)

    def times(row: Row) -> float:
        return (
            row.configuration.messages_per_iteration if row.configuration.is_rate else one_way(row)
        )

    def quantile(value: Callable[[Row], Quantile]) -> Callable[[Row], str]:
        return lambda row: _quantile(value(row), times(row))

    figures = (
        Figure("transport", "", lambda row: row.configuration.transport, True),
        Figure("wait", "", lambda row: row.configuration.both_ends("wait"), True),
        *(
            Figure(field.name, "", _field(field), True)
            for field in varying(r.configuration for r in rows)
        ),
        Figure("size", "bytes", lambda row: format_size(row.configuration.size)),
        Figure("p50", "us", quantile(lambda row: Quantile(*row.summary[:3]))),
        Figure("p90", "us", quantile(lambda row: row.summary.p90)),
        Figure("p99", "us", quantile(lambda row: row.summary.p99)),
        Figure("p99.9", "us", quantile(lambda row: row.summary.p999)),
        Figure("max", "us", lambda row: number(row.summary.max * times(row), 3, 1e3)),
        Figure("samples", "", lambda row: f"{row.summary.samples:,}"),
        Figure("slices", "", lambda row: str(row.slices)),
    )
    made = grid(rows, figures)
    lines = [f"not known here: {', '.join(made.unknown)}"] if made.unknown else []
    return Group(made.table, *map(Text, lines), *(Text(line, style="dim") for line in _LEGEND))


def _quantile(found: Quantile, times: float) -> str:
    value, low, high = (number(ns * times, 4, 1e3) for ns in found)
    return f"{value} [{low}, {high}]" if low != NOTHING else value


def _field(field: Field) -> Callable[[Row], str]:
    return lambda row: field.of(row.configuration)
