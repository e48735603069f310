"""Whether a row has changed between two runs, by how much, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.flags.flag import percent, us
from halftrip.analysis.flags.table import NO_INTERVAL
from halftrip.analysis.repeats import LeftOut, Repeats
from halftrip.results.configuration import Configuration
from halftrip.stats.adjustment import common_exponent
from halftrip.stats.difference import Difference, differ, differ_estimates, differ_paired
from halftrip.stats.distributions import NORMAL_95
from halftrip.stats.estimate import Estimate
from halftrip.stats.median import median

ChangeWord = Literal["slower", "faster", "same", "cannot tell"]

# At most this share of the rows whose adjusted p-values are at or below it differ by chance.
LEVEL = 0.05
# Core-to-core round trips of two runs that differ by no more than this factor are the same.
_SAME_RTT = 1.1
# Of a core, other programs had as much in both runs where their shares are no farther apart.
_AS_BUSY = 0.1
# Launches are at two levels where the largest gap between them is at least this factor, and that
# many times as wide as any other gap.
_LEVEL_GAP = math.log(1.3)
_OF_OTHER_GAPS = 2.0
# A change of the threshold's size is to be found in 80 % of cases: the normal quantile.
_POWER_80 = 0.8416212335729143
_FEWEST_LAUNCHES = 3


class Spread(NamedTuple):
    """By how much fresh processes differ, a standard deviation as a share of the time, and who says
    so: the user, the runs, or nobody."""

    value: float
    source: Literal["given", "measured", "assumed"]

    @property
    def is_given(self) -> bool:
        return self.source == "given"


class RowChange(NamedTuple):
    """A row in two runs. `difference` is the factor from the time of a message in the `base` to
    that in the `new` run; `effect` how often a repeat of the new one takes longer than one of the
    base (0.5: as often as not; Vargha and Delaney's A). `adjusted` is the factor by which the times
    of the base had to be multiplied to be at the core-to-core round trip of the new run (None: they
    were left as they are). `state` is what the state of the machine is called in which both were
    measured, where there are several, `apart` says where it was not the same, and `hardly` that a
    run was hardly in it, so that nothing but that they are the same can be told; so it is where
    `others`, the shares of a core that other programs had in each run (0: not much), are far apart.
    `elsewhere` is the factor by which other paths changed as a whole, where that explains the row's
    own, and `moved` says that a small change of the core-to-core round trip does. `p_adjusted`
    allows for the number of rows. `reason` says why it cannot be told, its figures behind a colon,
    and `launches` how many of each side it would take (None: no number would do)."""

    configuration: Configuration
    base: Repeats
    new: Repeats
    difference: Difference
    effect: float
    times: tuple[float, float]
    adjusted: float | None = None
    state: str = ""
    apart: str = ""
    hardly: str = ""
    others: tuple[float, float] = (0.0, 0.0)
    elsewhere: float | None = None
    moved: str = ""
    p_adjusted: float = 1.0
    word: ChangeWord = "cannot tell"
    reason: str = ""
    launches: int | None = None
    left_out: frozenset[LeftOut] = frozenset()

    @property
    def is_one_launch_each(self) -> bool:
        return self.base.launches == self.new.launches == 1

    @property
    def beside(self) -> str:
        """That other programs ran beside one run alone, in words; empty where they did not."""
        one, other = self.others
        if abs(one - other) <= _AS_BUSY:
            return ""
        had, now = map(share_of_core, self.others)
        return f"other programs ran beside one run alone: they had {had} of a core, now {now}"

    @property
    def cause(self) -> str:
        """The `reason` without its figures, which rows may share."""
        if self.reason and self.reason in (self.apart, self.hardly):
            seen = "seen by one run" if self.reason == self.apart else "hardly seen by one run"
            return f"their state was {seen}"
        return self.reason.partition(": ")[0]

    @property
    def ratio(self) -> float:
        """The factor from the time that is shown of the base to that of the new run. The estimator
        of `difference` is another one, within whose interval this is."""
        base, new = self.times
        low, high = self.difference.low, self.difference.high
        return min(max(new / base, low), high) if base > 0 else self.difference.ratio

    @property
    def factor(self) -> float:
        """How many times as large the figure that is shown is: of a rate, more is better."""
        ratio = self.ratio
        return self._of_arrived / ratio if self.configuration.is_rate else ratio

    @property
    def bounds(self) -> tuple[float, float]:
        """The 95 % interval of `factor`."""
        low, high = self.difference.low, self.difference.high
        if not self.configuration.is_rate:
            return low, high
        return self._of_arrived / high, self._of_arrived / low if low > 0 else math.inf

    @property
    def _of_arrived(self) -> float:
        return self.new.arrived / self.base.arrived if self.base.arrived else math.nan

    @property
    def figures(self) -> tuple[float, float]:
        """The figures of both runs that are shown: one-way times, ns, or bandwidths, bytes per
        second."""
        base, new = (
            self._figure(time, repeats.arrived)
            for time, repeats in zip(self.times, (self.base, self.new), strict=True)
        )
        return base, new

    def _figure(self, time: float, arrived: float) -> float:
        each = self.configuration
        if not each.is_rate:
            return time
        return each.directions * each.payload * arrived / time * 1e9 if time else math.nan


def share_of_core(share: float) -> str:
    """What other programs had of a core, as one of `RowChange.others`."""
    return percent(share) if share else "hardly any"


# The round of each launch, of both sides, whose launches are pairs that were measured together.
Rounds = Mapping[int, int]


def row_change(
    configuration: Configuration,
    base: Repeats,
    new: Repeats,
    spread: Spread,
    rounds: Rounds | None = None,
    with_rtt: bool = True,
) -> RowChange:
    """A row in two runs, not judged yet. Where there is one launch each, fresh processes are taken
    to differ by `spread`; launches of the same of `rounds` are compared with each other. Times may
    go `with_rtt`, the core-to-core round trip, unless it is known that they do not."""

    in_turn = rounds if base.launches > 1 and new.launches > 1 else None

    def difference(base: Repeats, new: Repeats) -> Difference:
        if in_turn is not None:
            return _paired(base, new, in_turn)
        return _difference(base, new, spread)

    shown = base, new
    if with_rtt:
        found, adjusted, shown = _at_same_rtt(base, new, difference)
    else:
        found, adjusted = difference(base, new), None
    reason = ""
    if min(*base.values, *new.values) <= 0:
        reason = "a time is 0: its clock is too coarse"
    levels = _two_levels(base, new)
    if levels is not None:
        reason = f"launches are at two levels: {_at(levels[0])} and {_at(levels[1])}"
    effect, times = _effect(base, new), _shown_times(*shown, in_turn)
    moved = _said_moved(base, new, found)
    return RowChange(
        configuration, base, new, found, effect, times, adjusted, moved=moved, reason=reason
    )


def judged(change: RowChange, p_adjusted: float, threshold: float, spread: Spread) -> RowChange:
    """The row with a word: slower or faster by more than the share `threshold`, where chance does
    not explain it, nor the core-to-core round trip; the same within it; or it cannot be told."""
    most = math.log1p(threshold)
    found = change.difference
    # If launches are at two levels, more of them would be, too.
    launches = None if change.reason else _launches_needed(change, most, spread)
    word: ChangeWord = "cannot tell"
    reason = change.reason
    if not reason and found.is_known:
        low, middle, high = (math.log(each) for each in (found.low, found.ratio, found.high))
        if -most <= low and high <= most:
            word = "same"
        elif elsewhere := _said_elsewhere(change) or change.moved:
            reason, launches = elsewhere, None
        elif p_adjusted <= LEVEL and found.significant and abs(middle) > most:
            word = "slower" if middle > 0 else "faster"
        elif found.significant:
            reason = "it differs, but perhaps by no more than the threshold"
        else:
            reason = "its interval is too wide"
    elif not reason:
        reason, launches = NO_INTERVAL, None
    unlike = change.beside or change.hardly
    if unlike and word != "same":
        word = "cannot tell"
    if word == "cannot tell" and (change.apart or unlike):
        # More launches would not be in the state of the other run, either.
        reason, launches = change.apart or unlike, None
    return change._replace(
        p_adjusted=p_adjusted,
        word=word,
        reason=reason if word == "cannot tell" else "",
        launches=launches if word == "cannot tell" else None,
    )


def _said_elsewhere(change: RowChange) -> str:
    """That other paths changed as much, in words; empty where they did not."""
    if change.elsewhere is None:
        return ""
    return f"other paths changed as much: {change.elsewhere:.3f} times as long"


def _said_moved(base: Repeats, new: Repeats, found: Difference) -> str:
    """That a small difference of the core-to-core round trips, at which `_at_same_rtt` leaves times
    as they are, explains that they differ, in words; empty where it does not. What other paths have
    in common is no more than another way to see the same."""
    one, other = base.rtt, new.rtt
    if not (found.significant and _is_same_rtt(one, other)):
        return ""
    if found.allowing_for(one / other).significant:
        return ""
    return f"the core-to-core round trip changed as much: {one:.3g} ns, now {other:.3g} ns"


def _is_same_rtt(base: float, new: float) -> bool:
    return 0.0 < base <= _SAME_RTT * new and 0.0 < new <= _SAME_RTT * base


def _at_same_rtt(
    base: Repeats, new: Repeats, difference: Callable[[Repeats, Repeats], Difference]
) -> tuple[Difference, float | None, tuple[Repeats, Repeats]]:
    """The `difference` of both at the core-to-core round trip of the new run, as far as that is
    known and matters, the factor that the base was moved by, and both as they were moved.

    How times depend on the round trip is seen within the runs, where it varied there. The interval
    also allows for times that are proportional to it: a round trip is measured with errors, which
    make times seem to depend less on it than they do. Where it did not vary within the runs, it
    also allows for times that have nothing to do with it.
    """
    apart = new.rtt / base.rtt if base.rtt > 0 and new.rtt > 0 else math.nan
    if math.isnan(apart) or _is_same_rtt(base.rtt, new.rtt):
        return difference(base, new), None, (base, new)
    found = common_exponent([(each.rtts, each.values) for each in (base, new)])
    if found is None:
        plain = difference(base, new)
        return plain.allowing_for(1 / apart), None, (base, new)
    exponent, error = found
    low = min(1.0, max(0.0, exponent - error))
    exponent = min(1.0, max(0.0, exponent))
    both = base.moved(exponent, new.rtt), new.moved(exponent, new.rtt)
    moved = difference(*both)
    offsets = [(exponent - each) * math.log(apart) for each in (low, 1.0)]
    return moved.widened(-min(offsets), max(offsets)), apart**exponent, both


def _difference(base: Repeats, new: Repeats, spread: Spread) -> Difference:
    if base.launches == new.launches == 1:
        estimates = [_exact_if(spread.is_given, each.estimate) for each in (base, new)]
        width = NORMAL_95 * math.sqrt(2.0) * spread.value
        return differ_estimates(*estimates).widened(width, width)
    is_single = any(each.launches == 1 and math.isnan(each.estimate.low) for each in (base, new))
    if is_single and not spread.is_given:
        # Nothing tells how far a single figure holds.
        return differ_estimates(base.estimate, new.estimate)
    sides = [[each.middle] if each.launches == 1 else each.values for each in (base, new)]
    if min(map(min, sides)) <= 0:
        return Difference(math.nan, 0.0, math.inf, significant=False)
    return differ(*sides)


def _shown_times(base: Repeats, new: Repeats, rounds: Rounds | None) -> tuple[float, float]:
    """The times that are shown of both: medians, as everywhere, but of pairs, which have their
    difference in common and not their level, geometric means."""
    pairs = [] if rounds is None else _pairs(base, new, rounds)
    if not pairs or min(map(min, pairs)) <= 0:
        return base.middle, new.middle
    before, after = np.exp(np.mean(np.log(pairs), axis=0)).tolist()
    return before, after


def _pairs(base: Repeats, new: Repeats, rounds: Rounds) -> list[tuple[float, float]]:
    """The times of the launches of each round that both have."""
    before, after = (
        {rounds[n]: time for n, time in zip(side.numbers, side.values, strict=True) if n in rounds}
        for side in (base, new)
    )
    return [(before[each], after[each]) for each in before if each in after]


def _paired(base: Repeats, new: Repeats, rounds: Rounds) -> Difference:
    pairs = _pairs(base, new, rounds)
    if not pairs or min(map(min, pairs)) <= 0:
        return Difference(math.nan, 0.0, math.inf, significant=False)
    return differ_paired([two / one for one, two in pairs])


def _exact_if(given: bool, estimate: Estimate) -> Estimate:
    """A figure without an interval as it is, where somebody says how much launches differ."""
    if given and math.isnan(estimate.low):
        return Estimate(estimate.value, estimate.value, estimate.value)
    return estimate


def _effect(base: Repeats, new: Repeats) -> float:
    """How often a repeat of the new run takes longer than one of the base (Vargha and Delaney,
    Journal of Educational and Behavioral Statistics 25, 2000)."""
    one, other = np.array(base.values), np.array(new.values)
    longer = other[:, None] - one[None, :]
    return float(np.mean(longer > 0) + 0.5 * np.mean(longer == 0))


def _two_levels(base: Repeats, new: Repeats) -> tuple[Sequence[float], Sequence[float]] | None:
    """The launches of both runs at each of two levels, if they are, and one run has both: then
    another launch may be at the other level by chance. None where there are no launches."""
    sides = [each.values if each.launches > 1 else [] for each in (base, new)]
    every = sorted(sides[0] + sides[1])
    if len(every) < _FEWEST_LAUNCHES or every[0] <= 0:
        return None
    gaps = np.diff(np.log(every))
    widest = int(np.argmax(gaps))
    others = np.delete(gaps, widest)
    if gaps[widest] < _LEVEL_GAP or gaps[widest] < _OF_OTHER_GAPS * float(others.max()):
        return None
    low, high = every[: widest + 1], every[widest + 1 :]
    if not any(set(side) & set(low) and set(side) & set(high) for side in sides):
        return None
    return low, high


def _at(launches: Sequence[float]) -> str:
    return f"{us(median(list(launches)))} ({len(launches)} of them)"


def _launches_needed(change: RowChange, most: float, spread: Spread) -> int:
    """How many launches of each run a change of the threshold's size takes, to be found in 80 % of
    cases: by the normal approximation of two samples' t test."""
    several = [each.spread for each in (change.base, change.new) if each.launches > 1]
    known = [each for each in several if not math.isnan(each)]
    between = math.sqrt(sum(each**2 for each in known) / len(known)) if known else spread.value
    n = 2.0 * ((NORMAL_95 + _POWER_80) * between / most) ** 2
    # The present number was too few, whatever the approximation says.
    return max(_FEWEST_LAUNCHES, math.ceil(n), change.base.launches + 1, change.new.launches + 1)
