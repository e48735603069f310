"""Why rows are not ok: their causes, the most frequent first; and all that looks odd in them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from halftrip.analysis.flags import NAMES
from halftrip.analysis.flags.cause import KEEP_STATE
from halftrip.analysis.flags.flag import Flag
from halftrip.analysis.flags.machine import can_move
from halftrip.analysis.flags.table import FEW_SLICES, NO_INTERVAL
from halftrip.analysis.rows import Row
from halftrip.analysis.verdict import NOT_OK
from halftrip.plan.slices import SWEEP_SIZES
from halftrip.render.blocks import (
    SPACE,
    Block,
    Heading,
    Items,
    Paragraph,
    Table,
    Terms,
    View,
    text_table,
)
from halftrip.report.document import Document
from halftrip.report.fields import name_of, varying
from halftrip.stats.median import median
from halftrip.units import format_size

# Causes of which the core-to-core round trip may be the reason; and the median of the rank
# correlations of at least so many rows from which on it is said to be.
_OF_LEVEL = ("level wandered", "cores moved")
_FEWEST_ROWS = 10
_LEAST_CORRELATION = 0.3
# Of this, the example is a row that names a program.
_OF_PROGRAMS = "CPU contention"
_OF_SWEEP = (
    "halftrip fit tells the curve from all sizes together; of single sizes, -r 10 tells more"
)
# Of what was imported, nobody has judged the rows before.
_MOST_OF_IMPORTED = 3


class CauseGroup(NamedTuple):
    """The rows with one cause; `cause` is that of the worst of them, `example` its name and what
    was seen."""

    cause: Flag
    example: str
    rows: list[Row]


def groups(document: Document) -> list[CauseGroup]:
    """The causes of its rows, the one of most rows first."""
    rows = document.rows
    by_name: dict[str, list[tuple[Row, Flag]]] = {}
    for row in rows:
        if row.verdict.cause is not None:
            by_name.setdefault(row.verdict.cause.name, []).append((row, row.verdict.cause))
    # The pattern of a row that is no ping-pong says what its window is, too.
    fields = [
        f for f in varying(row.configuration for row in rows) if f.name not in ("pattern", "window")
    ]
    found = []
    for alike in by_name.values():
        worst, cause = max(alike, key=lambda item: (_names_a_task(item[0]), _badness(item[0])))
        kind = "" if worst.configuration.shape.replies else worst.configuration.pattern
        name = name_of(worst.configuration, fields, document.run.names, kind)
        example = f"{name}: {cause.seen}"
        found.append(CauseGroup(cause, example, [row for row, _ in alike]))

    # That a source gives single figures is known; what is wrong with some of them is not.
    def rank(group: CauseGroup) -> tuple[bool, int, int]:
        worst = sum(row.verdict.word == "no" for row in group.rows)
        return group.cause.name == NO_INTERVAL, -len(group.rows), -worst

    return sorted(found, key=rank)


def _names_a_task(row: Row) -> bool:
    """Whether the cause of a row is what other programs did, and one of them is known."""
    if row.verdict.cause is None or row.verdict.cause.name != _OF_PROGRAMS:
        return False
    cores = [usage.core for usage in row.usage or ()]
    tasks = [core.busiest_task for core in cores if core is not None]
    return any(task is not None and task.owner is None for task in tasks)


def _badness(row: Row) -> float:
    """Rows with an interval first: what was seen there can be compared with it."""
    return row.verdict.width if math.isfinite(row.verdict.width) else -1.0


def trust(document: Document) -> str:
    """How many rows have which verdict, and the cause of most of those that are not ok; of what was
    imported, several causes."""
    rows = document.rows
    counts = Counter(row.verdict.word for row in rows)
    others = "".join(f", {counts[word]} {word}" for word in NOT_OK if counts[word])
    said = f"{counts['ok']} of {_counted(len(rows))} ok{others}."
    for group in groups(document)[: _MOST_OF_IMPORTED if document.run.sources else 1]:
        said += f" {_counted(len(group.rows))}: {group.cause.name}; {group.example}."
        if group.cause.name in _OF_LEVEL:
            said += _cores_moved(document)
    return said


def advice(document: Document) -> str | None:
    """What to do about the most frequent cause; None where all rows are ok."""
    for group in groups(document)[:1]:
        if is_of_sweep(group, document):
            return _OF_SWEEP
        return (
            KEEP_STATE
            if group.cause.name in _OF_LEVEL and _cores_moved(document)
            else group.cause.advice
        )
    return None


def is_of_sweep(group: CauseGroup, document: Document) -> bool:
    """Whether rows have few slices since they are sizes of a sweep, which tell its curve
    together."""
    curves = Counter(row.configuration.curve for row in document.rows)
    return group.cause.name == FEW_SLICES and max(curves.values()) > SWEEP_SIZES


def _cores_moved(document: Document) -> str:
    """That the level of most rows goes with the core-to-core round trip; empty where it does not,
    and where cores cannot move. One row has too few slices to tell."""
    rows = document.rows
    if not any(can_move(environment) for environment in document.run.environments):
        return ""
    known = [row.with_rtt.value for row in rows if row.with_rtt is not None]
    trips = [row.core_to_core_rtt for row in rows if row.core_to_core_rtt is not None]
    if len(known) < _FEWEST_ROWS or median(known) < _LEAST_CORRELATION:
        return ""
    low, high = min(low for low, _ in trips), max(high for _, high in trips)
    share = f"{sum(value > 0 for value in known)} of {len(known)} rows"
    return (
        f" The cores moved: in {share} the level goes with the core-to-core round trip, "
        f"{low:.0f} to {high:.0f} ns."
    )


def _counted(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


def why(document: Document, every: bool = False) -> View:
    """A paragraph for each cause: how many rows have it, an example, what to do, and which. With
    `every`, what was seen in each row."""
    named = _namer(document)
    ok = sum(row.verdict.word == "ok" for row in document.rows)
    blocks: list[Block] = [Paragraph(f"{ok} of {_counted(len(document.rows))} ok")]
    for group in groups(document):
        blocks += [SPACE, Heading(f"{group.cause.name}: {_counted(len(group.rows))}")]
        said = [("seen", group.example), ("do", group.cause.advice), ("rows", _named(group.rows))]
        if every:
            seen = [
                ("", f"{named(row)}: {row.verdict.cause.seen}")
                for row in group.rows
                if row.verdict.cause is not None
            ]
            said = [*seen, ("do", group.cause.advice)]
        blocks.append(Terms(said, indent=4, least=len("seen")))
    return View(blocks, records=lambda: _causes(document), title="How far to trust each row")


def _causes(document: Document) -> list[dict[str, Any]]:
    """A record for each row that is not ok."""
    named = _namer(document)
    return [
        {
            "row": named(row),
            "verdict": row.verdict.word,
            "cause": row.verdict.cause.name,
            "seen": row.verdict.cause.seen,
            "advice": row.verdict.cause.advice,
        }
        for row in document.rows
        if row.verdict.cause is not None
    ]


def table_of_causes(document: Document) -> Table:
    """The causes, what to do about each, and how many rows have it."""
    return text_table(
        "Why rows are not ok",
        ["cause", "rows", "for example", "what to do"],
        [
            (group.cause.name, str(len(group.rows)), group.example, group.cause.advice)
            for group in groups(document)
        ],
        numbers=["rows"],
    )


def _namer(document: Document) -> Callable[[Row], str]:
    """What tells a row from the others."""
    fields = varying(row.configuration for row in document.rows)
    return lambda row: name_of(row.configuration, fields, document.run.names)


def _named(rows: Sequence[Row]) -> str:
    """The rows by transport and pattern: their sizes."""
    sizes: dict[str, list[str]] = {}
    for row in rows:
        configuration = row.configuration
        name = (
            configuration.transport
            if configuration.shape.replies
            else f"{configuration.transport} {configuration.pattern}"
        )
        sizes.setdefault(name, []).append(format_size(configuration.known_size))
    return "; ".join(f"{name} {', '.join(dict.fromkeys(of))}" for name, of in sizes.items())


# Flags.


class FlagGroup(NamedTuple):
    """A flag with one piece of advice, and, for each row that has it, the row's name and what was
    seen there."""

    name: str
    advice: str
    seen: list[tuple[str, str]]


def flag_groups(document: Document) -> list[FlagGroup]:
    """The flags by name and by advice, in the order of their names."""
    named = _namer(document)
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in document.rows:
        for flag in row.flags:
            found.setdefault((flag.name, flag.advice), []).append((named(row), flag.seen))
    made = [FlagGroup(name, advice, seen) for (name, advice), seen in found.items()]
    return sorted(made, key=lambda each: NAMES.index(each.name))


def flags(document: Document) -> View:
    """The flags by name and by advice, each with the rows that have it and what was seen there."""
    found = flag_groups(document)
    blocks: list[Block] = []
    for group in found:
        seen = [f"{row}: {what}" for row, what in group.seen]
        blocks += [Paragraph(group.advice, group.name, "yellow"), Items(seen, indent=2), SPACE]
    if not blocks:
        said = f"no flags: none of the {len(document.rows)} rows gives a reason to doubt"
        blocks.append(Paragraph(said))
    return View(
        blocks,
        records=lambda: [
            {"row": row, "flag": group.name, "seen": seen, "advice": group.advice}
            for group in found
            for row, seen in group.seen
        ],
        title="What looks odd",
    )
