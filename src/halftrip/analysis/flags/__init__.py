"""Flags: why a row should not be trusted as it stands, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import is_
from typing import NamedTuple

from halftrip.analysis.flags import machine, neighbours, samples
from halftrip.analysis.flags.flag import Evidence, Flag, Rule, evidence, typical_rtts
from halftrip.analysis.states import RunStates, run_states
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run

__all__ = [
    "NAMES",
    "Evidence",
    "Flag",
    "Known",
    "contradictions",
    "evidences",
    "flags_by_configuration",
    "flags_of",
]  # fmt: skip

# In the order of tables; docs/flags.md explains each.
NAMES = (
    "coarse-clock",
    "cold-start",
    "drift",
    "bimodal",
    "autocorrelated",
    "outlier-size",
    "contradiction",
    "above-bound",
    "not-converged",
    "disturbed",
    "other-state",
    "unpinned",
    "oversubscribed",
)

_RULES: tuple[Rule, ...] = (
    samples.coarse_clock,
    samples.few_digits,
    samples.cold_start,
    samples.drift,
    samples.bimodal,
    samples.autocorrelated,
    samples.not_converged,
    machine.disturbed,
    machine.above_bound,
    machine.other_state,
    machine.unpinned,
    machine.oversubscribed,
)
# Flags that are left out where one of these others explains them.
_EXPLAINED_BY = {
    "autocorrelated": ("drift", "bimodal"),
    "drift": ("bimodal",),
}


def flags_by_configuration(run: Run) -> dict[Configuration, tuple[Flag, ...]]:
    """The flags of every row of a run."""
    rows = evidences(run)
    beside = contradictions(rows)
    return {row.configuration: flags_of(row, beside.get(row.configuration, [])) for row in rows}


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
    it gets what is found now. `states` are those of the run, if they are known already."""
    rtts, states = typical_rtts(run), states or run_states(run)
    found = []
    for configuration, measurements in run.by_configuration.items():
        before = None if known is None else known.get(configuration)
        held = states.held(configuration, measurements) if known is not None else ()
        if before and before.held == held and _are_same(before.measurements, measurements):
            found.append(replace(before.evidence, run=run))
        else:
            found.append(evidence(run, configuration, measurements, rtts, states))
        if known is not None:
            known[configuration] = Known(measurements, held, found[-1])
    return found


def _are_same(some: Sequence[Measurement], others: Sequence[Measurement]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def contradictions(rows: Sequence[Evidence]) -> dict[Configuration, list[Flag]]:
    """The flags of rows that do not fit others of the same run, or themselves."""
    found: dict[Configuration, list[Flag]] = {}
    _add(found, neighbours.unlike_itself(rows))
    shown = set(map(id, rows))
    for curve in neighbours.curves(rows):
        for alike in neighbours.in_states(curve):
            own = {row.configuration for row in alike if id(row) in shown}
            for flags in _of_curve(alike):
                _add(found, {row: flag for row, flag in flags.items() if row in own})
    _add(found, neighbours.slower_in_a_stream(rows))
    return found


def _of_curve(curve: Sequence[Evidence]) -> Iterator[dict[Configuration, Flag]]:
    """The flags of rows of a curve that do not fit others of it."""
    yield neighbours.cold_first_row(curve)
    outliers = neighbours.outlier_sizes([*curve])
    yield outliers
    # An outlier contradicts its neighbours anyway.
    yield neighbours.faster_when_larger([row for row in curve if row.configuration not in outliers])


def flags_of(row: Evidence, beside: Sequence[Flag]) -> tuple[Flag, ...]:
    """All flags of a row; `beside` are those that other rows give it."""
    own = [flag for rule in _RULES if (flag := row.found_by(rule)) is not None]
    return _in_order([*own, *beside])


def _add(found: dict[Configuration, list[Flag]], more: dict[Configuration, Flag]) -> None:
    """Adds a flag to each configuration that does not have one of that name."""
    for configuration, flag in more.items():
        flags = found.setdefault(configuration, [])
        if flag.name not in (known.name for known in flags):
            flags.append(flag)


def _in_order(flags: list[Flag]) -> tuple[Flag, ...]:
    """The flags that no other flag explains, in the order of NAMES."""
    names = {flag.name for flag in flags}
    kept = [flag for flag in flags if not names.intersection(_EXPLAINED_BY.get(flag.name, ()))]
    return tuple(sorted(kept, key=lambda flag: NAMES.index(flag.name)))
