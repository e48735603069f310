"""Flags: why a row should not be trusted as it stands, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import is_
from typing import NamedTuple

from halftrip.analysis.flags import machine, neighbours
from halftrip.analysis.flags.cause import Cause
from halftrip.analysis.flags.flag import (
    Evidence,
    Finding,
    Flag,
    evidence,
    find_modes,
    together,
    typical_rtts,
)
from halftrip.analysis.flags.table import (
    CAUSES,
    COLD_TABLE,
    CONTRADICTED,
    OUTLIER,
    SLOWER,
    SLOWER_THAN_SHM,
    UNLIKE_ITSELF,
    largest_first,
)
from halftrip.analysis.states import Probed, RunStates, run_states
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.slices import slice_times

__all__ = [
    "NAMES",
    "Evidence",
    "Flag",
    "Known",
    "contradictions",
    "evidences",
    "evidences_of",
    "flags_of",
]  # fmt: skip

# So many rows are summarized together.
_AT_ONCE = 256

# In the order of tables.
NAMES = tuple(dict.fromkeys(cause.flag for cause in CAUSES if cause.flag))


class Known(NamedTuple):
    """What was found of a row when it had these measurements, and what `RunStates.held` was."""

    measurements: Sequence[Measurement]
    held: tuple[int | None, ...]
    evidence: Evidence


def evidences(
    run: Run,
    known: dict[Configuration, Known] | None = None,
    states: RunStates | None = None,
) -> list[Evidence]:
    """The evidence of every row of a run. `known` is what was found when the run had fewer
    measurements: rows that have no others since, nor others of their states, are as they were, and
    it gets what is found now. `states` are those of the run, where they are known."""
    rtts, states = typical_rtts(run), states or run_states(run)
    rows = [*run.by_configuration.items()]
    found: dict[int, Evidence] = {}
    held: dict[int, tuple[int | None, ...]] = {}
    if known is not None:
        for place, (configuration, measurements) in enumerate(rows):
            held[place] = states.held(configuration, measurements)
            before = known.get(configuration)
            is_same = before and before.held == held[place]
            if before and is_same and _are_same(before.measurements, measurements):
                found[place] = replace(before.evidence, run=run)
    new = [place for place in range(len(rows)) if place not in found]
    found |= zip(new, evidences_of(run, [rows[n] for n in new], rtts, states), strict=True)
    if known is not None:
        for place, (configuration, measurements) in enumerate(rows):
            known[configuration] = Known(measurements, held[place], found[place])
    return [found[place] for place in range(len(rows))]


def evidences_of(
    run: Run,
    rows: Sequence[tuple[Configuration, Sequence[Measurement]]],
    rtts: dict[Probed, float],
    states: RunStates,
) -> Iterator[Evidence]:
    """The evidence of some of the rows of a run, each given with its measurements; `rtts` are its
    `typical_rtts`."""
    for begin in range(0, len(rows), _AT_ONCE):
        some = rows[begin : begin + _AT_ONCE]
        times = iter(slice_times(each for _, measurements in some for each in measurements))
        found = [evidence(run, *row, rtts, states, [*islice(times, len(row[1]))]) for row in some]
        find_modes(found)
        yield from found


def _are_same(some: Sequence[Measurement], others: Sequence[Measurement]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def contradictions(rows: Sequence[Evidence]) -> dict[Configuration, list[Flag]]:
    """The flags of rows that do not fit others of the same run, or themselves."""
    found: dict[Configuration, list[Flag]] = {}
    _add(found, UNLIKE_ITSELF, neighbours.unlike_itself(rows))
    shown = set(map(id, rows))
    for curve in neighbours.curves(rows):
        for alike in neighbours.in_states(curve):
            own = {row.configuration for row in alike if id(row) in shown}
            for cause, findings in _of_curve(alike):
                _add(found, cause, {row: each for row, each in findings.items() if row in own})
    _add(found, CONTRADICTED, neighbours.slower_in_a_stream(rows))
    _add(found, SLOWER_THAN_SHM, neighbours.slower_than_shm(rows))
    return found


def _of_curve(
    curve: Sequence[Evidence],
) -> Iterator[tuple[Cause, dict[Configuration, Finding]]]:
    """What is found of rows of a curve that do not fit others of it."""
    yield COLD_TABLE, neighbours.cold_first_row(curve)
    outliers = neighbours.outlier_sizes([*curve])
    yield OUTLIER, outliers
    # An outlier contradicts its neighbours anyway.
    others = [row for row in curve if row.configuration not in outliers]
    yield SLOWER, neighbours.faster_when_larger(others)


def flags_of(row: Evidence, beside: Sequence[Flag]) -> tuple[Flag, ...]:
    """All flags of a row, in the order of NAMES; `beside` are those that other rows give it."""
    every: dict[str, list[tuple[Cause, Finding]]] = {}
    for cause in CAUSES:
        found = None if not cause.flag or cause.find is None else row.found_by(cause.find)
        if found is not None:
            every.setdefault(cause.flag, []).append((cause, found))
    flags: dict[str, Flag] = {}
    for name, causes in every.items():
        # Of those without a share, others than what was seen at the machine are one thing that
        # shows in several ways.
        seen = [
            (cause, found)
            for cause, found in largest_first(causes)
            if cause.when == "always" or not math.isnan(found.share)
        ]
        flags[name] = together([cause.flagged(found) for cause, found in seen or causes[:1]])
    if "disturbed" in flags:
        flag = flags["disturbed"]
        flags["disturbed"] = flag._replace(seen=f"{flag.seen}{machine.losses(row)}")
    flags |= {flag.name: flag for flag in beside if flag.name not in flags}
    hidden = {cause.flag for cause in CAUSES if not flags.keys().isdisjoint(cause.explained_by)}
    return tuple(flags[name] for name in NAMES if name in flags and name not in hidden)


def _add(
    found: dict[Configuration, list[Flag]], cause: Cause, more: dict[Configuration, Finding]
) -> None:
    """Adds the flag of a cause to each configuration that does not have one of that name."""
    for configuration, finding in more.items():
        flags = found.setdefault(configuration, [])
        if cause.flag not in (known.name for known in flags):
            flags.append(cause.flagged(finding))
