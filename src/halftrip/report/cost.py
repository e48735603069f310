"""The view of what each row has cost both ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from halftrip.analysis.counters import MessageCost
from halftrip.analysis.rows import Row
from halftrip.analysis.usage import ENDS, EndUsage
from halftrip.report.cells import NOTHING, number, percent, whole
from halftrip.report.columns import SIZE
from halftrip.report.document import Document
from halftrip.report.estimates import with_interval
from halftrip.report.layout import ALWAYS, BRIEF, Column, Made, made_table, view
from halftrip.report.row_tables import path_columns
from halftrip.results.usage import Usage
from halftrip.stats.estimate import Estimate


class End(NamedTuple):
    """One end of a row, 0 for the initiator or 1, and its resource usage."""

    row: Row
    number: int
    usage: Usage


def _busy_poll(end: End) -> str:
    return "busy-poll" if end.usage.is_busy_poll else ""


def _of_row(cell: Callable[[Row], str]) -> Callable[[End], str]:
    """A cell about the whole row, which only the first of its two lines has."""
    return lambda end: cell(end.row) if end.number == 0 else ""


def _cpu(end: End) -> str:
    row = end.row
    return number(EndUsage(row.configuration, end.usage, row.delivered).cpu_per_gigabyte)


def _core(end: End) -> str:
    core = end.usage.core
    return NOTHING if core is None else str(core.number)


def _of_core(name: str, digits: int, scale: float = 1.0) -> Callable[[End], str]:
    return lambda end: (
        NOTHING if end.usage.core is None else number(getattr(end.usage.core, name), digits, scale)
    )


def _counted(cell: Callable[[MessageCost], str]) -> Callable[[End], str]:
    """A cell about what an end has counted."""

    def found(end: End) -> str:
        cost = end.row.costs[end.number]
        return NOTHING if cost is None else cell(cost)

    return found


def _of_message(figure: Callable[[MessageCost], Estimate]) -> Callable[[End], str]:
    return _counted(lambda cost: with_interval(figure(cost), 1.0))


def _of_byte(figure: Callable[[MessageCost], Estimate]) -> Callable[[End], str]:
    def cell(end: End) -> str:
        cost, size = end.row.costs[end.number], end.row.configuration.size
        return number(figure(cost).value / size) if cost is not None and size else NOTHING

    return cell


_COLUMNS = (
    Column("bandwidth", "MB/s", _of_row(lambda row: number(row.bandwidth, 3, 1e6))),
    Column(
        "end",
        "",
        lambda end: f"{ENDS[end.number]} {end.row.configuration.pair[end.number]}",
        True,
        rank=ALWAYS,
    ),
    Column("core", "", _core),
    Column("load", "%", lambda end: percent(end.usage.load), rank=BRIEF),
    Column("user", "%", lambda end: percent(end.usage.user_share)),
    Column("system", "%", lambda end: percent(end.usage.system_share)),
    Column("in kernel", "% of load", lambda end: percent(end.usage.kernel_share)),
    Column("CPU", "s/GB", _cpu, rank=BRIEF),
    Column("elapsed", "s", lambda end: number(end.usage.elapsed)),
    Column("voluntary", "switches", lambda end: whole(end.usage.voluntary)),
    Column("involuntary", "switches", lambda end: whole(end.usage.involuntary)),
    Column("waited", "%", lambda end: percent(end.usage.waited_share)),
    Column("others", "%", lambda end: percent(end.usage.others_share)),
    Column("steal", "%", lambda end: percent(end.usage.steal_share)),
    Column("minor", "faults", lambda end: whole(end.usage.minor_faults), is_rare=True),
    Column("major", "faults", lambda end: whole(end.usage.major_faults), is_rare=True),
    Column("peak memory", "MiB", lambda end: number(end.usage.peak_memory, 3, 1 << 20)),
    Column("frequency", "GHz", _of_core("hertz", 3, 1e9)),
    Column("energy", "J", _of_core("joules", 3)),
    Column("suspect", "samples", _of_row(lambda row: whole(row.suspect))),
    Column("", "", _busy_poll, True),
)
# Only of runs that have counted.
_COUNTED_COLUMNS = (
    Column("instructions", "per message", _of_message(lambda cost: cost.instructions), rank=BRIEF),
    Column("cycles", "per message", _of_message(lambda cost: cost.cycles), rank=BRIEF),
    Column("instructions", "per byte", _of_byte(lambda cost: cost.instructions), rank=BRIEF),
    Column("instructions", "per cycle", _counted(lambda cost: number(cost.per_cycle))),
)
_LEGEND = (
    "Of the kept samples and what leads in to them. end: which, and its rank. load: user + system "
    "time of its process (with --threads, of its thread) / elapsed, by getrusage(2); their sum is "
    "exact, which is which the kernel finds out at its ticks of some ms. CPU: for 10^9 bytes of "
    "payload, both ways summed. switches: it waited for something (voluntary), or lost its core "
    "(involuntary). waited: ready to run, but without a core. others: its core neither idle nor "
    "its own: other tasks, interrupts, going to sleep and waking up; steal: the hypervisor had "
    "it; both in steps of 10 ms. peak memory: of the process, since it began. suspect: samples "
    "taken while an end had no core, as far as can be told. busy-poll: full load with no system "
    "time."
)
_COUNTED_SAYS = (
    "instructions, cycles: of its hardware counters in slices that were not timed; of each message "
    "that it sent or received, with the 95 % interval, and of each byte of payload."
)
_ENERGY_SAYS = "energy: of the whole package that the core is in, first sample to last."


def render_cost(document: Document, width: int | None = None) -> Group:
    """A table with a line for each end of each row, and its legend."""
    if not document.run.measurements:
        return Group(Text("no cost: nothing was measured"))
    made = cost_table(document)
    if made is None:
        return Group(Text("no cost: this run has none (simulated, or of another tool)"))
    return view(made, width, legend(document))


def cost_table(document: Document) -> Made | None:
    """A line for each end of each row whose cost is known; None where that is none."""
    rows = [row for row in document.rows if row.usage is not None]
    if not rows:
        return None
    columns = (
        *(each._replace(cell=_of_row(each.cell)) for each in (*path_columns(rows), SIZE)),
        *_COLUMNS[:-1],
        *(_COUNTED_COLUMNS if _has_counted(rows) else ()),
        _COLUMNS[-1],
    )
    return made_table(_ends(rows), columns)


def legend(document: Document) -> list[str]:
    """What the columns of the table are."""
    has_energy = any(
        end.usage.core is not None and end.usage.core.joules is not None
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
    return [End(row, end, usage) for row in rows for end, usage in enumerate(row.usage or ())]
