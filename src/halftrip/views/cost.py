"""The view of what each row has cost both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from halftrip.analysis.figure import ALWAYS, BRIEF, MORE, figures_of
from halftrip.analysis.figures import COSTS, USAGE
from halftrip.analysis.rows import Row
from halftrip.analysis.usage import ENDS, EndUsage, MessageCost
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
from halftrip.report.numbers import NOTHING, percent
from halftrip.stats.estimate import Estimate
from halftrip.views.columns import SIZE, column, columns_of
from halftrip.views.estimates import estimate_column
from halftrip.views.row_tables import path_columns


class End(NamedTuple):
    """One end of a row, 0 for the initiator or 1, and what it has used."""

    row: Row
    number: int
    used: EndUsage


def _busy_poll(end: End) -> str:
    return "busy-poll" if end.used.usage.is_busy_poll else ""


def _of_row(column: Column) -> Column:
    """A column about the whole row, which only the first of its two lines has."""
    value = column.value or column.cell
    return column._replace(
        cell=lambda end: column.cell(end.row) if end.number == 0 else "",
        value=lambda end: value(end.row),
    )


def _core(end: End) -> str:
    core = end.used.usage.core
    return NOTHING if core is None else str(core.number)


def _cost(end: End) -> MessageCost | None:
    return end.row.costs[end.number]


def _of_message(name: str) -> Column:
    """A counter for each message, with its interval."""

    def of(end: End) -> Estimate | None:
        cost = _cost(end)
        return None if cost is None else getattr(cost, name)

    return estimate_column(name, "per message", of, 1.0, BRIEF)._replace(is_text=False)


_FIRST = (
    _of_row(column("total_bandwidth_bytes_per_s", digits=3, rank=MORE)),
    Column(
        "end",
        "",
        lambda end: f"{ENDS[end.number]} {end.row.configuration.pair[end.number]}",
        True,
        rank=ALWAYS,
    ),
    Column("core", "", _core),
    "load",
    Column("user", "%", lambda end: percent(end.used.usage.user_share)),
    Column("system", "%", lambda end: percent(end.used.usage.system_share)),
    *("kernel_share", "cpu_s_per_gb", "elapsed_s", "voluntary_switches", "involuntary_switches"),
    *("waited_share", "others_share", "interrupts_share", "unaccounted_share"),
    *("throttled_share", "steal_share"),
)
_COLUMNS = (
    *columns_of(figures_of(End, lambda end: end.used, USAGE), _FIRST),
    _of_row(column("suspect_samples")),
    Column("", "", _busy_poll, True),
)
# Only of runs that have counted.
_COUNTED_COLUMNS = columns_of(
    figures_of(End, _cost, COSTS), (_of_message("instructions"), _of_message("cycles"))
)
_TITLE = "Cost of each row"
_LEGEND = (
    "Of the kept samples and what leads in to them. end: which, and its rank. load: user + system "
    "time of its process (with --threads, of its thread) / elapsed, by getrusage(2); their sum is "
    "exact, which is which the kernel finds out at its ticks of some ms. CPU: for 10^9 bytes of "
    "payload, both ways summed. switches: it waited for something (voluntary), or lost its core "
    "(involuntary). waited: ready to run, but without a core. others: other tasks had its core, by "
    "the scheduler's clock; interrupts: hard and soft ones; unaccounted: neither idle nor any of "
    "these, such as the kernel putting it to sleep and waking it up; steal: the hypervisor did not "
    "run it; all but others in steps of 10 ms. throttled: a CPU quota stopped it. peak memory: of "
    "the process, since it began. suspect: samples taken while an end had no core, as far as can "
    "be told. busy-poll: full load with no system time."
)
_COUNTED_SAYS = (
    "instructions, cycles: of its hardware counters in slices that were not timed; of each message "
    "that it sent or received, with the 95 % interval, and of each byte of payload."
)
_ENERGY_SAYS = "energy: of the whole package that the core is in, first sample to last."


def cost(document: Document) -> View:
    """A table with a line for each end of each row, and its legend."""
    shown = _table(document)
    if shown is None:
        why = "this run has none (simulated, or of another tool)"
        if not document.run.measurements:
            why = "nothing was measured"
        return View([Paragraph(f"no cost: {why}")], title=_TITLE)
    said = Items(shown.without_column)
    return View([shown, SPACE, said, Legend(_legend(document))], title=_TITLE)


def _table(document: Document) -> Table | None:
    """A line for each end of each row whose cost is known; None where that is none."""
    rows = [row for row in document.rows if row.usage is not None]
    if not rows:
        return None
    state = [column("state")] if any(row.state for row in rows) else []
    columns = (
        *map(_of_row, (*path_columns(rows), SIZE, *state)),
        *_COLUMNS[:-1],
        *(_COUNTED_COLUMNS if _has_counted(rows) else ()),
        _COLUMNS[-1],
    )
    return table(_ends(rows), columns).titled(f"{_TITLE}, at both ends")


def _legend(document: Document) -> list[str]:
    """What the columns of the table are."""
    has_energy = any(
        end.used.usage.core is not None and end.used.usage.core.joules is not None
        for end in _ends(document.rows)
    )
    said = [_LEGEND]
    if has_energy:
        said.append(_ENERGY_SAYS)
    if _has_counted(document.rows):
        said.append(_COUNTED_SAYS)
    return said


def _has_counted(rows: Sequence[Row]) -> bool:
    return any(cost is not None for row in rows for cost in row.costs)


def _ends(rows: Sequence[Row]) -> list[End]:
    return [
        End(row, number, used)
        for row in rows
        for number, used in enumerate(row.used)
        if used is not None
    ]
