"""The rows of a run in tables: one for latencies and one for bandwidths, of datagrams apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.figure import BRIEF
from halftrip.analysis.rows import Row
from halftrip.report import columns
from halftrip.report.document import Document
from halftrip.report.fields import common, varying
from halftrip.report.layout import Column, Made, made_table
from halftrip.report.legend import legend
from halftrip.results.run import Run

_STYLES = {"ok": "", "caution": "yellow", "no": "red"}


class RowTable(NamedTuple):
    """Some rows of a run: what all of them have in common, and their table; `rtt`: with round trips
    in place of latencies."""

    rows: Sequence[Row]
    heading: str
    made: Made
    rtt: bool

    def legend(self, shown: Sequence[Column]) -> list[str]:
        """What the columns that are shown are, a line for each."""
        return legend(self.rows, shown, self.rtt)


def row_tables(document: Document, brief: bool) -> list[RowTable]:
    """The tables of all rows; `brief`: with the columns that people look for first."""
    groups = (
        [row for row in rows if (row.delivery is not None) == of_datagrams]
        for rows in (document.latency_rows, document.rate_rows)
        for of_datagrams in (False, True)
    )
    return [_row_table(document, rows, brief) for rows in groups if rows]


def _row_table(document: Document, rows: Sequence[Row], brief: bool) -> RowTable:
    # Where no pattern makes round trips, there is none to show.
    rtt = document.round_trips and any(map(columns.is_round_trip, rows))
    shown = [*path_columns(rows), *_figures(rows, rtt), columns.VERDICT, columns.CAUSE]
    if brief:
        shown = [column for column in shown if column.rank <= BRIEF]
    made = made_table(rows, shown, lambda row: _STYLES[row.verdict.word], _section, say_once=True)
    return RowTable(rows, heading(document.run, rows, brief), made, rtt)


def path_columns(rows: Sequence[Row]) -> list[Column]:
    """The transport, and all other settings in which the rows differ."""
    configurations = [row.configuration for row in rows]
    several = len({each.transport for each in configurations}) > 1
    fields = [*[columns.TRANSPORT] * several, *varying(configurations)]
    return [columns.setting_column(field) for field in fields]


def _figures(rows: Sequence[Row], rtt: bool) -> list[Column]:
    is_rate = rows[0].configuration.is_rate
    shown = list(columns.RATE_COLUMNS if is_rate else columns.latency_columns(rtt))
    if any(row.delivery is not None for row in rows):
        shown += columns.DELIVERY_COLUMNS
    if any(row.launches > 1 for row in rows):
        shown += columns.LAUNCH_COLUMNS
    return [*shown, columns.VERIFIED]


def heading(run: Run, rows: Sequence[Row], brief: bool) -> str:
    """What all rows have in common, and on which cores they were measured; `brief`: only what is
    not the default."""
    configurations = [row.configuration for row in rows]
    simulated = all(configuration.is_simulated for configuration in configurations)
    transports = dict.fromkeys(each.transport for each in configurations)
    shared = [*transports] if len(transports) == 1 else []
    shared += common(configurations, simulated, brief)
    state = run.header.plan.get("placement_state")
    if state is not None:
        shared.append(f"only while the cores are {state}")
    if simulated:
        return f"{', '.join(shared)}; virtual time, no machine"
    if brief:
        return ", ".join(shared)
    cores = [
        f"{e.rank} on {e.host}, {'any core' if e.core is None else f'core {e.core}'}"
        for e in run.first_ranks
    ]
    return ", ".join(shared) + (f"; rank {'; rank '.join(cores)}" if cores else "")


def _section(row: Row) -> tuple[object, ...]:
    """The settings that all rows of a section have in common."""
    configuration = row.configuration
    kind = (
        configuration.transport,
        configuration.pattern,
        configuration.mode,
        configuration.window,
    )
    return (*kind, configuration.pair, configuration.both_ends("wait"))
