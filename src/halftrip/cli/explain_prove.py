"""``halftrip explain --prove``: the same curve with another value of what moves its bend."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from rich.console import Console

from halftrip.analysis.bend_causes import (
    BendCauses,
    Candidate,
    CurveCauses,
    candidates,
    moved,
)
from halftrip.analysis.bend_kinds import Prediction
from halftrip.analysis.proof import Outcome, Shown, judge_curves
from halftrip.api import measure
from halftrip.cli.output import in_job
from halftrip.errors import HalftripError, UsageError
from halftrip.plan.around import curve_keys, sizes_around
from halftrip.plan.layers import make_plan, python_layer
from halftrip.plan.plan import Plan
from halftrip.plan.vary import ENVIRONMENT, UNSET
from halftrip.report.progress import ProgressLine
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.results.run_file import default_name, load
from halftrip.results.threshold import Threshold
from halftrip.texts import printable
from halftrip.views.explain import is_variable, state_of
from halftrip.views.proofs import Proven

# The exit status of each outcome.
OUTCOMES: dict[Outcome, int] = {"moved": 0, "stayed": 1, "unknown": 3}
# The other value is so many times the old one; where a place is known vaguely, further away.
_FACTOR, _VAGUE_FACTOR = 2, 4
_VAGUE = 1.5
_ABOUT = 1.4
# Each value is measured in so many launches: of nine, one that something disturbed does not widen
# the interval, as it does of eight or fewer. Each size for so long in one, s, in one slice: the
# launches are the repeats.
_LAUNCHES = 9
_TIME = 0.03
_SLICES = 1


class Move(NamedTuple):
    """The `threshold` that is moved, by the values of its setting, old and new, as they are
    written, and where each predicts the bend."""

    threshold: Threshold
    values: tuple[str, str]
    places: tuple[Prediction, Prediction]

    @property
    def option(self) -> str | None:
        """The key of a plan that moves it; None: an environment variable does."""
        setting = self.threshold.setting
        return setting.lstrip("-").replace("-", "_") if setting.startswith("--") else None

    @property
    def axis(self) -> str:
        """That of `vary` that moves it, where no option does."""
        return f"{ENVIRONMENT}{self.threshold.setting}"

    def value_in(self, configuration: Configuration) -> str | None:
        """The value with which a configuration was measured."""
        if self.option is not None:
            return str(getattr(configuration.tuning, self.option))
        return dict(configuration.variant).get(self.axis)


def prove_by_measuring(
    run: Run, curve: CurveCauses, found: BendCauses, output: str | None
) -> Proven:
    """Measures a curve around a bend, with the likeliest setting at its old value and at another.
    Raises UsageError where nothing can be moved."""
    if run.sources:
        tool = run.sources[0].tool
        raise UsageError(f"--prove: what {tool} has measured cannot be measured again")
    if in_job():
        raise UsageError("--prove: starts ranks of its own; call it outside of a job")
    move = _move(found)
    plan = _plan(run, curve.fit.curve, move)
    path = Path(output or default_name())
    with ProgressLine(Console(stderr=True), hidden=False, quiet=False, seconds=None) as view:
        measure(plan, path, view, sys.argv)
    again = load(path)
    if again.interrupted is not None:
        raise HalftripError(again.interrupted)
    old, new = (
        Shown.of(again, _curve_with(again, curve.fit.curve, move, value)) for value in move.values
    )
    proof, state = judge_curves(old, new, move.places, state_of(curve))
    return Proven(move.threshold, move.values, move.places, proof, str(path), state)


def _move(found: BendCauses) -> Move:
    """What moves the likeliest cause that a variable or an option moves."""
    for candidate in found.candidates:
        setting = candidate.threshold.setting
        if is_variable(setting) or setting.startswith("--"):
            return _move_of(candidate, found)
    if not found.candidates:
        raise UsageError("--prove: nothing that is known of this run has a threshold there")
    names = "; ".join(each.threshold.name for each in found.candidates)
    raise UsageError(
        f"--prove: halftrip cannot move {names}; move it yourself, measure again, and name that "
        "run with --moved"
    )


def _move_of(candidate: Candidate, found: BendCauses) -> Move:
    threshold, place, _ = candidate
    if not threshold.value:
        # It is where the curve bends, and will be where it is said to be.
        low, high = max(found.bend.low, 1), max(found.bend.high, 1)
        value = round(_FACTOR * math.sqrt(low * high))
        places = Prediction(low, high), Prediction(value - threshold.header, value)
        return Move(threshold, (UNSET, str(value)), places)
    is_vague = place.high > _VAGUE * place.low
    factor = _VAGUE_FACTOR if is_vague else _FACTOR
    old, new = (str(round(threshold.value * threshold.scale * each)) for each in (1, factor))
    places = place, moved(candidate, factor)
    if is_vague:
        # Where it is, is known; it moves in proportion, more or less.
        there = Prediction(factor * found.bend.low / _ABOUT, factor * found.bend.high * _ABOUT)
        places = Prediction(found.bend.low, found.bend.high), there
    return Move(threshold, (old, new), places)


def _plan(run: Run, curve: Configuration, move: Move) -> Plan:
    keys = curve_keys(curve, run.header.plan) | {
        "sizes": ",".join(map(str, sizes_around([place[:2] for place in move.places]))),
        "launches": _LAUNCHES,
        "time": _TIME,
        "slices": _SLICES,
        "ci": "none",
        "retest": 0,
    }
    if move.option is not None:
        keys[move.option] = list(move.values)
    else:
        keys["vary"] = keys.get("vary", {}) | {move.axis: list(move.values)}
    return make_plan(python_layer(keys))


def _curve_with(run: Run, curve: Configuration, move: Move, value: str) -> Configuration:
    """The curve that was measured with this value."""
    for each in run.by_configuration:
        if (each.pair, each.thread) == (curve.pair, curve.thread) and move.value_in(each) == value:
            return each.curve
    reasons = [each.reason for each in run.failed_launches]
    reasons += [each.reason for each in run.skips] + [each.reason for each in run.failures]
    said = f": {reasons[0]}" if reasons else ""
    raise HalftripError(f"nothing was measured with {move.threshold.setting}={value}{said}")


def prove_by_run(
    run: Run,
    curve: CurveCauses,
    found: BendCauses,
    path: str,
    other: Run,
    others: Sequence[Configuration],
) -> Proven:
    """Compares a curve with the same one of another run, in the file `path`, in which a threshold
    of the bend has another value; `others` are the curves of that which are selected. Raises
    UsageError where there is no such curve or threshold."""
    own = curve.fit.curve
    # What is varied may be what moves the threshold.
    alike = [each for each in others if _unvaried(each) == _unvaried(own)]
    if not alike and len(others) > 1:
        raise UsageError(f"--moved: {printable(path)} has several such curves; choose by -t, -p")
    there = [(each, found) for each in alike or others for found in candidates(other, each)]
    for threshold, place, _ in found.candidates:
        for theirs, (their_threshold, their_place, _) in there:
            same = their_threshold.name == threshold.name
            if (
                same
                and their_place.multiple == place.multiple
                and their_threshold.value != threshold.value
            ):
                shown, places = state_of(curve), (place, their_place)
                proof, state = judge_curves(
                    Shown(run, own, shown), Shown.of(other, theirs), places, shown
                )
                values = str(threshold.value), str(their_threshold.value)
                return Proven(threshold, values, places, proof, path, state)
    names = "; ".join(each.threshold.name for each in found.candidates) or "nothing that is known"
    raise UsageError(
        f"--moved: in {printable(path)} no threshold of this bend has another value ({names})"
    )


def _unvaried(curve: Configuration) -> Configuration:
    return msgspec.structs.replace(curve, variant=())
