"""The tables of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halftrip.analysis.figure import ALWAYS
from halftrip.page.asked import counted
from halftrip.page.blocks import Block, Folded, Items, Said, Tabled
from halftrip.report import cost, side_by_side, system_log, tails
from halftrip.report.causes import groups
from halftrip.report.document import Document
from halftrip.report.fields import name_of, varying
from halftrip.report.layout import Column, Line, Made, Table, said_once, without_column
from halftrip.report.row_tables import RowTable, row_tables
from halftrip.results.run import Run
from halftrip.texts import printable

# Of more lines of a table, so many at even distances are shown: a page has to open.
_MOST_LINES = 1000
# Of a system log, which has several tables for each host.
_MOST_OF_LOG = 200
_MARKS_SAY = "~ caution, ! no: see how far to trust them."


def of_rows(document: Document) -> list[Block]:
    """The figures that people look for first, and, folded, all."""
    blocks: list[Block] = []
    for brief, full in zip(
        row_tables(document, brief=True), row_tables(document, brief=False), strict=True
    ):
        blocks.append(_of_rows(brief))
        if len(full.made.table.columns) > len(brief.made.table.columns):
            blocks.append(Folded("All figures of these rows", [_of_rows(full)]))
    return blocks


def _of_rows(found: RowTable) -> Tabled:
    made = found.made
    legend = [*said_once(made), *without_column(made), *found.legend(made.table.columns)]
    title = found.heading or ("Bandwidth" if _is_rate(found) else "Latency")
    return _shortened(title, made, legend, _MOST_LINES)


def _is_rate(found: RowTable) -> bool:
    return found.rows[0].configuration.is_rate


def of_several(documents: Sequence[Document]) -> list[Block]:
    """The rows of several runs side by side."""
    return [
        _shortened(part.heading, part.made, [_MARKS_SAY], _MOST_LINES)
        for part in side_by_side.parts(documents)
    ]


def of_tails(document: Document) -> list[Block]:
    """Quantiles with their intervals."""
    if not document.rows or document.run.sources:
        return []
    made = tails.tails_table(document)
    legend = [*without_column(made), tails.legend(document)]
    return [_shortened("Quantiles", made, legend, _MOST_LINES)]


def of_cost(document: Document) -> list[Block]:
    """What each row has cost both ends."""
    made = cost.cost_table(document)
    if made is None:
        return []
    legend = [*without_column(made), *cost.legend(document)]
    return [Folded("Cost of each row", [_shortened("Cost of each row, at both ends", made, legend,
                                                   _MOST_LINES)])]  # fmt: skip


def of_system_log(run: Run) -> list[Block]:
    """What every host's counters have counted."""
    hosts = system_log.host_tables(run)
    blocks: list[Block] = []
    for host in hosts:
        for title, made in host.tables:
            legend = without_column(made)
            table = _shortened(title, made, legend, _MOST_OF_LOG)
            blocks.append(Folded(title, [table]))
    said = [note for host in hosts for note in host.notes]
    if said:
        blocks.append(Items(said))
    if hosts:
        blocks += [Said(line) for line in (system_log.LEGEND, *system_log.log_cost(run))]
    return blocks


def of_causes(document: Document) -> list[Block]:
    """Why rows are not ok: the causes, what to do about each, and how many rows have it."""
    found = groups(document)
    if len(found) < 2:
        # The sentence about trust has said it.
        return []
    columns = [_text("cause"), _column("rows", ""), _text("for example"), _text("what to do")]
    lines = [
        _line(group.cause.name, str(len(group.rows)), group.example, group.cause.advice)
        for group in found
    ]
    return [Tabled("Why rows are not ok", Table(columns, lines))]


def of_flag(document: Document, name: str) -> list[Block]:
    """The rows with a flag, by what to do about it."""
    fields = varying(row.configuration for row in document.rows)
    names = document.run.names
    blocks: list[Block] = []
    found = [(row, flag) for row in document.rows for flag in row.flags if flag.name == name]
    for advice in dict.fromkeys(flag.advice for _, flag in found):
        alike = [(row, flag) for row, flag in found if flag.advice == advice]
        lines = [_line(name_of(row.configuration, fields, names), flag.seen) for row, flag in alike]
        table = Table([_text("row"), _text("seen")], lines)
        made = _part(table, _MOST_LINES)
        part = f", {len(made.lines)} of them" if len(made.lines) < len(lines) else ""
        title = f"{name}: {counted(len(lines), 'row')}{part}"
        blocks += [Said(advice, f"{name}"), Folded(f"{counted(len(lines), 'row')} with {name}",
                                                   [Tabled(title, made)])]  # fmt: skip
    return blocks


def _line(*cells: str) -> Line:
    return Line([printable(cell) for cell in cells])


def _column(name: str, unit: str, is_text: bool = False) -> Column:
    cell: Callable[..., str] = str
    return Column(name, unit, cell, is_text, rank=ALWAYS)


def _text(name: str) -> Column:
    return _column(name, "", True)


def _shortened(title: str, made: Made, legend: Sequence[str], most: int) -> Tabled:
    table = _part(made.table, most)
    count = len(made.table.lines)
    said = (
        [f"{len(table.lines)} of {count:,} rows, evenly chosen"] if count > len(table.lines) else []
    )
    return Tabled(printable(title), table, [*said, *map(printable, legend)])


def _part(table: Table, most: int) -> Table:
    """The table, or of a longer one so many lines at even distances."""
    last = len(table.lines) - 1
    if last < most:
        return table
    return table._replace(lines=[table.lines[last * n // (most - 1)] for n in range(most)])
