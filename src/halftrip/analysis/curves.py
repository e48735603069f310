"""The curves of a run: the times of a message by its size, with all else the same."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.like_states import MeasuredRow, Part
from halftrip.analysis.repeats import Repeats, repeats_in
from halftrip.analysis.states import HostStates, State, run_states
from halftrip.results.configuration import Configuration
from halftrip.results.records import Measurement
from halftrip.results.run import Run
from halftrip.stats.curve_times import CurveTimes, Over
from halftrip.stats.estimate import Estimate
from halftrip.stats.granularity import granularity
from halftrip.stats.levels import goes_with
from halftrip.stats.median import median
from halftrip.stats.quantile import Floats

FEWEST_SIZES = 3
# Of fewer slices it is not told whether they go with a state of the machine.
_FEWEST_FOR_STATES = 8
# In one state a curve has this share of its sizes at least; else it is of all states.
_LEAST_SHARE = 0.25
_LEAST_TIME = 1e-3
# The step of a clock is told from at least this many times, of which at least this share are equal
# to another one.
_FEWEST_FOR_STEP = 20
_EQUAL = 0.5


class MeasuredCurve(NamedTuple):
    """The curve of a run that has `configuration` with a size of 0. `times` is None where it cannot
    be fitted, and `reason` says why, and what to measure. `left_out` are sizes, bytes, that have no
    time above 0.

    Where its times go with the states of the machine, they are those in one `state`, that which it
    was measured in most; `elsewhere` is how many sizes were not measured in it."""

    configuration: Configuration
    times: CurveTimes | None
    left_out: tuple[int, ...] = ()
    reason: str | None = None
    state: State | None = None
    elsewhere: int = 0


# The slices of a curve, by size.
_Slices = dict[int, Sequence[Measurement]]


def curves(run: Run, has: Callable[[Configuration], bool] = lambda _: True) -> list[MeasuredCurve]:
    """The curves of all configurations that `has` selects, in the order of the run; but for those
    with a delay, most of whose time is no message's."""
    found: dict[Configuration, dict[int, tuple[Configuration, Sequence[Measurement]]]] = {}
    for configuration, measurements in run.by_configuration.items():
        if has(configuration) and not configuration.delay:
            of_size = found.setdefault(configuration.curve, {})
            if configuration.size_known:
                of_size[configuration.size] = (configuration, measurements)
    states = run_states(run) if found else None
    return [
        _curve(configuration, of_size, None if states is None else states.of(configuration))
        for configuration, of_size in found.items()
    ]


def _curve(
    configuration: Configuration,
    rows: Mapping[int, tuple[Configuration, Sequence[Measurement]]],
    host: HostStates | None,
) -> MeasuredCurve:
    every = {size: measurements for size, (_, measurements) in rows.items()}
    state, chosen = _in_one_state(host, every)
    of_size = {
        size: repeats_in(MeasuredRow(*rows[size], host=None), Part(None, None, "", some))
        for size, some in chosen.items()
    }
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
    elsewhere = len(every) - len(chosen)
    return MeasuredCurve(configuration, curve_times(usable), left_out, None, state, elsewhere)


def _in_one_state(host: HostStates | None, slices: _Slices) -> tuple[State | None, _Slices]:
    """The state in which most slices of a curve were measured, and these; None and all of them if
    there is one state only, or the curve does not go with it."""
    if host is None or not host.states:
        return None, slices
    held = {id(each): host.held(each).level for some in slices.values() for each in some}
    numbers = [number for number in held.values() if number is not None]
    if not numbers or not _goes_with(host, slices, held):
        return None, slices
    most = Counter(numbers).most_common(1)[0][0]
    inside = {
        size: [each for each in some if held[id(each)] == most] for size, some in slices.items()
    }
    there: _Slices = {size: some for size, some in inside.items() if some}
    # Of few sizes a line says little, in whatever state.
    if _LEAST_SHARE * len(slices) > len(there):
        return None, slices
    return host.states[most], there


def _goes_with(host: HostStates, slices: _Slices, held: Mapping[int, int | None]) -> bool:
    """Whether the times of a curve go with the state: by how far each slice is off those beside it
    in order of size."""
    ordered = [each for _, some in sorted(slices.items()) for each in some if each.is_sampled]
    if len(ordered) < _FEWEST_FOR_STATES:
        return False
    times = np.log([max(median(each.one_way_times), _LEAST_TIME) for each in ordered])
    beside = (times[:-2] + times[2:]) / 2
    middle = ordered[1:-1]
    numbers = [held[id(each)] for each in middle]
    levels = [None if number is None else host.states[number].value for number in numbers]
    off = np.exp(times[1:-1] - beside).tolist()
    return goes_with(levels, [each.launch for each in middle], off)


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
            # In one state of the machine, sizes may have no launches in common.
            return _of_slices(every)
        return [
            np.array([time for number, time in zip(each.numbers, each.values, strict=True)
                      if number in common])
            for each in every
        ], "launches"  # fmt: skip
    return _of_slices(every)


def _of_slices(every: Sequence[Repeats]) -> tuple[list[Floats], Over]:
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
