"""What has changed between two runs, row by row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from halftrip.analysis.asked_rows import AskedRows
from halftrip.analysis.common_change import allowing_for_others
from halftrip.analysis.compared_run import ComparedRun, unlike
from halftrip.analysis.like_states import (
    FEWEST_TO_TELL,
    Common,
    MeasuredRow,
    in_common,
    said_elsewhere,
)
from halftrip.analysis.matching import Unknown, partners, unknown_of
from halftrip.analysis.repeats import LeftOut, Repeats, left_out_of, repeats_in
from halftrip.analysis.row_change import Rounds, RowChange, Spread, judged, row_change
from halftrip.errors import UsageError
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.usage import add_both_ends
from halftrip.stats.distributions import adjusted_p_values
from halftrip.stats.median import median

DEFAULT_THRESHOLD = 0.02
# The assumed spread of fresh processes if neither run has several launches and the user gives none:
# a standard deviation, as a share of the time.
ASSUMED_SPREAD = 0.03

# What other programs have of a core moves the median of a rank that spins where it is more.
_MOVES_SPINNING = 0.25

# Which rows of the base have to be in the new run: those that its plan asks for, all, or none.
Needed = Literal["asked", "all", "none"]


class Refused(NamedTuple):
    """A row of both runs that is not compared, and why."""

    configuration: Configuration
    reason: str


class Comparison(NamedTuple):
    """What has changed from `base` to `new`. `rows` are those that both have, in the order of the
    base, each in every state that both have seen; `only_base` and `only_new` those that one of them
    has, and `missing` those of the base that the new one should have. `quantile` is what is
    compared of the times of single messages; None: the median. `unknown` are settings of these rows
    that are not known."""

    base: ComparedRun
    new: ComparedRun
    rows: Sequence[RowChange]
    only_base: Sequence[Configuration]
    only_new: Sequence[Configuration]
    missing: Sequence[Configuration]
    refused: Sequence[Refused]
    spread: Spread
    threshold: float
    quantile: float | None
    unknown: Unknown

    @property
    def imported(self) -> bool:
        """Whether another tool has measured one of them."""
        return bool(self.base.run.sources or self.new.run.sources)

    @property
    def without_interval(self) -> list[RowChange]:
        """The rows of which nothing but a ratio is known."""
        return [row for row in self.rows if not row.difference.is_known]

    def having(self, word: str) -> list[RowChange]:
        """The rows with this word, the largest change first."""
        found = [row for row in self.rows if row.word == word]
        return sorted(found, key=_size, reverse=True)

    @property
    def counts(self) -> Counter[str]:
        """How many rows there are of each word: that of the state in which a row is worst."""
        worst: dict[Configuration, str] = {}
        for row in self.rows:
            found = worst.setdefault(row.configuration, row.word)
            worst[row.configuration] = min(found, row.word, key=_WORST_FIRST.index)
        return Counter(worst.values())


_WORST_FIRST: Sequence[str] = ("slower", "cannot tell", "faster", "same")


def _size(row: RowChange) -> float:
    ratio = row.ratio
    return abs(math.log(ratio)) if 0 < ratio < math.inf else 0.0


def compare(
    base: ComparedRun,
    news: Sequence[ComparedRun],
    threshold: float = DEFAULT_THRESHOLD,
    quantile: float | None = None,
    launch_spread: float | None = None,
    anyway: bool = False,
    needed: Needed = "asked",
    match_unknown: bool = False,
) -> list[Comparison]:
    """What has changed from `base` to each of `news`.

    A row is slower or faster where its times differ by more than the share `threshold`, and neither
    chance explains that they differ, at a level of 5 %, all rows of all runs considered, nor what
    the machine did; it is the same where its 95 % interval lies within the threshold. Of a row
    without an interval nothing but its ratio is known. `launch_spread` is by how much fresh
    processes differ, for rows of one launch each. `anyway`: rows are compared although they were
    measured otherwise, `match_unknown`: also where a setting is known of one run only. `needed` are
    the rows of the base that each of `news` has to have.

    Raises UsageError, which says why, where a run has no row to compare.
    """
    found = [_pairs(base, new, quantile, anyway, match_unknown) for new in news]
    spread = _spread(found, launch_spread)
    changes = [
        _changes(pairs, spread, _rounds(base, new)) for new, pairs in zip(news, found, strict=True)
    ]
    p_values = adjusted_p_values([row.difference.p_value for rows in changes for row in rows])
    comparisons = []
    for new, pairs, rows in zip(news, found, changes, strict=True):
        own, p_values = p_values[: len(rows)], p_values[len(rows) :]
        words = [judged(row, p, threshold, spread) for row, p in zip(rows, own, strict=True)]
        comparisons.append(
            Comparison(
                base,
                new,
                words,
                pairs.only_base,
                pairs.only_new,
                _missing(base, new, pairs.only_base, needed),
                pairs.refused,
                spread,
                threshold,
                quantile,
                pairs.unknown,
            )
        )
    return comparisons


def _changes(pairs: _Pairs, spread: Spread, rounds: Rounds | None) -> list[RowChange]:
    """The rows of two runs, not judged yet."""
    found = [_change(each, spread, rounds) for each in pairs.rows]
    # What is measured in turn has the same machine.
    return found if rounds is not None else allowing_for_others(found)


def _change(pair: _Pair, spread: Spread, rounds: Rounds | None) -> RowChange:
    with_rtt = not pair.is_of_any_state
    found = row_change(pair.configuration, pair.base, pair.new, spread, rounds, with_rtt=with_rtt)
    others = (0.0, 0.0)
    if rounds is None and found.difference.significant:
        base, new = (_taken_by_others(each) for each in pair.measured)
        others = (base, new)
    return found._replace(
        state=pair.state,
        apart=pair.apart,
        hardly=pair.hardly,
        others=others,
        left_out=pair.left_out,
    )


def _taken_by_others(measurements: Sequence[Measurement]) -> float:
    """The share of the core of an end that other programs had; 0 where it is not much. While they
    have less than a quarter of a core, they hardly move the median of a rank that spins."""
    ends = add_both_ends(each.usage for each in measurements) or ()
    return max(
        (
            end.taken_by_others
            for end in ends
            if end.taken_by_others > (_MOVES_SPINNING if end.hardly_sleeps else 0.0)
        ),
        default=0.0,
    )


class _Pair(NamedTuple):
    """The repeats of a row in both runs, in one `state` where there are several; `apart` says which
    ones they were in, where these are not the same, `hardly` which one was hardly seen, and
    `is_of_any_state` that they do not go with it. `left_out` is why launches and slices of either
    do not count, and `measured` are the slices of each."""

    configuration: Configuration
    base: Repeats
    new: Repeats
    state: str
    apart: str
    hardly: str
    is_of_any_state: bool
    left_out: frozenset[LeftOut]
    measured: tuple[Sequence[Measurement], Sequence[Measurement]]

    @property
    def has_intervals(self) -> bool:
        return not any(math.isnan(each.estimate.low) for each in (self.base, self.new))


class _Pairs(NamedTuple):
    """The rows of both runs, with the repeats of each."""

    rows: Sequence[_Pair]
    only_base: Sequence[Configuration]
    only_new: Sequence[Configuration]
    refused: Sequence[Refused]
    unknown: Unknown


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


def _pairs(
    base: ComparedRun,
    new: ComparedRun,
    quantile: float | None,
    anyway: bool,
    match_unknown: bool,
) -> _Pairs:
    """The rows that can be compared. Raises UsageError if there are none."""
    for side in (base, new):
        if not side.rows:
            raise UsageError(f"{side.name}: it has no rows to compare")
    matches = partners(base.rows, new.rows, anyway, match_unknown)

    def refusal(each: Configuration, other: Configuration) -> str:
        one, two = base.statistic(each), new.statistic(other)
        return "" if one == two else f"{base.name} has the {one}, {new.name} the {two}"

    if not matches:
        said = unlike(base.rows, new.rows, refusal)
        raise UsageError(f"{base.name} and {new.name} have no row in common: {said}")
    rows: list[_Pair] = []
    refused: list[Refused] = []
    for each, other in matches.items():
        if not anyway and (reason := refusal(each, other)):
            refused.append(Refused(each, reason))
            continue
        pairs = _by_state(
            MeasuredRow(each, base.rows[each], base.states.of(each)),
            MeasuredRow(other, new.rows[other], new.states.of(other)),
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
        # What halftrip has measured is known; there may be a hundred thousand rows of it.
        unknown_of(matches if base.run.sources or new.run.sources else {}),
    )


def _by_state(base: MeasuredRow, new: MeasuredRow, quantile: float | None) -> list[_Pair]:
    """A row of the base and one of the new run, like with like; without states in which either has
    no interval, unless all are such."""
    found = []
    for common in in_common(base, new):
        first = repeats_in(base, common.base, quantile)
        second = repeats_in(new, common.new, quantile)
        if first is not None and second is not None:
            hardly = _hardly_seen((base, new), common, (first, second))
            if common.is_of_any:
                hardly = said_elsewhere(base, new)
            left_out = left_out_of(base, common.base) | left_out_of(new, common.new)
            found.append(
                _Pair(
                    base.configuration,
                    first,
                    second,
                    common.word,
                    common.said_apart,
                    hardly,
                    common.is_of_any,
                    left_out,
                    (common.base.measurements, common.new.measurements),
                )
            )
    return [pair for pair in found if pair.has_intervals] or found


def _hardly_seen(
    rows: tuple[MeasuredRow, MeasuredRow], common: Common, repeats: tuple[Repeats, Repeats]
) -> str:
    """That one of the runs was hardly in the state that is compared, in words; empty where both
    were, or where there is one only. More launches would not be in it more often."""
    parts = (common.base, common.new)
    for name, row, part, each in zip(("base", "new"), rows, parts, repeats, strict=True):
        every = _launches(row.measurements)
        if part.level is not None and each.launches < min(FEWEST_TO_TELL, every):
            of = "1 launch" if each.launches == 1 else f"{each.launches} launches"
            return f"{name} was {part.word or 'in that state'} in {of} of {every}"
    return ""


def _launches(measurements: Sequence[Measurement]) -> int:
    return len({each.launch for each in measurements})


def _missing(
    base: ComparedRun, new: ComparedRun, lacking: Sequence[Configuration], needed: Needed
) -> list[Configuration]:
    """Those of the rows that only the base has which the new run should have. Of a setting, not
    every row has every value."""
    if needed == "all" or not lacking:
        return [*lacking]
    if needed == "none" or new.by:
        return []
    asked = AskedRows.of(new.run)
    return [each for each in lacking if asked.have(each, base.run)]
