"""What has changed between two runs, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from halftrip.analysis.like_states import Common, MeasuredRow, in_common
from halftrip.analysis.matching import partners
from halftrip.analysis.repeats import Repeats, repeats_in
from halftrip.analysis.row_change import Rounds, RowChange, Spread, judged, row_change
from halftrip.analysis.states import run_states
from halftrip.errors import UsageError
from halftrip.plan.parsing import nearest
from halftrip.plan.settings import ordered
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.distributions import adjusted_p_values
from halftrip.stats.median import median

DEFAULT_THRESHOLD = 0.02
# The assumed spread of fresh processes if neither run has several launches and the user gives none:
# a standard deviation, as a share of the time.
ASSUMED_SPREAD = 0.03

# A quantity that varies within a run by more than this factor, as a level reaches, tells by itself
# what it does to the times.
_WANDERS = 1.38

Rows = Mapping[Configuration, Sequence[Measurement]]


class ComparedRun(NamedTuple):
    """One of the runs that are compared: its name, and its rows by what was measured, whatever
    cores it was measured on. `rounds` has the round of each launch, where both sides were measured
    in turn, round by round."""

    name: str
    run: Run
    rows: Rows
    rounds: Rounds | None = None

    @classmethod
    def of(
        cls, run: Run, name: str, chosen: Callable[[Configuration], bool] = lambda _: True
    ) -> ComparedRun:
        """All rows of a run that are `chosen`."""
        rows = {
            configuration.without_cores: measurements
            for configuration, measurements in run.by_configuration.items()
            if chosen(configuration)
        }
        return cls(name, run, rows)

    def statistic(self, configuration: Configuration) -> str:
        """What the times of a row are: medians of single samples, unless another tool says that
        they are something else."""
        found = self.run.source_of.get(configuration)
        return "median" if found is None else found.statistic


class Refused(NamedTuple):
    """A row of both runs that is not compared, and why."""

    configuration: Configuration
    reason: str


class Comparison(NamedTuple):
    """What has changed from `base` to `new`. `rows` are those that both have, in the order of the
    base; `only_base` and `only_new` those that one of them has. `quantile` is what is compared of
    the times of single messages; None: the median."""

    base: ComparedRun
    new: ComparedRun
    rows: Sequence[RowChange]
    only_base: Sequence[Configuration]
    only_new: Sequence[Configuration]
    refused: Sequence[Refused]
    spread: Spread
    threshold: float
    quantile: float | None

    def having(self, word: str) -> list[RowChange]:
        """The rows with this word, the largest change first."""
        found = [row for row in self.rows if row.word == word]
        return sorted(found, key=_size, reverse=True)


def _size(row: RowChange) -> float:
    ratio = row.difference.ratio
    return abs(math.log(ratio)) if 0 < ratio < math.inf else 0.0


def compare(
    base: ComparedRun,
    news: Sequence[ComparedRun],
    threshold: float = DEFAULT_THRESHOLD,
    quantile: float | None = None,
    launch_spread: float | None = None,
    anyway: bool = False,
) -> list[Comparison]:
    """What has changed from `base` to each of `news`.

    A row is slower or faster where its times differ by more than the share `threshold`, and chance
    does not explain that they differ at a level of 5 %, all rows of all runs considered; it is the
    same where its 95 % interval lies within the threshold. `launch_spread` is by how much fresh
    processes differ, for rows of one launch each. `anyway`: rows are compared although they were
    measured otherwise.

    Raises UsageError, which says why, where a run has no row to compare.
    """
    found = [_pairs(base, new, quantile, anyway) for new in news]
    spread = _spread(found, launch_spread)
    changes = [
        [
            row_change(
                each.configuration,
                each.base,
                each.new,
                spread,
                _rounds(base, new),
                with_rtt=not each.is_of_any_state,
            )._replace(state=each.state, apart=each.apart)
            for each in pairs.rows
        ]
        for new, pairs in zip(news, found, strict=True)
    ]
    p_values = adjusted_p_values([row.difference.p_value for rows in changes for row in rows])
    comparisons = []
    for new, pairs, rows in zip(news, found, changes, strict=True):
        own, p_values = p_values[: len(rows)], p_values[len(rows) :]
        words = [judged(row, p, threshold, spread) for row, p in zip(rows, own, strict=True)]
        if not any(row.difference.is_known for row in words):
            raise UsageError(
                f"{base.name} and {new.name}: no row has an interval in both; measure with several "
                "--slices or --launches, or say --launch-spread"
            )
        comparisons.append(
            Comparison(
                base,
                new,
                words,
                pairs.only_base,
                pairs.only_new,
                pairs.refused,
                spread,
                threshold,
                quantile,
            )
        )
    return comparisons


class _Pair(NamedTuple):
    """The repeats of a row in both runs, in one `state` where there are several; `apart` says which
    ones they were in, where these are not the same, and `is_of_any_state` that they do not go with
    it."""

    configuration: Configuration
    base: Repeats
    new: Repeats
    state: str
    apart: str
    is_of_any_state: bool

    @property
    def has_intervals(self) -> bool:
        return not any(math.isnan(each.estimate.low) for each in (self.base, self.new))


class _Pairs(NamedTuple):
    """The rows of both runs, with the repeats of each."""

    rows: Sequence[_Pair]
    only_base: Sequence[Configuration]
    only_new: Sequence[Configuration]
    refused: Sequence[Refused]


def _rounds(base: ComparedRun, new: ComparedRun) -> Rounds | None:
    """The rounds of both sides; None where they were not measured in turn."""
    if base.rounds is None or new.rounds is None:
        return None
    return {**base.rounds, **new.rounds}


def _spread(found: Sequence[_Pairs], given: float | None) -> Spread:
    if given is not None:
        return Spread(given, "given")
    known = [
        each.spread
        for pairs in found
        for row in pairs.rows
        for each in (row.base, row.new)
        if each.launches > 1 and not math.isnan(each.spread)
    ]
    if known:
        return Spread(median(known), "measured")
    return Spread(ASSUMED_SPREAD, "assumed")


def _pairs(base: ComparedRun, new: ComparedRun, quantile: float | None, anyway: bool) -> _Pairs:
    """The rows that can be compared. Raises UsageError if there are none."""
    for side in (base, new):
        if not side.rows:
            raise UsageError(f"{side.name}: it has no rows to compare")
    matches = partners(base.rows, new.rows, anyway)
    if not matches:
        raise UsageError(f"{base.name} and {new.name} have no row in common: {_unlike(base, new)}")
    states = run_states(base.run), run_states(new.run)
    rows: list[_Pair] = []
    refused: list[Refused] = []
    for each, other in matches.items():
        one, two = base.statistic(each), new.statistic(other)
        if one != two and not anyway:
            reason = f"{base.name} has the {one}, {new.name} the {two}"
            refused.append(Refused(each, reason))
            continue
        pairs = _by_state(
            MeasuredRow(each, base.rows[each], states[0].of(each)),
            MeasuredRow(other, new.rows[other], states[1].of(other)),
            quantile,
        )
        if not pairs:
            reason = "nothing was measured"
            if quantile is not None:
                reason = "its samples are of several messages: single ones are not known"
            refused.append(Refused(each, reason))
        rows += pairs
    if not rows:
        reasons = "; ".join(dict.fromkeys(each.reason for each in refused))
        hint = "" if quantile is not None else "; --anyway compares them"
        raise UsageError(f"{base.name} and {new.name}: {reasons}{hint}")
    matched = set(matches.values())
    return _Pairs(
        rows,
        [each for each in base.rows if each not in matches],
        [each for each in new.rows if each not in matched],
        refused,
    )


def _by_state(base: MeasuredRow, new: MeasuredRow, quantile: float | None) -> list[_Pair]:
    """A row of the base and one of the new run, like with like; without states in which either has
    no interval, unless all are such."""
    found = []
    for common in in_common(base, new):
        first = repeats_in(base, common.base, quantile)
        second = repeats_in(new, common.new, quantile)
        if first is not None and second is not None:
            apart, of_any = _apart(common), common.is_of_any
            found.append(_Pair(base.configuration, first, second, common.word, apart, of_any))
    return [pair for pair in found if pair.has_intervals] or found


def _apart(common: Common) -> str:
    """That both runs were in different states, in words; empty where they were in the same, and
    where the quantity wandered so far that it is allowed for."""
    one, other, quantity = common.base.level, common.new.level, common.base.quantity
    if not common.apart or one is None or other is None or quantity is None:
        return ""
    if max(one.high / one.low, other.high / other.low) > _WANDERS:
        return ""
    return f"{quantity.what} at {quantity.text(one.middle)}, now at {other.middle:.0f}"


def _unlike(base: ComparedRun, new: ComparedRun) -> str:
    """The settings in which two runs differ that have no row in common, in words."""
    one, other = (
        {name: {str(of(each)) for each in side.rows} for name, of in _FIELDS.items()}
        for side in (base, new)
    )
    apart = [name for name in _FIELDS if one[name].isdisjoint(other[name])]
    differences = [f"{name} {_few(one[name])} and {_few(other[name])}" for name in apart]
    hint = "" if {"transport", "size"} & set(apart) else "; --anyway compares them"
    return (", ".join(differences) or "no setting of all is the same") + hint


# The settings that are named first.
_FIRST = ("window", "wait", "memory", "pages", "buffers", "cache")
_FIELDS: Mapping[str, Callable[[Configuration], Any]] = {
    **{name: attrgetter(name) for name in ("transport", "pattern", "mode", "size")},
    **{
        (each.field if each.place == "sockets" else each.name): (
            attrgetter(each.field) if each.place == "sockets" else each.of
        )
        for each in ordered(_FIRST)
    },
    **{name: attrgetter(name) for name in ("pair", "thread", "concurrency", "variant")},
}


def _few(values: set[str]) -> str:
    ordered = sorted(values, key=lambda each: (len(each), each))
    return ", ".join(ordered[:3]) + (" ..." if len(ordered) > 3 else "")


def sides_of(run: Run) -> list[ComparedRun] | None:
    """The base and the new side of a run that was measured against an earlier one in turn; None
    where it was not."""
    if run.sides is None:
        return None
    rounds = run.sides.rounds
    sides = ((f"{run.base_file}, measured again", run.sides.base), ("new", run.sides.new))
    return [ComparedRun.of(side, name)._replace(rounds=rounds) for name, side in sides]


def sides_by(run: Run, name: str, base: ComparedRun) -> list[ComparedRun]:
    """The rows of `base`, one side for each value that tells variants apart by this `name`, in the
    order of the file. Raises UsageError if there are not several."""
    names = dict.fromkeys(key for each in base.rows for key, _ in each.variant)
    if name not in names:
        known = nearest(name, list(names)) if names else "nothing was varied in this run"
        raise UsageError(f"--by: {name!r} was not varied: {known}")
    sides: dict[str, dict[Configuration, Sequence[Measurement]]] = {}
    for each, measurements in base.rows.items():
        variant = dict(each.variant)
        value = variant.pop(name, None)
        if value is not None:
            rest = msgspec.structs.replace(each, variant=tuple(variant.items()))
            sides.setdefault(value, {})[rest] = measurements
    if len(sides) < 2:
        raise UsageError(f"--by: {base.name} has one {name}, {next(iter(sides))}")
    rounds = {launch.number: launch.round for launch in run.launches}
    return [ComparedRun(value, run, rows, rounds or None) for value, rows in sides.items()]
