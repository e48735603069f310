"""halftrip's own table."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from halftrip.analysis.summaries import line_probes
from halftrip.report import columns
from halftrip.report.columns import Column
from halftrip.report.flags import flagged
from halftrip.report.legend import legend
from halftrip.report.rows import Row, rows
from halftrip.report.system_log import notices
from halftrip.results.case import Case
from halftrip.results.records import Skip, Together
from halftrip.results.run import Run
from halftrip.stats import breakpoints
from halftrip.units import format_size, significant

_WIDTH = 100
_BENDS_SAY = (
    "bends: one straight line of time over size ends, another begins (time of a message there)."
)


def render(run: Run, rtt: bool = False) -> Group:
    """The whole of what a run says: its rows, what was not measured, the bounds. `rtt`: round trips
    of ping-pong in place of their half."""
    parts: list[RenderableType] = []
    table_rows = rows(run)
    for part in (
        [row for row in table_rows if not row.case.is_rate],
        [row for row in table_rows if row.case.is_rate],
    ):
        if part:
            # Where nothing goes there and back there is no round trip to show.
            turns = rtt and any(columns.is_round_trip(row) for row in part)
            shown = _columns(part, turns)
            parts += [_heading(run, part), _table(part, shown)]
            parts += [Text(line, style="dim") for line in legend(part, shown, turns)]
            if run.head.plan.get("refine"):
                parts += [Text(line) for line in bent(part)]
            parts.append(Text())
    if table_rows:
        parts += [Text(line) for line in (*together(run.togethers), *bounds(run))]
        parts += [Text(line, style="yellow") for line in flagged(table_rows)]
    parts += [Text(line) for line in skipped(run.skips)]
    parts += [Text(line, style="yellow") for line in notices(run)]
    parts += [Text(line, style="bold red") for line in failed(run)]
    if run.interrupted is not None:
        parts.append(Text(f"interrupted: {run.interrupted}", style="bold red"))
    return Group(*parts)


def _columns(table_rows: Sequence[Row], rtt: bool) -> list[Column]:
    is_rate = table_rows[0].case.is_rate
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
        if not column.optional or any(column.cell(row) != columns.NOTHING for row in table_rows)
    ]


def _varying(table_rows: Sequence[Row]) -> list[tuple[str, Callable[[Case], str]]]:
    return [
        (name, of) for name, of in columns.FIELDS if len({of(row.case) for row in table_rows}) > 1
    ]


# Fields that a heading does not mention where they are as they always were.
_USUAL = {
    "window": "1",
    "align": "page",
    "datatype": "byte",
    "rate": "all it can",
    "verified": "no",
    "thread": "0",
    "pairs at once": "1",
}


def _heading(run: Run, table_rows: Sequence[Row]) -> Text:
    varying = {name for name, _ in _varying(table_rows)}
    case = table_rows[0].case
    same = {name: of(case) for name, of in columns.FIELDS if name not in varying}
    virtual = all(row.case.is_virtual for row in table_rows)
    # What is only thought of has no buffers, and its ranks are nowhere.
    unsaid = columns.ABOUT_BUFFERS if virtual else ()
    said = [
        f"{name} {value}"
        for name, value in same.items()
        if _USUAL.get(name) != value and name not in unsaid
    ]
    state = run.head.plan.get("placement_state")
    if state is not None:
        said.append(f"only while the cores are {state}")
    if virtual:
        return Text(f"{', '.join(said)}; simulated: virtual time, no machine")
    cores = [
        f"{e.rank} on {e.host}, {'any core' if e.core is None else f'core {e.core}'}"
        for e in run.environments
        if e.launch == 0
    ]
    return Text(", ".join(said) + (f"; rank {'; rank '.join(cores)}" if cores else ""))


def _table(table_rows: Sequence[Row], shown: Sequence[Column]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    table.add_column("transport\n", no_wrap=True)
    table.add_column("wait\n", no_wrap=True)
    varying = _varying(table_rows)
    for name, _ in varying:
        table.add_column(f"{name}\n", no_wrap=True)
    for column in shown:
        table.add_column(f"{column.name}\n{column.unit}", justify="right", no_wrap=True)
    table.add_column("flags\n", no_wrap=True)
    for row, following in zip(table_rows, [*table_rows[1:], None], strict=True):
        table.add_row(
            row.case.transport,
            row.case.wait,
            *(of(row.case) for _, of in varying),
            *(column.cell(row) for column in shown),
            Text(" ".join(flag.name for flag in row.flags), style="yellow"),
            end_section=following is not None and _section(following) != _section(row),
        )
    return table


def bent(table_rows: Sequence[Row]) -> list[str]:
    """Where the time over size bends, one line for each curve."""
    varying = _varying(table_rows)
    curves: dict[tuple[str, ...], dict[int, Row]] = {}
    for row in table_rows:
        case = row.case
        pattern = [] if any(name == "pattern" for name, _ in varying) else [case.pattern]
        curve = (case.transport, *pattern, *(of(case) for _, of in varying), case.wait)
        curves.setdefault(curve, {})[case.size] = row
    lines = []
    for curve, those in curves.items():
        where = [_between(bend, those) for bend in breakpoints.bends(map(_point, those.values()))]
        line = f"bends: {' '.join(curve)}: {', '.join(where) or 'none found'}"
        lines += textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return [*lines, _BENDS_SAY]


def _point(row: Row) -> breakpoints.Point:
    summary = row.summary
    spread = (summary.high - summary.low) / (2 * summary.latency) if summary.latency else math.nan
    return breakpoints.Point(row.case.size, summary.latency, spread)


def _between(bend: breakpoints.Bend, those: Mapping[int, Row]) -> str:
    times = (significant(those[size].summary.latency / 1e3, 3) for size in bend)
    # 8128 to 8K is hard to read.
    names = [format_size(size) for size in bend]
    if any(name == str(size) for name, size in zip(names, bend, strict=True)):
        names = [str(size) for size in bend]
    return f"{' to '.join(names)} ({' to '.join(times)} us)"


def _section(row: Row) -> tuple[object, ...]:
    """Rows of one curve stand together."""
    case = row.case
    return (case.transport, case.pattern, case.mode, case.window, case.pair, case.wait)


def _order_of_together(those: Together) -> tuple[object, ...]:
    case = those.case
    return (case.transport, case.pattern, case.mode, case.window, case.size, those.pairs)


def together(togethers: Sequence[Together]) -> list[str]:
    """What pairs that talked at the same time got through together, one line each."""
    lines = []
    for those in sorted(togethers, key=_order_of_together):
        case = those.case
        pairs = ", ".join(dict.fromkeys(f"{a}-{b}" for a, b in those.pairs))
        threads = len(those.pairs) // len(set(those.pairs))
        by = f"{pairs}, {threads} threads each" if threads > 1 else pairs
        what = f"together: {case.transport} {case.pattern} {format_size(case.size)}, ranks {by}: "
        if not those.spans:
            lines.append(f"{what}never all active at the same moment; allow more with --time")
            continue
        lines.append(
            f"{what}{significant(those.bandwidth / 1e6, 4)} MB/s, "
            f"{significant(those.rate / 1e6, 3)} million messages/s "
            f"(in {significant(sum(those.spans) / 1e6, 3)} ms in which all were active)"
        )
    return lines


def bounds(run: Run) -> list[str]:
    """The machine's own limits, one line each."""
    lines = []
    probes = [probe for m in run.measurements if not m.case.is_virtual for probe in line_probes(m)]
    if probes:
        lines.append(
            f"bound: a cache line to the other core and back takes {np.median(probes):.0f} ns "
            f"(median of {len(probes)} probes, {min(probes):.0f} to {max(probes):.0f})"
        )
    if run.copies:
        # Of several launches, the median.
        sizes = dict.fromkeys(c.size for c in run.copies)
        times = {size: np.median([c.ns for c in run.copies if c.size == size]) for size in sizes}
        copies = [f"{format_size(s)} {significant(s / float(ns), 3)}" for s, ns in times.items()]
        lines.append(f"bound: memcpy in one rank, GB/s (10^9 bytes): {', '.join(copies)}")
    return lines


def skipped(skips: Sequence[Skip]) -> list[str]:
    """What was not measured and why, one line for each reason."""
    lines = []
    for skip in skips:
        what = [skip.transport]
        what += [", ".join(names) for names in (skip.patterns, skip.modes) if names]
        if skip.sizes:
            what.append(", ".join(format_size(size) for size in skip.sizes))
        if skip.pairs:
            what.append(f"ranks {', '.join(f'{a}-{b}' for a, b in skip.pairs)}")
        lines.append(f"not measured: {' '.join(what)}: {skip.reason}")
    return list(dict.fromkeys(lines))


def failed(run: Run) -> list[str]:
    """What went wrong, one line each."""
    lines = []
    for failure in run.failures:
        case = failure.case
        what = f"{case.transport} {case.pattern} {case.mode} {format_size(case.size)}"
        lines.append(f"failed: {what}, ranks {case.pair[0]}-{case.pair[1]}: {failure.reason}")
    return lines
