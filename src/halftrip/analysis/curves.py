"""The curves of a run: the times of a message by its size, with all else the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.repeats import Repeats, repeats
from halftrip.results.configuration import Configuration
from halftrip.results.run import Run
from halftrip.stats.curve_times import CurveTimes, Over
from halftrip.stats.estimate import Estimate
from halftrip.stats.granularity import granularity
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

FEWEST_SIZES = 3
# The step of a clock is told from at least this many times, of which at least this share are equal
# to another one.
_FEWEST_FOR_STEP = 20
_EQUAL = 0.5


class MeasuredCurve(NamedTuple):
    """The curve of a run that has `configuration` with a size of 0. `times` is None where it cannot
    be fitted, and `reason` says why, and what to measure. `left_out` are sizes, bytes, that have no
    time above 0."""

    configuration: Configuration
    times: CurveTimes | None
    left_out: tuple[int, ...] = ()
    reason: str | None = None


def curves(run: Run, has: Callable[[Configuration], bool] = lambda _: True) -> list[MeasuredCurve]:
    """The curves of all configurations that `has` selects, in the order of the run; but for those
    with a delay, most of whose time is no message's."""
    found: dict[Configuration, dict[int, Repeats | None]] = {}
    for configuration, measurements in run.by_configuration.items():
        if has(configuration) and not configuration.delay:
            of_size = found.setdefault(configuration.curve, {})
            if configuration.size_known:
                of_size[configuration.size] = repeats(configuration, measurements)
    return [_curve(configuration, of_size) for configuration, of_size in found.items()]


def _curve(configuration: Configuration, of_size: dict[int, Repeats | None]) -> MeasuredCurve:
    usable = {
        size: each
        for size, each in sorted(of_size.items())
        if each is not None and 0 < each.middle < math.inf
    }
    left_out = tuple(sorted(of_size.keys() - usable.keys()))
    if not configuration.size_known:
        return MeasuredCurve(configuration, None, left_out, "its sizes are not known")
    if len(usable) < FEWEST_SIZES:
        return MeasuredCurve(configuration, None, left_out, _too_few(len(usable), left_out))
    return MeasuredCurve(configuration, curve_times(usable), left_out)


def _too_few(count: int, left_out: Sequence[int]) -> str:
    none = f" ({len(left_out)} more without a time above 0)" if left_out else ""
    sizes = "1 size" if count == 1 else f"{count} sizes"
    return f"{sizes}{none}; a line needs {FEWEST_SIZES} at least: measure more, as with -s 1..4M"


def curve_times(of_size: dict[int, Repeats]) -> CurveTimes:
    """The times of a curve; the median of each size is above 0."""
    every = list(of_size.values())
    times = np.array([each.middle for each in every])
    repeats, over = _repeats(every)
    return CurveTimes(
        sizes=np.array(list(of_size), dtype=np.float64),
        times=times,
        spreads=np.array([_spread(each.estimate) for each in every]),
        repeats=repeats,
        over=over,
        step=_step(every, times),
    )


def _spread(found: Estimate) -> float:
    return (found.high - found.low) / (2 * found.value)


def _repeats(every: Sequence[Repeats]) -> tuple[list[Floats], Over]:
    """The times of each size in the launches that have all sizes, where there are two, else in its
    slices; none where most sizes were measured once."""
    if any(each.launches > 1 for each in every):
        common = set(every[0].numbers).intersection(*(each.numbers for each in every))
        if len(common) < 2:
            return [], "residuals"
        return [
            np.array([time for number, time in zip(each.numbers, each.values, strict=True)
                      if number in common])
            for each in every
        ], "launches"  # fmt: skip
    several = sum(len(each.times) > 1 for each in every)
    if 2 * several <= len(every):
        return [], "residuals"
    return [np.array(each.values) for each in every], "slices"


def _step(every: Iterable[Repeats], times: Floats) -> float:
    """The step that the clock puts times on, ns: that of the samples, or, where most times are
    equal to others, as of a tool that prints whole microseconds, that of their common lattice."""
    known = [time.step for each in every for time in each.times]
    step = median(known)
    if times.size < _FEWEST_FOR_STEP or np.unique(times).size > (1 - _EQUAL) * times.size:
        return step
    return max(step, granularity(times))
