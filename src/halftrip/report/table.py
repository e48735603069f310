"""halftrip's own table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from halftrip.analysis.verdict import Verdict
from halftrip.report import columns, notes
from halftrip.report.causes import trust
from halftrip.report.cells import NOTHING, wrapped
from halftrip.report.columns import Column
from halftrip.report.document import Document
from halftrip.report.fields import common, varying
from halftrip.report.legend import legend
from halftrip.report.rows import Row
from halftrip.results.run import Run

# Of the lines under a table.
_WIDTH_OF_LINES = 100
_STYLES = {"ok": "", "caution": "yellow", "no": "red"}


def render(document: Document) -> Group:
    """The whole document: its rows with their legend, the baselines, what was not measured."""
    parts: list[RenderableType] = []
    for table_rows in (document.latency_rows, document.rate_rows):
        if table_rows:
            # Where no pattern makes round trips, there is none to show.
            rtt = document.round_trips and any(map(columns.is_round_trip, table_rows))
            shown = _columns(table_rows, rtt)
            parts += [_heading(document.run, table_rows), _table(table_rows, shown)]
            parts += [Text(line, style="dim") for line in legend(table_rows, shown, rtt)]
            is_rate = table_rows[0].configuration.is_rate
            curves = [curve for curve in document.curves if curve.is_rate == is_rate]
            parts += [Text(line) for line in notes.breakpoints(curves)]
            parts.append(Text())
    if document.rows:
        parts += [Text(line) for line in notes.aggregates(document.aggregates)]
        parts += [Text(line) for line in notes.baselines(document.baselines)]
        lines = wrapped("trust: ", trust(document.rows), _WIDTH_OF_LINES)
        parts += [Text(line, style="yellow") for line in lines]
    parts += [Text(line) for line in notes.skips(document.skips)]
    parts += [Text(line, style="yellow") for line in notes.warnings(document)]
    parts += [Text(line, style="bold red") for line in notes.failures(document.failures)]
    if document.interrupted is not None:
        parts.append(Text(f"interrupted: {document.interrupted}", style="bold red"))
    return Group(*parts)


def _columns(table_rows: Sequence[Row], rtt: bool) -> list[Column]:
    is_rate = table_rows[0].configuration.is_rate
    shown = list(columns.RATE_COLUMNS if is_rate else columns.latency_columns(rtt))
    if any(row.delivery is not None for row in table_rows):
        shown += columns.DELIVERY_COLUMNS
    if any(row.launches > 1 for row in table_rows):
        shown += columns.LAUNCH_COLUMNS
    if any(row.verified is not None for row in table_rows):
        shown.append(columns.VERIFIED)
    return [
        column
        for column in shown
        if not column.optional or any(column.cell(row) != NOTHING for row in table_rows)
    ]


def _heading(run: Run, table_rows: Sequence[Row]) -> Text:
    """What all rows have in common, and on which cores they were measured."""
    configurations = [row.configuration for row in table_rows]
    simulated = all(configuration.is_simulated for configuration in configurations)
    shared = common(configurations, simulated)
    state = run.header.plan.get("placement_state")
    if state is not None:
        shared.append(f"only while the cores are {state}")
    if simulated:
        return Text(f"{', '.join(shared)}; simulated: virtual time, no machine")
    cores = [
        f"{e.rank} on {e.host}, {'any core' if e.core is None else f'core {e.core}'}"
        for e in run.environments
        if e.launch == 0
    ]
    return Text(", ".join(shared) + (f"; rank {'; rank '.join(cores)}" if cores else ""))


def _table(table_rows: Sequence[Row], shown: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("transport\n", no_wrap=True)
    table.add_column("wait\n", no_wrap=True)
    fields = varying(row.configuration for row in table_rows)
    for field in fields:
        table.add_column(f"{field.name}\n", no_wrap=True)
    for column in shown:
        table.add_column(f"{column.name}\n{column.unit}", justify="right", no_wrap=True)
    table.add_column("verdict\n", no_wrap=True)
    for row, following in zip(table_rows, [*table_rows[1:], None], strict=True):
        table.add_row(
            row.configuration.transport,
            row.configuration.both_ends("wait"),
            *(field.of(row.configuration) for field in fields),
            *(column.cell(row) for column in shown),
            _verdict(row.verdict),
            end_section=following is not None and _section(following) != _section(row),
        )
    return table


def _verdict(verdict: Verdict) -> Text:
    """The word, and the name of the cause."""
    if verdict.cause is None:
        return Text(verdict.word)
    return Text(f"{verdict.word}: {verdict.cause.name}", style=_STYLES[verdict.word])


def _section(row: Row) -> tuple[object, ...]:
    """The settings that all rows between two section lines have in common."""
    configuration = row.configuration
    kind = (
        configuration.transport,
        configuration.pattern,
        configuration.mode,
        configuration.window,
    )
    return (*kind, configuration.pair, configuration.both_ends("wait"))
