"""Whether a bend has moved with the setting that is said to cause it.

At a size, the *step* of a curve is the mean logarithm of the times of a few sizes just above it
less that of a few just below. A slope or a page is in the steps of both curves; the effect of the
setting is in the step of one. The *jump* of a curve is the step without its slope, the same on both
sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.bend_kinds import Prediction
from halftrip.analysis.curves import curves
from halftrip.analysis.like_states import same_level
from halftrip.analysis.repeats import repeats
from halftrip.analysis.states import HostStates, State, run_states
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.estimate import Estimate, ratio
from halftrip.stats.interval import between_medians
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

Outcome = Literal["moved", "stayed", "unknown"]
# The step of a curve is over so many sizes on either side, which are no further than this factor
# from the place.
_MOST_BESIDE = 3
_FURTHEST = 1.5
# A fit of a jump has three coefficients: jump, slope and level. Two repeats give an interval, if a
# wide one.
_COEFFICIENTS = 3
_FEWEST_REPEATS = 2
# A curve has no step where the times differ by less than this factor: no curve is straighter.
_LEAST_STEP = 1.02
# A bend stays if at least this share of its jump, as a logarithm, does.
_STAYS = 0.5
# A step that is surely smaller is none.
_NO_STEP = 1.05
_QUIET = "measure where nothing else runs"

# The one-way times of a curve by size, bytes, of each launch or slice, ns.
Times = Mapping[int, Sequence[float]]


class Proof(NamedTuple):
    """Whether a bend has moved. Steps are factors of time, with 95 % intervals: the jump with
    the old value (`jump`), and, as ratios of the two curves' steps, how much of it is
    gone from the old place with the new value (`gone`), and how much has come to the new place
    (`come`). `reason` is why it cannot be told."""

    outcome: Outcome
    jump: Estimate | None = None
    gone: Estimate | None = None
    come: Estimate | None = None
    reason: str | None = None


def judge(old: Times, new: Times, old_place: Prediction, new_place: Prediction) -> Proof:
    """Compares a curve that was measured with the old value of a setting, which predicts a bend at
    `old_place`, with one that was measured with another value, which predicts it at `new_place`.

    It has moved if the old curve jumps at the old place, where the new one has not the same step,
    and the new one has a step of the same sign at the new place that the old one has not. It has
    stayed if at least half of the jump at the old place is there with both values, whatever part of
    it the setting makes.
    """
    around = [_around(curve, place) for curve in (old, new) for place in (old_place, new_place)]
    if any(beside is None for beside in around):
        return Proof(
            "unknown", reason="too few sizes, launches or slices around both places: measure more"
        )
    known = [beside for beside in around if beside is not None]
    old_here, old_there, new_here, new_there = (_estimate(beside.step) for beside in known)
    gone, come = ratio(old_here, new_here), ratio(new_there, old_there)
    jump = _estimate(known[0].jump)
    found = Proof("unknown", jump, gone, come)
    sign = _sign(jump)
    if not sign:
        return found._replace(
            reason="no bend: with the old value, the curve makes none there"
            if _is_none(jump)
            else f"with the old value, the curve makes no clear jump there: {_QUIET}"
        )
    if _sign(gone) == sign and _sign(come) == sign:
        return found._replace(outcome="moved")
    # At most so much of it is gone; more of it may have come.
    most = max(sign * math.log(gone.low), sign * math.log(gone.high))
    if most < (1 - _STAYS) * abs(math.log(jump.value)):
        return found._replace(outcome="stayed")
    if _sign(gone) == sign:
        return found._replace(
            reason="it is gone from the old place, and none is at the new one: the setting ends it"
            if _is_none(come)
            else f"it is gone from the old place, and not clearly at the new one: {_QUIET}"
        )
    return found._replace(reason=f"the times vary too much: {_QUIET}")


def _is_none(step: Estimate) -> bool:
    """Whether there is surely no step of any account."""
    return 1 / _NO_STEP < step.low <= step.high < _NO_STEP


def _sign(step: Estimate) -> int:
    """1 for a step up, -1 for one down, 0 for none that is clear."""
    if step.low > 1 and step.value > _LEAST_STEP:
        return 1
    return -1 if step.high < 1 and step.value < 1 / _LEAST_STEP else 0


class _Beside(NamedTuple):
    """A curve beside a place: the logarithms of `sizes`, shape (k,), of which `above`, 0 or 1, says
    which are above it, and of the times of each launch or slice, shape (m, k)."""

    sizes: Floats
    above: Floats
    times: Floats

    @property
    def step(self) -> Floats:
        """Its step in each launch or slice, as a logarithm, shape (m,)."""
        is_above = self.above > 0
        found: Floats = self.times[:, is_above].mean(axis=1) - self.times[:, ~is_above].mean(axis=1)
        return found

    @property
    def jump(self) -> Floats:
        """The same without the slope, by least squares: the step where there are too few sizes to
        tell one from the other."""
        if self.sizes.size <= _COEFFICIENTS:
            return self.step
        columns = np.column_stack([np.ones_like(self.sizes), self.sizes, self.above])
        found: Floats = np.linalg.lstsq(columns, self.times.T, rcond=None)[0][-1]
        return found


def _around(curve: Times, place: Prediction) -> _Beside | None:
    """A curve beside a place; None where too little was measured there."""
    below = sorted(size for size in curve if place.low / _FURTHEST <= size < place.low)
    above = sorted(size for size in curve if place.high < size <= place.high * _FURTHEST)
    sizes = [*below[-_MOST_BESIDE:], *above[:_MOST_BESIDE]]
    repeated = min((len(curve[size]) for size in sizes), default=0)
    if not below or not above or repeated < _FEWEST_REPEATS:
        return None
    times = np.array([curve[size][:repeated] for size in sizes], dtype=np.float64)
    if not np.all(np.isfinite(times)) or times.min() <= 0:
        return None
    is_above = np.array([size > place.high for size in sizes], dtype=np.float64)
    return _Beside(np.log(sizes), is_above, np.log(times).T)


def _estimate(logarithms: Floats) -> Estimate:
    """The median of some logarithms as a factor, with its interval."""
    factors = np.sort(np.exp(logarithms))
    bounds = between_medians(factors)
    return Estimate(median(factors), *(bounds or ()))


class Shown(NamedTuple):
    """A curve of a run, and the state of the machine that it is shown in; None: it is of all."""

    run: Run
    curve: Configuration
    state: State | None

    @classmethod
    def of(cls, run: Run, curve: Configuration) -> Shown:
        found = curves(run, lambda each: each.curve == curve)
        return cls(run, curve, found[0].state if found else None)


def judge_curves(
    old: Shown, new: Shown, places: tuple[Prediction, Prediction], state: State | None = None
) -> tuple[Proof, State | None]:
    """Compares two curves as `judge` does, by their times in one state of the machine, which is the
    second of what is returned: that in which the bend was shown (`state`), or else either of these,
    as far as both were measured in it; None where neither goes with any."""
    told = [each for each in (state, old.state, new.state) if each is not None]
    for like in told:
        before, after = (curve_times(each.run, each.curve, like) for each in (old, new))
        if before and after:
            return judge(before, after, *places), like
    if not told:
        before, after = (curve_times(each.run, each.curve) for each in (old, new))
        return judge(before, after, *places), None
    cores = f"{told[0].quantity.what} {told[0].word} ({told[0].quantity.text(told[0].value)})"
    return Proof("unknown", reason=f"only one of both curves was measured while {cores}"), told[0]


def curve_times(run: Run, curve: Configuration, like: State | None = None) -> Times:
    """The times of a curve of a run: in the state of the machine that is `like` one of this or of
    another run (None: in all)."""
    host = None if like is None else run_states(run).of(curve)
    found = {}
    for configuration, measurements in run.by_configuration.items():
        if configuration.curve == curve:
            some = measurements
            if like is not None and host is not None:
                some = [each for each in measurements if _held(host, each, like)]
            of_size = repeats(configuration, some) if some else None
            if of_size is not None:
                found[configuration.size] = of_size.values
    return found


def _held(host: HostStates, measurement: Measurement, like: State) -> bool:
    """Whether a state like this one held in a slice."""
    number = host.held(measurement).level
    return number is not None and same_level(host.levels[number].middle, like.value)
