"""The view of the resource usage of both ends of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from rich.console import Group
from rich.text import Text

from halftrip.analysis.usage import ENDS, cpu_per_gigabyte
from halftrip.report.cells import NOTHING, number, percent, whole
from halftrip.report.document import Document
from halftrip.report.fields import Field, varying
from halftrip.report.grid import Figure, grid, without_column
from halftrip.report.rows import Row
from halftrip.results.usage import Usage
from halftrip.units import format_size


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
    return number(cpu_per_gigabyte(row.configuration, end.usage, row.delivered))


def _core(end: End) -> str:
    core = end.usage.core
    return NOTHING if core is None else str(core.number)


def _of_core(name: str, digits: int, scale: float = 1.0) -> Callable[[End], str]:
    return lambda end: (
        NOTHING if end.usage.core is None else number(getattr(end.usage.core, name), digits, scale)
    )


_FIGURES = (
    Figure("bandwidth", "MB/s", _of_row(lambda row: number(row.bandwidth, 3, 1e6))),
    Figure(
        "end", "", lambda end: f"{ENDS[end.number]} {end.row.configuration.pair[end.number]}", True
    ),
    Figure("core", "", _core),
    Figure("load", "%", lambda end: percent(end.usage.load)),
    Figure("user", "%", lambda end: percent(end.usage.user_share)),
    Figure("system", "%", lambda end: percent(end.usage.system_share)),
    Figure("in kernel", "% of load", lambda end: percent(end.usage.kernel_share)),
    Figure("CPU", "s/GB", _cpu),
    Figure("elapsed", "s", lambda end: number(end.usage.elapsed)),
    Figure("voluntary", "switches", lambda end: whole(end.usage.voluntary)),
    Figure("involuntary", "switches", lambda end: whole(end.usage.involuntary)),
    Figure("waited", "%", lambda end: percent(end.usage.waited_share)),
    Figure("others", "%", lambda end: percent(end.usage.others_share)),
    Figure("steal", "%", lambda end: percent(end.usage.steal_share)),
    Figure("minor", "faults", lambda end: whole(end.usage.minor_faults), is_rare=True),
    Figure("major", "faults", lambda end: whole(end.usage.major_faults), is_rare=True),
    Figure("peak memory", "MiB", lambda end: number(end.usage.peak_memory, 3, 1 << 20)),
    Figure("frequency", "GHz", _of_core("hertz", 3, 1e9)),
    Figure("instructions", "per cycle", lambda end: number(end.usage.instructions_per_cycle)),
    Figure("energy", "J", _of_core("joules", 3)),
    Figure("suspect", "samples", _of_row(lambda row: whole(row.suspect))),
    Figure("", "", _busy_poll, True),
)
_LEGEND = (
    "Of the kept samples and what leads in to them. end: which, and its rank. load: user + system",
    "time of its process (with --threads, of its thread) / elapsed, by getrusage(2); their sum is",
    "exact, which is which the kernel finds out at its ticks of some ms. CPU: for 10^9 bytes of",
    "payload, both ways summed. switches: it waited for something (voluntary), or lost its core",
    "(involuntary). waited: ready to run, but without a core. others: its core neither idle nor",
    "its own: other tasks, interrupts, going to sleep and waking up; steal: the hypervisor had",
    "it; both in steps of 10 ms. peak memory: of the process, since it began. suspect: samples",
    "taken while an end had no core, as far as can be told. busy-poll: full load with no system",
    "time.",
)
_ENERGY_SAYS = "energy: of the whole package that the core is in, first sample to last."


def render_usage(document: Document) -> Group:
    """A table with a line for each end of each row, and its legend."""
    table_rows = [row for row in document.rows if row.usage is not None]
    if not document.run.measurements:
        return Group(Text("no usage: nothing was measured"))
    if not table_rows:
        return Group(Text("no usage: this run has none (simulated, or of an older halftrip)"))
    fields = [
        Figure(field.name, "", _of_row(_field(field)), True)
        for field in varying(row.configuration for row in table_rows)
    ]
    figures = (
        Figure("transport", "", _of_row(lambda row: row.configuration.transport), True),
        Figure("wait", "", _of_row(lambda row: row.configuration.both_ends("wait")), True),
        *fields,
        Figure("size", "bytes", _of_row(lambda row: format_size(row.configuration.size))),
        *_FIGURES,
    )
    ends = [End(row, end, usage) for row in table_rows for end, usage in enumerate(row.usage or ())]
    legend = list(_LEGEND)
    if any(end.usage.core is not None and end.usage.core.joules is not None for end in ends):
        legend.append(_ENERGY_SAYS)
    made = grid(ends, figures)
    lines = [Text(line) for line in without_column(made)]
    return Group(made.table, *lines, *(Text(line, style="dim") for line in legend))


def _field(field: Field) -> Callable[[Row], str]:
    return lambda row: field.of(row.configuration)
