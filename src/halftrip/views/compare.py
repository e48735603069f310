"""What has changed between two runs: first what differs around them, then the answer, then the
rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from halftrip.analysis.comparison import Comparison
from halftrip.analysis.environments import Change, changes
from halftrip.analysis.figure import ALWAYS, BRIEF, MORE, or_none
from halftrip.analysis.row_change import RowChange
from halftrip.analysis.setting_figures import configuration_fields
from halftrip.render.blocks import (
    SPACE,
    Block,
    Column,
    Items,
    Paragraph,
    Table,
    View,
    table,
)
from halftrip.report.fields import FIELDS, Field, common, name_of, varying_within_patterns
from halftrip.report.numbers import NOTHING, number, supported_digits
from halftrip.results.configuration import Configuration
from halftrip.units import significant
from halftrip.views.columns import SIZE, TRANSPORT, setting_column

# Rows that cannot be told, and what differs around the runs: so many are shown, the rest counted.
_MOST_UNTOLD = 10
_MOST_CHANGES = 12
# Nobody takes more.
_MOST_LAUNCHES = 500
BOTH_STATES = "--placement-state near, or far, measures one state; more --launches see several"
_STYLES = {"slower": "bold red", "faster": "green", "cannot tell": "yellow", "same": ""}


def compare(comparisons: Sequence[Comparison], every: bool = False) -> View:
    """All comparisons; `every`: with the rows that have not changed."""
    blocks: list[Block] = []
    for comparison in comparisons:
        if blocks:
            blocks.append(SPACE)
        blocks += [
            Items([*heading(comparison), *around(comparison)]),
            SPACE,
            *(Paragraph(line, style="bold") for line in answer(comparison)),
        ]
        shown = shown_rows(comparison, every)
        if shown:
            blocks += [SPACE, _table(comparison, shown)]
        notes = left_out(comparison, shown)
        if notes:
            blocks += [SPACE, Items(notes, "dim")]
    return View(
        blocks,
        lambda: [_content(each) for each in comparisons],
        lambda: [
            {"base": each.base.name, "new": each.new.name, **_record(row)}
            for each in comparisons
            for row in each.rows
        ],
        "What changed",
    )


def heading(comparison: Comparison) -> list[str]:
    """The two runs, and when they were measured."""
    sides = (("base", comparison.base), ("new", comparison.new))
    return [
        ", ".join(filter(None, (f"{name}: {side.name}", side.run.measured))) for name, side in sides
    ]


def around(comparison: Comparison) -> list[str]:
    """What differs between the environments of both runs, a line each."""
    found = differences(comparison)
    if not found:
        same = comparison.base.run is comparison.new.run
        return [] if same else ["nothing that is known of their environments differs"]
    lines = [f"differs: {each.name}: {each.base} -> {each.new}" for each in found]
    if len(lines) > _MOST_CHANGES:
        more = len(lines) - _MOST_CHANGES
        lines = [*lines[:_MOST_CHANGES], f"and {more} more; --format json has all of them"]
    return lines


def differences(comparison: Comparison) -> list[Change]:
    """What differs between the environments of both runs; sides of one run have the same."""
    base, new = comparison.base.run, comparison.new.run
    return [] if base is new else changes(base, new)


def answer(comparison: Comparison) -> list[str]:
    """What has changed, the most of it, and how far that holds, in a sentence or two each."""
    return [*_counts(comparison), *_largest(comparison), *_holds(comparison)]


def _counts(comparison: Comparison) -> list[str]:
    within = f"the same within {_percent(comparison.threshold)}"
    of = len(comparison.rows)
    words = (("slower", "slower"), ("faster", "faster"), ("same", within))
    counts = [(len(comparison.having(word)), said) for word, said in words]
    untold = len(comparison.having("cannot tell"))
    known = [f"{count} {said}" for count, said in counts if count]
    rows = "row" if of == 1 else "rows"
    if untold == of:
        return [f"Of {of} {rows}, none can be told to have changed, or not."]
    rest = f"; {untold} cannot be told" if untold else ""
    if len(known) == 1 and not untold:
        all_ = "The only row is" if of == 1 else f"All {of} rows are"
        return [f"{all_} {known[0].split(' ', 1)[1]}."]
    return [f"Of {of} {rows}, {', '.join(known)}{rest}."]


def _largest(comparison: Comparison) -> list[str]:
    """The largest change for the worse, else for the better; of none, what would tell."""
    changed = comparison.having("slower") or comparison.having("faster")
    if changed:
        row = changed[0]
        does = "takes" if not row.configuration.is_rate else "carries"
        much = "as long" if not row.configuration.is_rate else "as much"
        low, high = (significant(each, 3) for each in row.bounds)
        name, factor = row_name(comparison, row.configuration), significant(row.factor, 3)
        name += f", {row.state}," if row.state else ""
        values = f"{figure(row, 'new')}, was {figure(row, 'base')}"
        return [f"{name} {does} {factor} times {much} (95 %: {low} to {high}): {values}."]
    untold = comparison.having("cannot tell")
    needed = [row.launches for row in untold if row.launches is not None]
    if not needed:
        return _apart(untold)
    most, size = max(needed), _percent(comparison.threshold)
    if most > _MOST_LAUNCHES:
        vary = "they vary too much; halftrip show --why says what disturbs them"
        return [f"To find a change of {size} would take {most:,} launches of some rows: {vary}."]
    takes = f"takes about {most:,} launches of each run: --launches {most}"
    return [f"To find a change of {size} in those that cannot be told {takes}."]


def _apart(untold: Sequence[RowChange]) -> list[str]:
    """Of what rows cannot be told since the machine was in other states, and how to get the same in
    both runs."""
    apart = [row.apart for row in untold if row.apart]
    if not apart:
        return []
    rows = "1 row" if len(apart) == 1 else f"{len(apart)} rows"
    said = f"Cannot tell of {rows}: {apart[0]}"
    return [f"{said}. {BOTH_STATES}."]


def _holds(comparison: Comparison) -> list[str]:
    """For what the answer holds: for repeating the whole thing, or within these launches."""
    said = []
    alone = [row for row in comparison.rows if row.is_one_launch_each]
    if alone:
        spread = comparison.spread
        percent = _percent(spread.value)
        how = {
            "given": f"launches differ by {percent} on this machine, as --launch-spread says",
            "measured": f"launches differ by {percent} on this machine, which is allowed for",
            "assumed": (
                f"launches are taken to differ by {percent}, since neither run has several: "
                "--launches 5 measures it, --launch-spread says it"
            ),
        }[spread.source]
        which = "This is" if len(alone) == len(comparison.rows) else f"{len(alone)} rows are"
        said.append(f"{which} within one launch each; {how}.")
    else:
        base, new = (
            _range([getattr(row, side).launches for row in comparison.rows])
            for side in ("base", "new")
        )
        counts = f"{base} launches each" if base == new else f"{base} and {new} launches"
        if comparison.base.rounds is not None:
            counts += ", in turn"
        said.append(f"The runs have {counts}: this holds for fresh processes, too.")
    adjusted = [row for row in comparison.rows if row.adjusted is not None]
    if adjusted:
        rows = "1 row is" if len(adjusted) == 1 else f"{len(adjusted)} rows are"
        first = max(adjusted, key=lambda row: abs(math.log(row.adjusted or 1)))
        rtts = f"{first.base.rtt:.0f} ns, then {first.new.rtt:.0f}"
        said.append(f"{rows} adjusted for the core-to-core round trip ({rtts}).")
    return said


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


def shown_rows(comparison: Comparison, every: bool = False) -> list[RowChange]:
    """The rows of the table: what has changed, some of what cannot be told, and with `every` all
    others."""
    untold = comparison.having("cannot tell")
    shown = [
        *comparison.having("slower"),
        *comparison.having("faster"),
        *(untold if every else untold[:_MOST_UNTOLD]),
    ]
    if every:
        shown += [row for row in comparison.rows if row.word == "same"]
    return shown


def _title(comparison: Comparison, rows: Sequence[RowChange]) -> str:
    """What the rows have in common."""
    configurations = [row.configuration for row in rows]
    simulated = all(each.is_simulated for each in configurations)
    what = "median" if comparison.quantile is None else f"quantile {comparison.quantile:g}"
    return ", ".join([f"one-way latency ({what}) or bandwidth", *common(configurations, simulated)])


def _table(comparison: Comparison, rows: Sequence[RowChange]) -> Table:
    """The rows, each with its figures in both runs, their ratio, and its interval."""
    columns = [
        Column("", "", lambda row: row.word, is_text=True, rank=ALWAYS),
        *map(setting_column, [TRANSPORT, *_fields(comparison)]),
        SIZE,
        *([_STATE] if any(row.state for row in rows) else []),
        Column("base", "", lambda row: figure(row, "base"), rank=ALWAYS),
        Column("new", "", lambda row: figure(row, "new"), rank=ALWAYS),
        Column("new / base", "", lambda row: number(row.factor, _digits(row) + 1), rank=ALWAYS),
        Column("95 %", "", _bounds, rank=BRIEF),
        Column("p", "", lambda row: number(row.p_adjusted, 2), rank=MORE + 1),
        Column("launches", "", _launches, rank=MORE),
        Column("why", "", lambda row: row.reason, is_text=True, rank=MORE),
        Column("to tell", "launches", _to_tell, rank=MORE),
    ]
    shown = table(rows, columns, style=lambda row: _STYLES[row.word])
    return shown.titled(_title(comparison, rows), "above")


_STATE = Column("state", "", lambda row: row.state, is_text=True, rank=ALWAYS)


def left_out(comparison: Comparison, shown: Sequence[RowChange]) -> list[str]:
    """Rows that the table has not, by why; and what its figures are."""
    said = []
    rest = len(comparison.rows) - len(shown)
    if rest:
        of = "1 row more is" if rest == 1 else f"{rest} rows more are"
        same = sum(row.word == "same" for row in comparison.rows)
        what = "the same" if same == rest else "the same, or cannot be told"
        said.append(f"{of} {what}: --all")
    for name, rows in (("base", comparison.only_base), ("new", comparison.only_new)):
        if rows:
            side = getattr(comparison, name)
            some = ", ".join(row_name(comparison, each) for each in rows[:3])
            more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
            said.append(f"only in {side.name}: {some}{more}")
    reasons: dict[str, int] = {}
    for each in comparison.refused:
        reasons[each.reason] = reasons.get(each.reason, 0) + 1
    for reason, count in reasons.items():
        rows_ = "1 row" if count == 1 else f"{count} rows"
        said.append(f"not compared: {rows_}: {reason}")
    return said


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
    pattern = [field for field in FIELDS if field.name == "pattern" and len(patterns) > 1]
    return [*pattern, *varying_within_patterns(every, ("pattern",))]


def _percent(share: float) -> str:
    return f"{round(100 * share, 2):g} %"


def figure(row: RowChange, side: str) -> str:
    """The figure of a side with its unit."""
    repeats = getattr(row, side)
    value = row.figure(repeats)
    estimate = repeats.estimate
    width = estimate.half_width / estimate.value if estimate.value > 0 else math.nan
    digits = supported_digits(width)
    if row.configuration.is_rate:
        return f"{number(value, digits, 1e6)} MB/s"
    return f"{number(value, digits, 1e3)} us"


def _digits(row: RowChange) -> int:
    low, high = row.bounds
    return supported_digits((high - low) / 2 / row.factor if row.factor > 0 else math.nan)


def _bounds(row: RowChange) -> str:
    low, high = row.bounds
    if not (low > 0 and math.isfinite(high)):
        return NOTHING
    return f"{number(low, _digits(row) + 1)} to {number(high, _digits(row) + 1)}"


def _launches(row: RowChange) -> str:
    counts = dict.fromkeys((row.base.launches, row.new.launches))
    return " and ".join(map(str, counts))


def _to_tell(row: RowChange) -> str:
    return NOTHING if row.launches is None else f"{row.launches:,}"


# For programs.


def _content(comparison: Comparison) -> dict[str, Any]:
    return {
        **{
            side: {"run": found.name, "started": found.run.header.started}
            for side, found in (("base", comparison.base), ("new", comparison.new))
        },
        "threshold": comparison.threshold,
        "quantile": comparison.quantile,
        "launch_spread": comparison.spread.value,
        "launch_spread_is": comparison.spread.source,
        "differences": [each._asdict() for each in differences(comparison)],
        "answer": answer(comparison),
        "rows": [_record(row) for row in comparison.rows],
        "only_base": [configuration_fields(each) for each in comparison.only_base],
        "only_new": [configuration_fields(each) for each in comparison.only_new],
        "not_compared": [
            {**configuration_fields(each.configuration), "reason": each.reason}
            for each in comparison.refused
        ],
    }


def _record(row: RowChange) -> dict[str, Any]:
    """A row by names; its ratio is that of times, whatever is"""
    found = row.difference
    unit = "bandwidth_bytes_per_s" if row.configuration.is_rate else "latency_ns"
    return {
        **configuration_fields(row.configuration),
        "state": row.state or None,
        "verdict": row.word,
        "reason": row.reason,
        f"base_{unit}": or_none(row.figure(row.base)),
        f"new_{unit}": or_none(row.figure(row.new)),
        "time_ratio": or_none(found.ratio),
        "time_ratio_low": found.low if found.is_known else None,
        "time_ratio_high": found.high if found.is_known else None,
        "p_value": found.p_value,
        "p_value_adjusted": row.p_adjusted,
        "effect": row.effect,
        "base_launches": row.base.launches,
        "new_launches": row.new.launches,
        "base_repeats": len(row.base.times),
        "new_repeats": len(row.new.times),
        "base_core_to_core_ns": or_none(row.base.rtt),
        "new_core_to_core_ns": or_none(row.new.rtt),
        "base_adjusted_by": row.adjusted,
        "launches_to_tell": row.launches,
    }
