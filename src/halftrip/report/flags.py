"""Every flag of a run with its figures and its advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from halftrip.analysis.flags import NAMES
from halftrip.report import columns
from halftrip.report.rows import Row, rows
from halftrip.results.case import Case
from halftrip.results.run import Run
from halftrip.units import format_size


def flagged(table_rows: Sequence[Row]) -> list[str]:
    """One line that says how many rows have which flags; none where no row has any."""
    counts = dict.fromkeys(NAMES, 0)
    for row in table_rows:
        for flag in row.flags:
            counts[flag.name] += 1
    said = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    some = sum(bool(row.flags) for row in table_rows)
    if not some:
        return []
    return [f"flags: {some} of {len(table_rows)} rows have some ({said}); show --flags says why"]


def _named(row: Row, varying: Sequence[tuple[str, Callable[[Case], str]]]) -> str:
    case = row.case
    words = [case.transport, case.wait, *(of(case) for _, of in varying), format_size(case.size)]
    return " ".join(words)


def render_flags(run: Run) -> Group:
    """Each flag, by name and by what to do, with the rows that have it: what was seen."""
    table_rows = rows(run)
    # A field in which the rows differ tells them apart.
    varying = [
        (name, of) for name, of in columns.FIELDS if len({of(row.case) for row in table_rows}) > 1
    ]
    parts: list[RenderableType] = []
    for name in NAMES:
        those = [(row, flag) for row in table_rows for flag in row.flags if flag.name == name]
        for advice in dict.fromkeys(flag.advice for _, flag in those):
            parts.append(Text(f"{name}: {advice}", style="yellow"))
            for row, flag in those:
                if flag.advice == advice:
                    parts.append(Text(f"  {_named(row, varying)}: {flag.seen}"))
            parts.append(Text())
    if not parts:
        parts.append(Text(f"no flags: none of the {len(table_rows)} rows gives a reason to doubt"))
    return Group(*parts)
