"""The history of several runs: the answer, and a line for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC
from functools import partial
from typing import NamedTuple

import numpy as np

from halftrip.analysis.figure import ALWAYS, BRIEF
from halftrip.analysis.flags.flag import counted
from halftrip.analysis.history import (
    Event,
    History,
    LevelChange,
    RowHistory,
    level_ranges,
)
from halftrip.analysis.run_figures import is_bandwidth
from halftrip.render.blocks import (
    SPACE,
    Block,
    Column,
    Items,
    Legend,
    Paragraph,
    View,
    table,
)
from halftrip.report.fields import common, name_of, varying
from halftrip.report.numbers import MARKS_SAY, NOTHING, bounds, mark_of, number
from halftrip.results.names import Names
from halftrip.stats.change_points import FEWEST_RUNS, SHORTEST_LEVEL
from halftrip.stats.median import median
from halftrip.texts import printable
from halftrip.units import format_size, significant
from halftrip.views.columns import TRANSPORT, setting_column
from halftrip.views.history_fields import content, records
from halftrip.views.single_figures import CANNOT_TELL, what_it_takes
from halftrip.views.states import BOTH_STATES

# Characters for figures from low to high, where a terminal has them, and where it has not.
BLOCKS = "▁▂▃▄▅▆▇█"
ASCII = "_.-:=+*#"
# Stands before the first run of a new level.
_MARK = "|"
# Of more runs, several share a character.
_MOST_CHARACTERS = 24
# Figures that differ by less than this factor do not fill the scale of characters.
_LEAST_SCALE = 1.1
# Of rows of which only a ratio is known, so many are shown.
_MOST_RATIOS = 30
# So many changes are sentences of the answer.
_SENTENCES = 2
# Of what has changed in the environment, so much is said in a sentence, in so many characters.
_MOST_DIFFERENCES = 3
_LONGEST_DIFFERENCE = 60
_COLOURS = {"slower": "yellow", "faster": "green"}


def history(found: History, every: bool, has_blocks: bool) -> View:
    """The answer, and the rows that have changed, or `every` row. `has_blocks`: the terminal has
    block characters."""
    shown = found.rows if every else found.changed or _ratios(found)
    blocks: list[Block] = [Items(answer(found))]
    if shown:
        configurations = [row.configuration for row in shown]
        simulated = all(each.is_simulated for each in configurations)
        heading = ", ".join(common(configurations, simulated, brief=True))
        made = table(shown, _columns(found, shown, has_blocks), _style)
        blocks += [SPACE, made.titled(heading, "above")]
        if any(_figure(found, row, place)[-1] in "~!" for row in shown for place in (0, -1)):
            blocks.append(Legend([MARKS_SAY]))
    if len(found.events) > _SENTENCES:
        blocks += [SPACE, Items([_sentence(found, each) for each in found.events])]
    said = _runs(found)
    left = _count(found.rows) - _count(shown)
    if left:
        what = "more" if shown and not found.changed else "without a change"
        said += f"; {counted(left, 'row')} {what}: --all"
    blocks += [SPACE, Paragraph(said, style="dim")]
    return View(blocks, partial(content, found), partial(records, found), "History")


def _runs(history: History) -> str:
    """How many runs there are, and when they were measured."""
    first, last = (_when(history, place) for place in (0, -1))
    days = first if first == last else f"{first} to {last}"
    return f"{counted(len(history.runs), 'run')}, {days}"


def _style(row: RowHistory) -> str:
    return _COLOURS[row.changes[-1].direction] if row.changes else ""


def _ratios(history: History) -> list[RowHistory]:
    """The rows of which only a ratio is known, the largest first, where that is so of all."""
    if any(row.detectable is not None for row in history.rows):
        return []
    short = [row for row in history.rows if row.is_short]
    return sorted(short, key=lambda row: -abs(math.log(row.ratio.value)))[:_MOST_RATIOS]


# The answer.


def answer(history: History) -> list[str]:
    """What has changed when, by how much, and with what: one to three sentences, a line each."""
    if not history.events:
        return [_unchanged(history), *_single(history), *_states(history)]
    largest = sorted(history.events, key=lambda each: -each.weight)[:_SENTENCES]
    lines = [_sentence(history, each) for each in sorted(largest, key=lambda each: each.first)]
    more = len(history.events) - len(largest)
    if more:
        lines.append(f"{counted(more, 'more change')}: see below the table.")
    return [*lines, *_states(history)]


def _single(history: History) -> list[str]:
    """What is known of rows with too few figures for a change, and what would tell."""
    short = [row for row in history.rows if row.is_short]
    if not short:
        return []
    if history.launch_spread is not None:
        said = f"Launches differ by {100 * history.launch_spread:g} %, as --launch-spread says"
        return [f"{said}: figures without an interval have theirs from it."]
    count = _count(row for row in short if _is_single(row))
    if not count:
        return []
    takes = what_it_takes(any(each.run.sources for each in history.runs))
    return [f"? {CANNOT_TELL} of {counted(count, 'row')}; {takes}."]


def _is_single(row: RowHistory) -> bool:
    return row.is_short and math.isnan(row.ratio.half_width)


def _states(history: History) -> list[str]:
    """That runs were in different states of the machine, which are no change, and how to get the
    same in all; empty where all were in the same."""
    rows = history.in_states
    if not rows:
        return []
    quantity = next(row.quantity for row in rows if row.quantity is not None)
    levels = _runs_by_level([row for row in rows if row.quantity is quantity])
    seen = [f"{quantity.text(level)} in {counted(len(runs), 'run')}" for level, runs in levels]
    count = counted(_count(rows), "row")
    said = f"Of {count}, each state is told by itself: {quantity.what} at {', '.join(seen)}"
    return [f"{said}. Cannot tell between these: {BOTH_STATES}."]


def _runs_by_level(rows: Sequence[RowHistory]) -> list[tuple[float, set[int]]]:
    """The levels of all rows, the lowest first, and the runs in which any row was at each."""
    ranges = level_ranges(row.level for row in rows)
    groups = ([row for row in rows if low <= row.level < high] for low, high in ranges)
    return [
        (median([row.level for row in own]), {run for row in own for run in row.figures})
        for own in groups
    ]


def _count(rows: Iterable[RowHistory]) -> int:
    """How many rows these are: one may be in several states."""
    return len({row.configuration for row in rows})


def _unchanged(history: History) -> str:
    """That nothing has changed, and what would have been found."""
    count, runs = len(history.runs), _runs(history)
    needed = f"a change needs {SHORTEST_LEVEL} runs before it and {SHORTEST_LEVEL} after it"
    if count < FEWEST_RUNS:
        return f"No answer yet: {runs}; {needed}."
    known = [row.detectable for row in history.rows if row.detectable is not None]
    if not known:
        return f"No answer: {runs}, but no row is in {FEWEST_RUNS} of them; {needed}."
    step = median(known) - 1
    count = _count(row for row in history.rows if row.detectable is not None)
    rows = "1 row" if count == 1 else f"any of {count} rows"
    found = f"A step of {significant(100 * step, 2)} % half-way would be found."
    if step > 1:
        found = "No step can be found: runs are too few, or too far apart."
    return f"No change of {rows} in {runs}. {found}"


def _sentence(history: History, event: Event) -> str:
    if len(event.rows) == 1:
        row = history.rows[event.rows[0][0]]
        alike = (each.configuration for each in history.rows)
        fields = varying(each for each in alike if each.transport == row.configuration.transport)
        what = name_of(row.configuration, fields, Names({}))
        what += f" at {_level(row)}" if row.quantity is not None else ""
    else:
        changed = _count(history.rows[place] for place, _ in event.rows)
        what = f"{changed} of {counted(_count(history.rows), 'row')}"
    return (
        f"{what} got {event.direction} {_place(history, event)}: {_amount(history, event)}; "
        f"{_environment(event)}."
    )


def _place(history: History, event: Event) -> str:
    count = len(history.runs)
    if event.before + 1 == event.high:
        return f"from run {event.high + 1} of {count} on, {_when(history, event.high)}"
    first, last = event.before + 1, event.high + 1
    return (
        f"after run {first} of {count}, {_when(history, event.before)}, and no later than run "
        f"{last}, {_when(history, event.high)}"
    )


def _when(history: History, place: int) -> str:
    """The day of a run, or the time, where all are of one day; in UTC."""
    moments = [each.measured.astimezone(UTC) for each in history.runs]
    if moments[0].date() == moments[-1].date():
        return f"{moments[place]:%Y-%m-%d %H:%M}"
    return moments[place].date().isoformat()


def _amount(history: History, event: Event) -> str:
    if len(event.rows) == 1:
        place, change = event.rows[0]
        kind = "bandwidth" if is_bandwidth(history.rows[place].configuration) else "latency"
        return f"{kind} {_with_interval(change)}"
    kinds: dict[str, list[float]] = {}
    for place, change in event.rows:
        kind = "bandwidth" if is_bandwidth(history.rows[place].configuration) else "latency"
        kinds.setdefault(kind, []).append(change.difference.ratio)
    return ", ".join(f"{kind} {_range(factors)} %" for kind, factors in kinds.items())


def _range(factors: Sequence[float]) -> str:
    low, high = _percent(min(factors)), _percent(max(factors))
    return low if low == high else f"{low} to {high}"


def _with_interval(change: LevelChange) -> str:
    return f"{_percent_of(change)} % ({_interval(change)} %)"


def _percent(factor: float) -> str:
    """A factor as a change: ``+10`` or ``-2.1``."""
    share = 100 * (factor - 1)
    return f"{'-' if share < 0 else '+'}{significant(abs(share), 2)}"


def _environment(event: Event) -> str:
    if not event.environment:
        return "nothing else that is recorded changed there"
    said = [
        f"{printable(each.name)} {printable(each.base, _LONGEST_DIFFERENCE)} -> "
        f"{printable(each.new, _LONGEST_DIFFERENCE)}"
        for each in event.environment[:_MOST_DIFFERENCES]
    ]
    more = len(event.environment) - _MOST_DIFFERENCES
    if more > 0:
        said.append(f"and {more} more (--format json)")
    return f"at the same time: {', '.join(said)}"


# The table.


class _Scale(NamedTuple):
    """The characters for logarithms from `low` on, each for as much as `step`."""

    characters: str
    low: float
    step: float

    def character(self, value: float) -> str:
        place = int((value - self.low) / self.step)
        return self.characters[min(max(place, 0), len(self.characters) - 1)]


def sparkline(row: RowHistory, runs: int, blocks: bool) -> str:
    """The figures of a row in each of so many runs, or in groups of neighbours, as characters from
    low to high; a blank where there is none, and a mark before the first of a new level."""
    logarithms = {place: math.log(figure.value) for place, figure in row.figures.items()}
    low, high = min(logarithms.values()), max(logarithms.values())
    characters = BLOCKS if blocks else ASCII
    span = max(high - low, math.log(_LEAST_SCALE))
    # What varies by little stands in the middle of the scale.
    scale = _Scale(characters, (low + high - span) / 2, span / len(characters))
    marks = {change.first for change in row.changes}
    drawn = ""
    for group in np.array_split(np.arange(runs), min(runs, _MOST_CHARACTERS)):
        known = [logarithms[place] for place in group.tolist() if place in logarithms]
        if not marks.isdisjoint(group.tolist()):
            drawn += _MARK
        drawn += scale.character(median(known)) if known else " "
    return drawn


def _columns(history: History, rows: Sequence[RowHistory], blocks: bool) -> list[Column]:
    fields = [TRANSPORT, *varying(row.configuration for row in rows)]
    count = len(history.runs)
    short = [row for row in rows if row.is_short]
    told = [row for row in short if not _is_single(row)]
    return [
        *map(setting_column, fields),
        Column("size", "bytes", lambda row: format_size(row.configuration.known_size),
               rank=ALWAYS),
        *([Column("at", "", _level, rank=ALWAYS)] if any(row.quantity for row in rows) else []),
        Column("history", "", lambda row: sparkline(row, count, blocks), True, rank=ALWAYS),
        Column("first", "", lambda row: _figure(history, row, 0), rank=ALWAYS),
        Column("last", "", lambda row: _figure(history, row, -1), rank=ALWAYS),
        Column("", "", lambda row: "MB/s" if is_bandwidth(row.configuration) else "us", True,
               rank=ALWAYS),
        *([Column("last / first", "", _ratio, rank=ALWAYS)] if short else []),
        *([Column("95 %", "", lambda row: bounds(row.ratio), rank=BRIEF)] if told else []),
        Column("change", "%", _of_changes(_percent_of), rank=ALWAYS),
        Column("95 %", "%", _of_changes(_interval), rank=BRIEF),
        Column("at run", "", _of_changes(lambda change: str(change.first + 1)), rank=ALWAYS),
    ]  # fmt: skip


def _figure(history: History, row: RowHistory, place: int) -> str:
    """The row's first figure, or its last, with the sign of its verdict."""
    run, found = [*row.figures.items()][place]
    doubt = history.doubt(row, run)
    sign = "" if doubt is None else mark_of(doubt.word)
    return number(found.value, 3, 1e6 if is_bandwidth(row.configuration) else 1e3) + sign


def _ratio(row: RowHistory) -> str:
    if not row.is_short:
        return NOTHING
    return f"{number(row.ratio.value)}{'?' if _is_single(row) else ''}"


def _level(row: RowHistory) -> str:
    """What the row's quantity is at; empty where it is in any state."""
    return "" if row.quantity is None else row.quantity.text(row.level)


def _of_changes(cell: Callable[[LevelChange], str]) -> Callable[[RowHistory], str]:
    """A cell with something of each change of a row."""
    return lambda row: ", ".join(map(cell, row.changes)) or NOTHING


def _percent_of(change: LevelChange) -> str:
    return _percent(change.difference.ratio)


def _interval(change: LevelChange) -> str:
    return f"{_percent(change.difference.low)} to {_percent(change.difference.high)}"
