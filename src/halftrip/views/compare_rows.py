"""The rows of a comparison, in tables, and their names and figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.row_change import RowChange
from halftrip.render.blocks import Column, Table, table
from halftrip.report.fields import FIELDS, Field, common, name_of, varying_within_patterns
from halftrip.report.numbers import NOTHING, factor_texts, number, p_value, supported_digits
from halftrip.results.configuration import Configuration
from halftrip.stats.estimate import Estimate
from halftrip.views.columns import SIZE, TRANSPORT, setting_column

_STYLES = {"slower": "bold red", "faster": "green", "cannot tell": "yellow", "same": ""}


def _title(comparison: Comparison, rows: Sequence[RowChange]) -> str:
    """What the rows have in common."""
    configurations = [row.configuration for row in rows]
    simulated = all(each.is_simulated for each in configurations)
    what = ", ".join(dict.fromkeys(map(comparison.base.statistic, configurations)))
    if comparison.quantile is not None:
        what = f"quantile {comparison.quantile:g}"
    found = common(configurations, simulated)
    states = {row.state for row in rows}
    if len(states) == 1:
        found += [f"state {state}" for state in states if state]
    if comparison.new.by:
        found = [each for each in found if not each.startswith(f"{comparison.new.by} ")]
    figure = "bandwidth" if configurations[0].is_rate else "one-way latency"
    return ", ".join([f"{figure} ({what})", *found])


def tables(comparison: Comparison, rows: Sequence[RowChange]) -> list[Table]:
    """The table of the rows with latencies, and that of those with bandwidths, as far as there are
    any."""
    kinds = [[row for row in rows if row.configuration.is_rate is rate] for rate in (False, True)]
    return [_table_of_changes(comparison, of_kind) for of_kind in kinds if of_kind]


def _table_of_changes(comparison: Comparison, rows: Sequence[RowChange]) -> Table:
    """The rows, each with its figures in both runs, their ratio, and its interval. What all of them
    have in common is in the title."""
    fields = [
        field
        for field in _fields(comparison)
        if len({field.of(row.configuration) for row in rows}) > 1
    ]
    unit = _unit(rows[0])
    columns = [
        Column("", "", lambda row: row.word, is_text=True, rank=ALWAYS),
        *map(setting_column, [TRANSPORT, *fields]),
        SIZE,
        *([_STATE] if len({row.state for row in rows}) > 1 else []),
        Column("base", unit, lambda row: _value(row, "base"), rank=ALWAYS),
        Column("new", unit, lambda row: _value(row, "new"), rank=ALWAYS),
        Column("new / base", "", factor, rank=ALWAYS),
        Column("95 %", "", bounds, rank=BRIEF),
        Column("p", "", lambda row: p_value(row.p_adjusted), rank=MORE + 1),
        Column("launches", "", _launches, rank=MORE),
        Column("why", "", lambda row: row.reason, is_text=True, rank=MORE),
        Column("to tell", "launches", _to_tell, rank=MORE),
    ]
    shown = table(rows, columns, style=lambda row: _STYLES[row.word])
    return shown.titled(_title(comparison, rows), "above")


_STATE = Column("state", "", lambda row: row.state, is_text=True, rank=ALWAYS)


def row_name(comparison: Comparison, configuration: Configuration) -> str:
    """A name that tells a row from the others."""
    return name_of(configuration, _fields(comparison), comparison.base.run.names)


def _fields(comparison: Comparison) -> list[Field]:
    """The fields that tell rows apart; what only goes with the pattern does not."""
    every = [
        *(row.configuration for row in comparison.rows),
        *comparison.only_base,
        *comparison.only_new,
    ]
    patterns = {each.pattern for each in every}
    waits = {(each.transport, each.both_ends("wait")) for each in every}
    # A transport that waits in one way needs no word on it.
    known = ("pattern", *(["wait"] if len(waits) == len({name for name, _ in waits}) else []))
    pattern = [field for field in FIELDS if field.name == "pattern" and len(patterns) > 1]
    return [*pattern, *varying_within_patterns(every, known)]


def figure(row: RowChange, side: str) -> str:
    """The figure of a side with its unit."""
    return f"{_value(row, side)} {_unit(row)}"


def _unit(row: RowChange) -> str:
    return "MB/s" if row.configuration.is_rate else "us"


def _value(row: RowChange, side: str) -> str:
    repeats = getattr(row, side)
    value = row.figures[side == "new"]
    estimate = repeats.estimate
    width = estimate.half_width / estimate.value if estimate.value > 0 else math.nan
    digits = supported_digits(width)
    return number(value, digits, 1e6 if row.configuration.is_rate else 1e3)


def factor(row: RowChange) -> str:
    """How many times as large the figure is, in the digits that its interval supports."""
    return factor_texts(Estimate(row.factor, *row.bounds))[0]


def bounds(row: RowChange) -> str:
    """The interval of `factor`."""
    low, high = row.bounds
    if not (low > 0 and math.isfinite(high)):
        return NOTHING
    return " to ".join(factor_texts(Estimate(row.factor, low, high))[1:])


def _launches(row: RowChange) -> str:
    counts = dict.fromkeys((row.base.launches, row.new.launches))
    return " and ".join(map(str, counts))


def _to_tell(row: RowChange) -> str:
    return NOTHING if row.launches is None else f"{row.launches:,}"
