"""Which of several paths, MPIs, settings or pairs of hosts is the fastest, in one sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from types import MappingProxyType

import msgspec

from halftrip.analysis.ranking import Change, Slower, rankings
from halftrip.analysis.rows import Row
from halftrip.report.document import Document
from halftrip.report.fields import curve_name, varying_within_patterns
from halftrip.report.numbers import factor_alone, factor_texts
from halftrip.results.configuration import NO_BACKGROUND, UNKNOWN
from halftrip.results.patterns import ROUND_TRIP
from halftrip.results.reported import Variant
from halftrip.units import size_in_words

# Of more others than these, the nearest are named, and the slowest.
_MOST_OTHERS = 4
_MOST_PAIRS = 3
# Of more ranges of sizes than these in which another path is the fastest, the last stands behind
# the first ones.
_MOST_CHANGES = 3
# An interval from one end to this many times that tells nothing.
_MOST_TIMES = 100.0


def sentence(document: Document, variants: Mapping[Variant, str] = MappingProxyType({})) -> str:
    """``8 B: shm is 2.1 (1.9 to 2.4) times as fast as mpi; from 256 KiB on ...``; empty where there
    is nothing to compare, and of a run against an earlier one, which is a comparison. `variants`
    are called so."""
    idle = [
        row
        for row in document.rows
        if row.configuration.background == NO_BACKGROUND and not row.configuration.delay
    ]
    document = document._replace(rows=idle)
    pairs = {frozenset(row.configuration.pair) for row in document.rows}
    # Of more pairs, those that are slow are named.
    if len(pairs) > _MOST_PAIRS or document.run.base_file is not None:
        return ""
    found = rankings(document.rows)
    if found is None:
        return ""
    ranking, changes = found
    name = partial(_called, document=document, variants=variants)
    first = ranking.fastest
    pattern = first.configuration.pattern
    size = size_in_words(ranking.size)
    said = f"{size if pattern == ROUND_TRIP else f'{pattern} {size}'}: {name(first)} is "
    others = list(ranking.others)
    named = others if len(others) <= _MOST_OTHERS else [*others[: _MOST_OTHERS - 2], others[-1]]
    said += _and_others(named, name)
    if len(named) < len(others):
        said += f", the slowest of {len(others) + 1}"
    within = _within(first, others)
    if not changes:
        return f"{said}{within}"
    last = changes[-1]
    times = f"{_times(last.slower)} times as fast as {name(first)}{within}"
    at = f"at {size_in_words(last.end)}"
    if len(changes) == 1 and last.is_last:
        begin = "" if last.begin == last.end else f"from {size_in_words(last.begin)} on, "
        return f"{said}; {begin}{at} {name(last.fastest)} is {times}"
    shown = changes if len(changes) <= _MOST_CHANGES else [*changes[: _MOST_CHANGES - 1], last]
    ranges = ", ".join(f"{name(each.fastest)} {_range(each)}" for each in shown)
    if len(shown) < len(changes):
        ranges += f" ({len(changes)} changes in all)"
    return f"{said}; the fastest is {ranges}: {at} {times}"


def _and_others(others: Sequence[Slower], name: Callable[[Row], str]) -> str:
    """Those that cannot be told apart have these words once, however many follow each other."""
    parts = []
    for is_unknown, alike in groupby(others, lambda each: not _is_told(each)):
        if is_unknown:
            which = [f"{name(each.row)}{_unsure(each)}" for each in alike]
            last = f" and {which.pop()}" if len(which) > 1 else ""
            parts.append(f"not told apart from {', '.join(which)}{last}")
        else:
            parts += [f"{_times(each)} times as fast as {name(each.row)}" for each in alike]
    return ", ".join(parts)


def _range(change: Change) -> str:
    begin, end = map(size_in_words, (change.begin, change.end))
    if begin == end:
        return f"at {begin}"
    return f"from {begin} on" if change.is_last else f"from {begin} to {end}"


def _within(fastest: Row, others: Sequence[Slower]) -> str:
    """That intervals are over the slices of one launch, where they are: other launches may be at
    another level."""
    alone = all(row.launches == 1 for row in (fastest, *(each.row for each in others)))
    known = any(math.isfinite(each.factor.low) for each in others)
    is_measured = not fastest.configuration.is_simulated
    return ", within one launch" if alone and known and is_measured else ""


def _is_told(slower: Slower) -> bool:
    """Whether it is known to be slower; of what has no interval it is not known that it is not."""
    factor = slower.factor
    if not (math.isfinite(factor.low) and math.isfinite(factor.high)):
        return True
    return slower.is_told_apart and factor.high <= _MOST_TIMES * factor.low


def _times(slower: Slower) -> str:
    """``2.1 (1.9 to 2.4)``."""
    factor = slower.factor
    if not (math.isfinite(factor.low) and math.isfinite(factor.high)):
        return factor_alone(factor.value)
    times, low, high = factor_texts(factor)
    return f"{times} ({low} to {high})"


def _unsure(slower: Slower) -> str:
    """The interval of what is not told apart, in brackets, unless it says nothing."""
    factor = slower.factor
    if factor.high > _MOST_TIMES * factor.low:
        return ""
    _, low, high = factor_texts(factor)
    return f" ({low} to {high} times)"


def _called(row: Row, document: Document, variants: Mapping[Variant, str]) -> str:
    """The path, and the variant by its short name."""
    if not variants:
        return path(row, document)
    alike = [
        each._replace(configuration=msgspec.structs.replace(each.configuration, variant=()))
        for each in (row, *document.rows)
    ]
    name = path(alike[0], document._replace(rows=alike[1:]))
    several = len({each.configuration.curve for each in alike}) > 1
    variant = variants[row.configuration.variant]
    return f"{name} {variant}" if several else variant


def path(row: Row, document: Document) -> str:
    """The path of a row among those of its kind, in words; a setting, such as how it waits, only
    where its transport has several values of it."""
    configuration = row.configuration
    configurations = [each.configuration for each in document.rows]
    own = [each for each in configurations if each.transport == configuration.transport]
    fields = [
        field
        for field in varying_within_patterns(configurations, ("concurrent pairs",))
        if len({field.of(each) for each in own}) > 1
    ]
    name = curve_name(configuration, fields, document.run.names)
    ranks = "-".join(map(str, configuration.pair))
    if any(field.name == "ranks" for field in fields) and not document.run.names.are_hosts:
        name = name.replace(ranks, f"ranks {ranks}")
    if configuration.transport == UNKNOWN:
        name = name.replace(UNKNOWN, "a path that is not known", 1)
    return name
