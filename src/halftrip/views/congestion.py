"""Pairs of hosts alone and beside all others, with traffic of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from halftrip.analysis.congestion import Beside, Together, together
from halftrip.analysis.figure import ALWAYS, BRIEF, MORE
from halftrip.analysis.rows import Row
from halftrip.render.blocks import SPACE, Block, Column, Items, Legend, table
from halftrip.report.document import Document
from halftrip.report.numbers import MARKS_OF_ROWS, NOTHING, in_unit, marked, number
from halftrip.results.configuration import NO_BACKGROUND
from halftrip.results.names import Names
from halftrip.stats.median import median
from halftrip.units import size_in_words
from halftrip.views.notes import at_once
from halftrip.views.under_load import factor_in_words

# Of more pairs, those that suffer most.
_MOST_PAIRS = 12
_SAYS = (
    "alone, beside: of a pair by itself and while the others talk; x alone: how many times as long "
    "it takes (95 %), in a window of messages where it is a bandwidth; x p99: the same of the 99th "
    f"percentiles. {MARKS_OF_ROWS}: see --why."
)


def has_congestion(rows: Sequence[Row]) -> bool:
    """Whether pairs were measured alone, and beside others with traffic."""
    if all(row.configuration.background == NO_BACKGROUND for row in rows):
        return False
    return any(
        each.row.configuration.background != NO_BACKGROUND
        for found in together(rows)
        for each in found.rows
    )


def blocks(document: Document) -> list[Block]:
    """A table for the pairs that talk at the same time, with a line for each, those that suffer
    most first; and who does."""
    names = document.run.names
    shown: list[Block] = []
    said: list[str] = []
    for found in together(document.rows):
        title = _title(found, names)
        rows = found.rows[:_MOST_PAIRS]
        shown += [table(rows, _columns(found, names)).titled(title, "heading"), SPACE]
        said.append(f"{title}: {_answer(found, names)}")
    seed = document.run.header.plan.get("pairs_seed")
    drawn = [f"pairs at random: those of --pairs-seed {seed}"] if seed is not None else []
    return [*shown, Items([*said, *drawn]), SPACE, Legend([_SAYS])]


def _title(found: Together, names: Names) -> str:
    """``incast to n1, 3 pairs at once: tcp pingpong 64 B, beside stream:tcp:64K``."""
    configurations = [each.row.configuration for each in found.rows]
    first = configurations[0]
    to = {names.host(each.pair[1]) for each in configurations}
    from_ = {names.host(each.pair[0]) for each in configurations}
    count = at_once(max(first.concurrency, 1))
    is_incast = len(to) == 1 < len(from_)
    where = f"incast to {min(to)}, {count}" if is_incast else count
    what = f"{first.transport} {first.pattern} {size_in_words(first.known_size)}"
    beside = f", beside {first.background}" if first.background != NO_BACKGROUND else ""
    return f"{where}: {what}{beside}"


def _answer(found: Together, names: Names) -> str:
    """By how much pairs suffer, and which one more than the others."""
    middle = median([each.factor.value for each in found.rows])
    tails = [each.tail for each in found.rows if each.tail > 0]
    said = f"{number(middle, 2)} x the time alone"
    said += f", {number(median(tails), 2)} x by p99" if tails else ""
    said += f" (median of {len(found.rows)} pairs)" if len(found.rows) > 1 else ""
    worst = found.rows[0]
    if found.worst:
        tail = f", {number(worst.tail, 2)} by p99" if worst.tail > 0 else ""
        name = _pair(worst, names)
        return f"{said}; worst: {name}: {factor_in_words(worst.factor)} x{tail}"
    return f"{said}; no pair is surely worse than the others" if len(found.rows) > 1 else said


def _pair(found: Beside, names: Names) -> str:
    one, other = found.row.configuration.pair
    if names.host(one) == names.host(other):
        return f"ranks {names.pair((one, other))}"
    return f"{names.host(one)} to {names.host(other)}"


def _columns(found: Together, names: Names) -> list[Column]:
    is_rate = found.setting.is_rate
    unit = "MB/s" if is_rate else "us"

    def figure(row: Row) -> str:
        return marked(row, row.bandwidth if is_rate else row.summary.latency, unit, 3)

    def quantile(name: str) -> Callable[[Beside], str]:
        return lambda each: in_unit(getattr(each.row.summary, name).value * _trips(each), "us")

    what = "window " * is_rate
    return [
        Column("pair", "", partial(_pair, names=names), True, rank=ALWAYS),
        Column("alone", unit, lambda each: figure(each.alone), rank=BRIEF),
        Column("beside", unit, lambda each: figure(each.row), rank=ALWAYS),
        Column("x alone", "", lambda each: factor_in_words(each.factor), rank=ALWAYS),
        Column(f"{what}p99", "us", quantile("p99"), rank=BRIEF),
        Column("x p99", "", lambda each: _times(each.tail), rank=ALWAYS),
        Column(f"{what}p99.9", "us", quantile("p999"), rank=MORE),
        Column("cause", "", _cause, True, rank=BRIEF),
    ]


def _trips(found: Beside) -> int:
    configuration = found.row.configuration
    return configuration.messages_per_iteration if configuration.is_rate else 1


def _cause(found: Beside) -> str:
    cause = found.row.verdict.cause
    return "" if cause is None else cause.name


def _times(factor: float) -> str:
    return number(factor, 2) if factor > 0 else NOTHING
