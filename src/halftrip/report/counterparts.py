"""Which rows of several runs stand beside each other: those of the same configuration, and what was
imported beside the row that it may be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from halftrip.report.fields import varying
from halftrip.report.rows import Row
from halftrip.results.configuration import Configuration

_Rows = Sequence[Row | None]
# More reasons than these are counted together.
_MOST_REASONS = 3


class Line(NamedTuple):
    """A configuration, and its row in each run; None where that has none."""

    configuration: Configuration
    rows: _Rows


def lines_of(runs: Sequence[Sequence[Row]]) -> list[Line]:
    """The configurations of all runs, in the order of the first that has them. What was imported,
    and is not known in all its settings, stands beside the only one that it may be; each of several
    tables of a text does, in a line of its own."""
    by_run = [{row.configuration.without_cores: row for row in rows} for rows in runs]
    known = {
        each: [rows.get(each) for rows in by_run]
        for each in dict.fromkeys(configuration for rows in by_run for configuration in rows)
    }
    beside = _beside(known)
    imported: dict[Configuration, list[Configuration]] = {}
    for each, other in beside.items():
        imported.setdefault(other, []).append(each)
    found = []
    for each, rows in known.items():
        if each in imported:
            for theirs in imported[each]:
                # As far as it is known by the other.
                shown = msgspec.structs.replace(each, variant=theirs.variant)
                both = zip(rows, known[theirs], strict=True)
                found.append(Line(shown, [mine or other for mine, other in both]))
        elif each not in beside:
            found.append(Line(each, rows))
    return found


def _beside(known: Mapping[Configuration, _Rows]) -> dict[Configuration, Configuration]:
    """What was imported, by the only configuration of another run that it may be."""
    alike: dict[tuple[object, ...], list[Configuration]] = {}
    for each in known:
        alike.setdefault(_kind(each), []).append(each)
    found: dict[Configuration, Configuration] = {}
    for each in known:
        others = [other for other in alike[_kind(each)] if _may_be(each, other)]
        if len(others) == 1 and not _overlap(known[each], known[others[0]]):
            found[each] = others[0]
    return {each: other for each, other in found.items() if other not in found}


def _kind(each: Configuration) -> tuple[object, ...]:
    return each.transport, each.pattern, each.mode, each.known_size


def _may_be(imported: Configuration, other: Configuration) -> bool:
    """Whether these differ in nothing but in what is not known of the first."""
    filled = imported.filled(other)
    return filled != imported and _as_other(filled, other) == _as_other(other, other)


def _as_other(each: Configuration, other: Configuration) -> Configuration:
    """The same with what both may have under other names."""
    return msgspec.structs.replace(each, places=other.message_places, variant=other.variant)


def _overlap(some: _Rows, others: _Rows) -> bool:
    """Whether a run has both rows."""
    return any(a is not None and b is not None for a, b in zip(some, others, strict=True))


def alone(runs: Sequence[Sequence[Row]], letters: Sequence[str]) -> list[str]:
    """How many of the rows that were imported stand beside one of another run, and why the others
    do not; a line for each run that was imported, where another one was not."""
    if all(row.source is not None for rows in runs for row in rows):
        return []
    beside = lines_of(runs)
    said = []
    for place, (letter, rows) in enumerate(zip(letters, runs, strict=True)):
        imported = [row for row in rows if row.source is not None]
        if not imported:
            continue
        matched = {
            id(line.rows[place])
            for line in beside
            if line.rows[place] is not None and sum(row is not None for row in line.rows) > 1
        }
        left = [row.configuration for row in imported if id(row) not in matched]
        others = [
            row.configuration.without_cores
            for each in runs
            if each is not rows
            for row in each
            if row.source is None
        ]
        count = f"{len(imported) - len(left)} of its {len(imported)} rows"
        line = f"{letter}: {count} stand beside a row that was measured here"
        if left:
            line += f"; not the others: {_reasons(left, others)}"
        said.append(line)
    return said


def _reasons(left: Sequence[Configuration], others: Sequence[Configuration]) -> str:
    """Why these have no counterpart, with how many of them: the most frequent first."""
    counts = Counter(_reason(each, others) for each in left).most_common()
    named = [f"{count} {reason}" for reason, count in counts[:_MOST_REASONS]]
    more = sum(count for _, count in counts[_MOST_REASONS:])
    return ", ".join([*named, *([f"{more} for other reasons"] if more else [])])


def _reason(imported: Configuration, others: Sequence[Configuration]) -> str:
    """The first thing that no other configuration has in common with this one."""
    left = list(others)
    for name in ("transport", "pattern", "mode", "known_size"):
        value = getattr(imported, name)
        same = [each for each in left if getattr(each, name) == value]
        if not same:
            if name != "known_size":
                return f"of {name} {value}"
            return "of another size" if value is not None else "of a size that is not known"
        left = same
    if sum(_may_be(imported, each) for each in left) > 1:
        return "that may be any of several rows"
    filled = _as_other(imported.filled(left[0]), left[0])
    for field in varying((filled, _as_other(left[0], left[0]))):
        return f"of {field.name} {field.of(imported) or 'unknown'}"
    return "of other settings"
