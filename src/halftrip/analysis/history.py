"""The history of every configuration over several runs: where its level changed, by how much, and
what changed in the environment there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from halftrip.analysis.doubts import Doubt, doubt_at
from halftrip.analysis.doubts import changes as changed_doubts
from halftrip.analysis.environments import Change
from halftrip.analysis.environments import changes as environment_changes
from halftrip.analysis.run_figures import LevelFigure, RunFigures, is_bandwidth
from halftrip.analysis.states import Quantity
from halftrip.registry import TRANSPORTS
from halftrip.results.configuration import Configuration
from halftrip.stats.change_points import (
    FEWEST_RUNS,
    Levels,
    LevelStep,
    changed_series,
    standard_error,
)
from halftrip.stats.difference import Difference, differ
from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.estimate import Estimate, ratio
from halftrip.stats.median import median

# The share of histories without a change in which one is found.
_LEVEL = 0.05
# A fact that differs from run to run at least so many times, and in at least this share of all
# cases, explains no change.
_USUAL_TIMES, _USUAL_SHARE = 3, 1 / 3
# Core-to-core round trips differ if one is that many times another.
_MOVED = 1.2
# Levels of the machine in different runs that are farther apart than this factor, with none in
# between, are of different states.
_OTHER_STATE = 1.25
CORE_TO_CORE = "core-to-core round trip"

Direction = Literal["slower", "faster"]


class LevelChange(NamedTuple):
    """A change of a row's level. Numbers are those of runs in the history, from 0: `first` is the
    first run of the new level; at 95 % confidence, that is a run from `low` to `high`. `before` is
    the row's last run before `low`. `difference` is the factor from the figures before to those
    after, up to the changes on both sides."""

    first: int
    low: int
    high: int
    before: int
    difference: Difference
    direction: Direction


class RowHistory(NamedTuple):
    """A configuration, its figures by the number of the run, and its changes in time order; where
    runs measured it in different states of the machine, those in one of them, at about `level` of
    the `quantity`. `detectable` is the factor of a step half-way that would be found in 95 % of
    cases; None with too few runs for any."""

    configuration: Configuration
    figures: Mapping[int, Estimate]
    changes: Sequence[LevelChange]
    detectable: float | None
    quantity: Quantity | None = None
    level: float = math.nan

    @property
    def is_short(self) -> bool:
        """Whether it has several figures, but too few for any change to be found."""
        return 1 < len(self.figures) < FEWEST_RUNS

    @property
    def ratio(self) -> Estimate:
        """The last figure over the first."""
        every = [*self.figures.values()]
        return ratio(every[-1], every[0])


class Event(NamedTuple):
    """Changes of several rows in the same direction that may have happened between the same two
    runs: after `before`, and no later than `high`. `rows` are their places among the rows of the
    history, each with its change. `environment` is how far these rows can be trusted, where that
    differs between their levels, and what differs between these two runs, without what differs
    between most runs."""

    direction: Direction
    before: int
    first: int
    high: int
    rows: Sequence[tuple[int, LevelChange]]
    environment: Sequence[Change]

    @property
    def factors(self) -> list[float]:
        return [change.difference.ratio for _, change in self.rows]

    @property
    def weight(self) -> float:
        """How much has changed: the sum of all logarithms."""
        return sum(abs(math.log(factor)) for factor in self.factors)


class History(NamedTuple):
    """Runs in time order, rows in the order of a table, but those that changed first, and events in
    time order. `launch_spread` is what single figures have their intervals from, if somebody has
    said it."""

    runs: Sequence[RunFigures]
    rows: Sequence[RowHistory]
    events: Sequence[Event]
    launch_spread: float | None = None

    @property
    def in_states(self) -> list[RowHistory]:
        """The rows that are told apart by the state of the machine."""
        return [row for row in self.rows if row.quantity is not None]

    def doubt(self, row: RowHistory, run: int) -> Doubt | None:
        """How far a row of a run can be trusted; None where that is not known."""
        return _doubt(self.runs, row, run)

    @property
    def changed(self) -> list[RowHistory]:
        return [row for row in self.rows if row.changes]


def history(runs: Iterable[RunFigures], launch_spread: float | None = None) -> History:
    """The history of all rows of these runs, in time order; those of one moment, as texts that say
    none were imported in, are in the order that they come in. Figures without an interval have one
    where it is known by how much launches of fresh processes differ: `launch_spread`, a standard
    deviation as a share of the time."""
    ordered = sorted(runs, key=lambda each: each.measured)
    by_row: dict[Configuration, dict[int, _Figures]] = {}
    for number, each in enumerate(ordered):
        for configuration, figure in each.figures.items():
            found = _Figures(
                _known_by(figure, launch_spread),
                each.levels.get(configuration, ()),
                each.goes.get(configuration),
            )
            by_row.setdefault(configuration, {})[number] = found
    rows = _rows([each for row, found in by_row.items() for each in _by_level(row, found)])
    rows.sort(key=lambda row: (not row.changes, *_order(row.configuration)))
    return History(ordered, rows, _events(ordered, rows), launch_spread)


def _known_by(figure: Estimate, spread: float | None) -> Estimate:
    """A figure, which has an interval if it is known by how much launches differ."""
    if spread is None or not math.isnan(figure.half_width):
        return figure
    factor = math.exp(NORMAL_95 * spread)
    return Estimate(figure.value, figure.value / factor, figure.value * factor)


def _order(configuration: Configuration) -> tuple[object, ...]:
    """A key that has configurations in the order of a table."""
    return (
        *TRANSPORTS.place(configuration.transport),
        *configuration.kind,
        str(msgspec.structs.astuple(configuration.curve)),
        configuration.size,
    )


class _Figures(NamedTuple):
    """The figure of a row in a run, and those at each level that it was measured at; whether it
    `goes` with the level, where the run shows it."""

    figure: Estimate
    at: Sequence[LevelFigure]
    goes: bool | None


def _by_level(configuration: Configuration, figures: Mapping[int, _Figures]) -> list[RowHistory]:
    """A row, not judged yet, in each of the states in which runs have measured it: like is compared
    with like. It is one row where all runs were in the same state, and where more runs show that
    the row does not go with it than that it does: a few seem to by chance."""
    at = [each for found in figures.values() for each in found.at]
    quantities = {id(each.quantity): each.quantity for each in at}
    shown = [found.goes for found in figures.values()]
    regardless = shown.count(False) > shown.count(True)
    ranges = level_ranges(each.level for each in at)
    if len(ranges) < 2 or len(quantities) > 1 or regardless:
        whole = {number: found.figure for number, found in figures.items()}
        return [RowHistory(configuration, whole, [], None)]
    rows = []
    for low, high in ranges:
        own = {
            number: each
            for number, found in figures.items()
            # Of two such levels of a run, the one that held most is the first.
            for each in reversed(found.at)
            if low <= each.level < high
        }
        (quantity,) = quantities.values()
        level = median([each.level for each in own.values()])
        of_level = {number: each.figure for number, each in own.items()}
        rows.append(RowHistory(configuration, of_level, [], None, quantity, level))
    # Those of which nothing is known, such as imported ones.
    rest = {number: found.figure for number, found in figures.items() if not found.at}
    return [*rows, RowHistory(configuration, rest, [], None)] if rest else rows


def level_ranges(levels: Iterable[float]) -> list[tuple[float, float]]:
    """Of these levels of a quantity in different runs, the ranges that are of one state each, from
    the lowest on: each goes up to the next one."""
    found = np.sort([*levels])
    cuts = found[1:][found[1:] > _OTHER_STATE * found[:-1]].tolist()
    return [*pairwise([0.0, *cuts, math.inf])]


def _rows(found: Sequence[RowHistory]) -> list[RowHistory]:
    """The rows in the same order, judged together: of many rows, more would show a change by
    chance."""
    levels = {
        place: Levels(
            [math.log(figure.value) for figure in row.figures.values()],
            [standard_error(*figure) for figure in row.figures.values()],
        )
        for place, row in enumerate(found)
        if len(row.figures) >= FEWEST_RUNS
    }
    steps = dict(zip(levels, changed_series([*levels.values()], _LEVEL), strict=True))
    rows = []
    for place, row in enumerate(found):
        known = levels.get(place)
        changes = _changes(row.configuration, row.figures, steps.get(place, []))
        detectable = None if known is None else math.exp(known.detectable(_LEVEL / len(levels)))
        rows.append(row._replace(changes=changes, detectable=detectable))
    return rows


def _changes(
    configuration: Configuration, figures: Mapping[int, Estimate], steps: Sequence[LevelStep]
) -> list[LevelChange]:
    """The changes of a row, without steps whose factor may be 1."""
    numbers = [*figures]
    values = [figure.value for figure in figures.values()]
    steps = list(steps)
    while True:
        bounds = [0, *(step.first for step in steps), len(numbers)]
        factors = [
            differ(values[start:place], values[place:end])
            for start, place, end in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        unsure = [n for n, each in enumerate(factors) if not each.significant]
        if not unsure:
            break
        # The other steps have other neighbours then.
        del steps[min(unsure, key=lambda n: abs(math.log(factors[n].ratio)))]
    found = []
    for step, factor in zip(steps, factors, strict=True):
        rises = factor.ratio > 1.0
        found.append(
            LevelChange(
                first=numbers[step.first],
                low=numbers[step.low],
                high=numbers[step.high],
                before=numbers[step.low - 1],
                difference=factor,
                direction="faster" if rises is is_bandwidth(configuration) else "slower",
            )
        )
    return found


def _events(runs: Sequence[RunFigures], rows: Sequence[RowHistory]) -> list[Event]:
    every = [(place, change) for place, row in enumerate(rows) for change in row.changes]
    groups: list[list[tuple[int, LevelChange]]] = []
    for each in sorted(every, key=lambda each: (each[1].first, each[1].high)):
        own = next((group for group in groups if _fits(each[1], group)), None)
        if own is None:
            groups.append([each])
        else:
            own.append(each)
    usual = _usual(runs) if groups else set()
    events = (_event(runs, rows, group, usual) for group in groups)
    return sorted(events, key=lambda each: each.first)


def _fits(change: LevelChange, group: Sequence[tuple[int, LevelChange]]) -> bool:
    """Whether a change may have happened between the same two runs as all of a group."""
    before, high = _between([change, *(other for _, other in group)])
    return before < high and all(other.direction == change.direction for _, other in group)


def _between(changes: Sequence[LevelChange]) -> tuple[int, int]:
    """The last run that is before all these changes, and the first that is after all."""
    return max(each.before for each in changes), min(each.high for each in changes)


def _event(
    runs: Sequence[RunFigures],
    rows: Sequence[RowHistory],
    group: Sequence[tuple[int, LevelChange]],
    usual: set[str],
) -> Event:
    found = [change for _, change in group]
    before, high = _between(found)
    firsts = Counter(min(max(each.first, before + 1), high) for each in found)
    differing = changed_doubts(*_doubts_around(runs, rows, group))
    differing += [
        change for change in _differences(runs[before], runs[high]) if change.name not in usual
    ]
    return Event(found[0].direction, before, firsts.most_common(1)[0][0], high, group, differing)


def _doubt(runs: Sequence[RunFigures], row: RowHistory, run: int) -> Doubt | None:
    return doubt_at(runs[run].doubts.get(row.configuration, ()), row.level)


def _doubts_around(
    runs: Sequence[RunFigures],
    rows: Sequence[RowHistory],
    group: Sequence[tuple[int, LevelChange]],
) -> tuple[list[Doubt], list[Doubt]]:
    """The doubts of rows in all runs of the levels before and after their change."""
    before: list[Doubt] = []
    after: list[Doubt] = []
    for place, change in group:
        of, others = rows[place], rows[place].changes
        first = max((each.high for each in others if each.high <= change.before), default=0)
        last = min(
            (each.before for each in others if each.before >= change.high), default=len(runs)
        )
        for number in of.figures:
            doubt = _doubt(runs, of, number)
            if doubt is not None and first <= number <= change.before:
                before.append(doubt)
            elif doubt is not None and change.high <= number <= last:
                after.append(doubt)
    return before, after


def _usual(runs: Sequence[RunFigures]) -> set[str]:
    """The names of what differs between most runs and the next, such as the host of a job."""
    counts = Counter(
        change.name for one, other in pairwise(runs) for change in _differences(one, other)
    )
    most = max(_USUAL_TIMES, _USUAL_SHARE * (len(runs) - 1))
    return {name for name, count in counts.items() if count >= most}


def _differences(before: RunFigures, after: RunFigures) -> list[Change]:
    """What differs between two runs, the core-to-core round trip included."""
    found = environment_changes(before.run, after.run)
    one, other = before.core_to_core_rtt, after.core_to_core_rtt
    if max(one, other) > _MOVED * min(one, other):
        found.append(Change(CORE_TO_CORE, f"{one:.0f} ns", f"{other:.0f} ns"))
    return found
