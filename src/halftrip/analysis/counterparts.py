"""Which rows of several runs stand beside each other: those of the same configuration, and what was
imported beside the row that it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from halftrip.analysis.rows import Row
from halftrip.results.configuration import Configuration

_Rows = Sequence[Row | None]


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
        others = [other for other in alike[_kind(each)] if may_be(each, other)]
        if len(others) == 1 and not _overlap(known[each], known[others[0]]):
            found[each] = others[0]
    return {each: other for each, other in found.items() if other not in found}


def _kind(each: Configuration) -> tuple[object, ...]:
    return each.transport, each.pattern, each.mode, each.known_size


def may_be(imported: Configuration, other: Configuration) -> bool:
    """Whether these differ in nothing but in what is not known of the first."""
    filled = imported.filled(other)
    return filled != imported and as_other(filled, other) == as_other(other, other)


def as_other(each: Configuration, other: Configuration) -> Configuration:
    """The same with what both may have under other names."""
    return msgspec.structs.replace(each, places=other.message_places, variant=other.variant)


def _overlap(some: _Rows, others: _Rows) -> bool:
    """Whether a run has both rows."""
    return any(a is not None and b is not None for a, b in zip(some, others, strict=True))
