"""Which rows of different runs are compared with each other, and stand beside each other.

Rows match where their configurations are equal in all settings but the cores that were requested
(`Configuration.without_cores`); links of a baseline, where they also measure the same whatever pair
does (`Configuration.setting`). A row that was imported may lack settings, which its tool does not
say: compared, it matches what lacks the same, and with `match_unknown` the only row that it may be
the same as. Side by side it stands beside that one, and several tables of a text have a line each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from halftrip.analysis.rows import Row
from halftrip.plan.setting import Setting
from halftrip.plan.settings import SETTINGS, extra_setting
from halftrip.results.configuration import UNKNOWN, Configuration
from halftrip.results.reported import LABELS

_Rows = Sequence[Row | None]


# Two runs that are compared.


def partners(
    base: Collection[Configuration],
    new: Collection[Configuration],
    anyway: bool = False,
    match_unknown: bool = False,
) -> dict[Configuration, Configuration]:
    """The row of `new` for each row of `base` that has one: the same configuration, whatever the
    names of imported tables are. With `match_unknown`, of those that are left: the only one that an
    imported row may be that lacks settings. With `anyway`, then: the only one of the same transport
    and size."""
    found = {each: each for each in base if each in new}

    def more(fits: Callable[[Configuration, Configuration], bool]) -> None:
        taken = set(found.values())
        left = [each for each in base if each not in found]
        found.update(_only_ones(left, [each for each in new if each not in taken], fits))

    more(_same_but_for_names)
    if match_unknown:
        more(may_be_same)
    if anyway:
        more(_same_transport_and_size)
    return found


def _only_ones(
    some: Iterable[Configuration],
    others: Iterable[Configuration],
    fits: Callable[[Configuration, Configuration], bool],
) -> dict[Configuration, Configuration]:
    """The pairs that fit, where neither fits another one."""
    by_size: dict[tuple[str, int], list[Configuration]] = {}
    for other in others:
        by_size.setdefault((other.transport, other.size), []).append(other)
    pairs = [
        (each, other)
        for each in some
        for other in by_size.get((each.transport, each.size), ())
        if fits(each, other)
    ]
    counts: dict[Configuration, int] = {}
    for pair in pairs:
        for each in set(pair):
            counts[each] = counts.get(each, 0) + 1
    return {each: other for each, other in pairs if counts[each] == counts[other] == 1}


def _same_but_for_names(one: Configuration, other: Configuration) -> bool:
    return one.variant != other.variant and in_effect(one) == in_effect(other)


def may_be_same(one: Configuration, other: Configuration) -> bool:
    """Whether they are equal in all settings that are known of both, whatever the names of the
    imported tables are; one of them has to lack a setting, or to have another such name."""
    filled = filled_by(one, other), filled_by(other, one)
    if filled == (one, other) and one.variant == other.variant:
        return False
    return in_effect(filled[0]) == in_effect(filled[1])


def filled_by(one: Configuration, other: Configuration) -> Configuration:
    """The first, with what is unknown of it as the other has it."""
    found = one.filled(other)
    for name in one.unknown:
        found = extra_setting(name).copied(found, other)
    both = tuple(name for name in one.unknown if name in other.unknown)
    return msgspec.structs.replace(found, unknown=both)


def unknown_settings(each: Configuration) -> list[Setting]:
    """The settings that are not known of a configuration, or not of one end."""
    every = {**SETTINGS, **{name: extra_setting(name) for name in each.unknown}}
    # Those of both ends are texts such as ``host:unknown``.
    return [found for found in every.values() if UNKNOWN in str(found.of(each)).split(":")]


class Unknown(NamedTuple):
    """The settings that are not known of rows that are compared, by their titles: of `both` runs,
    so that they may differ in them, or of `one`, so that they were taken to be as in the other."""

    both: Sequence[str]
    one: Sequence[str]


def unknown_of(matches: Mapping[Configuration, Configuration]) -> Unknown:
    """What is not known of these partners."""
    both: dict[str, None] = {}
    one: dict[str, None] = {}
    for pair in matches.items():
        first, second = (dict.fromkeys(_unknown_titles(each)) for each in pair)
        for title in first | second:
            (both if title in first and title in second else one)[title] = None
    return Unknown([*both], [*one])


def _unknown_titles(each: Configuration) -> list[str]:
    size = [] if each.size_known else ["size"]
    return [*size, *(found.title for found in unknown_settings(each))]


def in_effect(each: Configuration) -> Configuration:
    """What is compared of a configuration that may have been imported."""
    settings = tuple(pair for pair in each.variant if pair[0] not in LABELS)
    return msgspec.structs.replace(each, variant=settings, places=each.message_places)


def _same_transport_and_size(one: Configuration, other: Configuration) -> bool:
    return (one.transport, one.size) == (other.transport, other.size)


# Several runs side by side.


class MatchedRows(NamedTuple):
    """A configuration, and its row in each run; None where that has none."""

    configuration: Configuration
    rows: _Rows


def matched_rows(runs: Sequence[Sequence[Row]]) -> list[MatchedRows]:
    """The configurations of all runs, in the order of the first run that has them. An imported row
    that lacks settings stands beside the only row that it may be; where several tables of a text
    have such a row, each gets a line of its own."""
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
                found.append(MatchedRows(shown, [mine or other for mine, other in both]))
        elif each not in beside:
            found.append(MatchedRows(each, rows))
    return found


def _beside(known: Mapping[Configuration, _Rows]) -> dict[Configuration, Configuration]:
    """The only configuration of another run that each imported one may be."""
    alike: dict[tuple[object, ...], list[Configuration]] = {}
    for each in known:
        alike.setdefault(_kind(each), []).append(each)
    found: dict[Configuration, Configuration] = {}
    for each in known:
        others = [other for other in alike[_kind(each)] if lacks(each, other)]
        if len(others) == 1 and not _overlap(known[each], known[others[0]]):
            found[each] = others[0]
    return {each: other for each, other in found.items() if other not in found}


def _kind(each: Configuration) -> tuple[object, ...]:
    return each.transport, each.pattern, each.mode, each.known_size


def lacks(imported: Configuration, other: Configuration) -> bool:
    """Whether the first lacks settings that the other has, and may be the same."""
    return filled_by(imported, other) != imported and may_be_same(imported, other)


def _overlap(some: _Rows, others: _Rows) -> bool:
    """Whether a run has both rows."""
    return any(a is not None and b is not None for a, b in zip(some, others, strict=True))
