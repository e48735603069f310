"""The max-rate model of a run whose pairs send at the same time.

W. Gropp, L. Olson and P. Samfass, Modeling MPI Communication Performance on SMP Nodes: Is It Time
to Retire the Ping Pong Test (EuroMPI 2016): while k pairs between the same two places each send a
message of n bytes, each takes

    T = alpha + k n / min(R_N, k R_C)

where R_C is what one pair gets by itself, and R_N what all of them can get together, bytes per
second. So with few pairs, T = alpha + n / R_C, and with many, T = alpha + k n / R_N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.results.configuration import Configuration
from halftrip.results.records import Aggregate, Measurement
from halftrip.results.run import Run
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate, LinearFit, difference, inverse, linear_fit
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.median import median

FEWEST_SIZES = 3
# The scatter of a model that describes times as well as they are known; less is no merit.
_LEAST_SCATTER = 0.005
# The factor by which R_C and R_N may disagree with the numbers of pairs that each of them limits.
_SLACK = 1.1


class PairsPoint(NamedTuple):
    """The time of a message of `size` bytes, ns, while `pairs` pairs send."""

    pairs: int
    size: int
    time: Estimate


class MaxRate(NamedTuple):
    """`start` is alpha, ns. `per_pair` is R_C and `together` R_N, bytes per second; either is None
    where it never was the limit. `alone_up_to` is the largest number of pairs that R_C limits, 0
    for none. `misfit` is by which factor a time is surely off the model at most."""

    start: Estimate
    per_pair: Estimate | None
    together: Estimate | None
    alone_up_to: int
    misfit: float


def max_rate(points: Sequence[PairsPoint]) -> MaxRate:
    """The model of these points: at least two numbers of pairs and FEWEST_SIZES sizes, times above
    0.

    Which numbers of pairs R_C limits, and which R_N, is tried for every split; the one whose
    relative residuals are least counts, by Schwarz's criterion (Estimating the Dimension of a
    Model, Annals of Statistics 6, 1978), so that a limit that explains nothing is left out.
    """
    numbers = sorted({point.pairs for point in points})
    found: list[tuple[float, int, LinearFit]] = []
    # If models are equally good, the first counts: one without R_N.
    for last in (*reversed(numbers), 0):
        fit = linear_fit(_factors(points, last, numbers), [point.time for point in points])
        if _agrees(fit, last, numbers):
            found.append((_criterion(fit, len(points)), last, fit))
    if not found:
        raise ValueError("no split of the numbers of pairs is a max-rate model")
    _, last, fit = min(found, key=lambda each: each[0])
    rates = [inverse(1e9, each) for each in fit.parameters[1:]]
    return MaxRate(
        start=fit.parameters[0],
        per_pair=rates[0] if last else None,
        together=rates[-1] if last < numbers[-1] else None,
        alone_up_to=last,
        misfit=max(fit.misfits([point.time for point in points])),
    )


def _factors(points: Sequence[PairsPoint], last: int, numbers: Sequence[int]) -> np.ndarray:
    """What alpha, 1 / R_C and 1 / R_N are multiplied by for each point, if R_C limits up to `last`
    pairs; without one that limits none. Shape (m, 2 or 3)."""
    columns = [[1.0 for _ in points]]
    if last:
        columns.append([float(p.size) if p.pairs <= last else 0.0 for p in points])
    if last < numbers[-1]:
        columns.append([float(p.pairs * p.size) if p.pairs > last else 0.0 for p in points])
    return np.array(columns).T


def _agrees(fit: LinearFit, last: int, numbers: Sequence[int]) -> bool:
    """Whether the rates are above 0, and each surely limits where it is said to."""
    slopes = [each.value for each in fit.parameters[1:]]
    if not min(slopes) > 0:
        return False
    if len(slopes) < 2:
        return True
    # R_N / R_C: with fewer pairs R_C limits, with more R_N.
    turn = slopes[0] / slopes[1]
    after = numbers[numbers.index(last) + 1]
    if not last / _SLACK <= turn <= after * _SLACK:
        return False
    # R_C is surely the limit of the fewest pairs, and R_N of the most.
    _, one, other = fit.parameters
    fewest, most = (other.scaled(number) for number in (numbers[0], numbers[-1]))
    is_known = not math.isnan(one.low + other.low)
    return is_known and difference(one, fewest).low > 0 and difference(most, one).low > 0


def _criterion(fit: LinearFit, count: int) -> float:
    scatter = max(fit.scatter, _LEAST_SCATTER)
    return 2 * count * math.log(scatter) + len(fit.parameters) * math.log(count)


# A command that measures several numbers of pairs.
COMMAND = "halftrip run -n 8 --concurrent-pairs 1,2,4 -s 8,1K,64K,1M"


class MaxRateFit(NamedTuple):
    """The model of one setting, which is a configuration with a size of 0 and without its pair.
    `pairs` are the numbers of pairs that talked at the same time, ascending. `found` is None where
    there is no model, and `reason` says why and what to measure.

    A rate of the model that never was the limit has a bound instead: `together_least` is the least
    that R_N may be, `per_pair_least` the least that R_C may be, bytes per second.
    """

    setting: Configuration
    over: Over | None
    pairs: tuple[int, ...]
    found: MaxRate | None
    together_least: float | None = None
    per_pair_least: float | None = None
    reason: str = ""


def max_rate_fits(
    run: Run, has: Callable[[Configuration], bool] = lambda _: True
) -> list[MaxRateFit]:
    """The model of each setting whose payload goes one way at a time, in the order of the run, of
    the configurations that `has` selects. A round is selected by its first pair."""
    settings: dict[Configuration, _Times] = {}
    for configuration, measurements in run.by_configuration.items():
        times = _times_of(settings, configuration) if has(configuration) else None
        if times is not None and configuration.concurrency == 1:
            for measurement in measurements:
                times.add_alone(measurement)
    counted = {
        (m.configuration, m.launch, m.slice) for each in run.by_configuration.values() for m in each
    }
    for aggregate in run.aggregates:
        chosen = has(aggregate.configuration)
        times = _times_of(settings, aggregate.configuration) if chosen else None
        # One that was measured again counts once.
        key = aggregate.configuration, aggregate.launch, aggregate.slice
        if times is not None and key in counted:
            times.add_aggregate(aggregate)
    return [_fit(setting, times) for setting, times in settings.items()]


class _Times:
    """The times of a message, ns, by the number of pairs, the size, the launch and the slice; of
    several rounds of pairs, one each."""

    def __init__(self) -> None:
        self.by_point: dict[tuple[int, int], dict[tuple[int, int], list[float]]] = {}

    def _add(self, point: tuple[int, int], of: Measurement | Aggregate, time: float) -> None:
        of_slices = self.by_point.setdefault(point, {})
        of_slices.setdefault((of.launch, of.slice), []).append(time)

    def add_alone(self, measurement: Measurement) -> None:
        """Over all of its time, as aggregates are."""
        c = measurement.configuration
        sent = measurement.samples.size * measurement.iterations * c.messages_per_iteration
        if sent and measurement.samples.sum() > 0:
            self._add((1, c.size), measurement, float(measurement.samples.sum()) / sent)

    def add_aggregate(self, aggregate: Aggregate) -> None:
        pairs, messages = len(aggregate.pairs), sum(aggregate.messages)
        if messages > 0 and sum(aggregate.spans) > 0:
            time = pairs * sum(aggregate.spans) / messages
            self._add((pairs, aggregate.configuration.size), aggregate, time)

    @property
    def over(self) -> Over:
        launches = {launch for each in self.by_point.values() for launch, _ in each}
        return "launches" if len(launches) > 1 else "slices"

    def points(self) -> list[PairsPoint]:
        """The points, without those that have no interval."""
        several = self.over == "launches"
        found = []
        for (pairs, size), of_slices in sorted(self.by_point.items()):
            repeats: dict[tuple[int, int], list[float]] = {}
            for (launch, number), times in of_slices.items():
                repeats.setdefault((launch, 0 if several else number), []).append(median(times))
            medians = [SliceMedian(median(times)) for times in repeats.values()]
            bounds = interval(medians)
            if bounds is not None:
                middle = median([each.median for each in medians])
                found.append(PairsPoint(pairs, size, Estimate(middle, *bounds)))
        return found


def _times_of(settings: dict[Configuration, _Times], configuration: Configuration) -> _Times | None:
    """The times of the setting of a configuration; None if the model does not describe it."""
    c = configuration
    if c.directions > 1 or c.delay or c.rate is not None or not c.size_known or not c.size:
        return None
    return settings.setdefault(c.setting.curve, _Times())


def _fit(setting: Configuration, times: _Times) -> MaxRateFit:
    pairs = tuple(sorted({pairs for pairs, _ in times.by_point}))
    lacking = MaxRateFit(setting, None, pairs, None)
    if len(pairs) < 2:
        reason = f"{_pairs(pairs)}, where the model needs several numbers of pairs"
        return lacking._replace(reason=f"{reason}; measure them: {COMMAND}")
    points = times.points()
    numbers = sorted({point.pairs for point in points})
    sizes = {point.size for point in points}
    if len(numbers) < 2:
        return lacking._replace(reason="no intervals; measure several slices or launches")
    if len(sizes) < FEWEST_SIZES:
        return lacking._replace(reason="fewer than three sizes; measure more: -s 8,1K,64K,1M")
    if len(points) < len(numbers) * len(sizes):
        reason = "not every number of pairs has every size, with an interval"
        return lacking._replace(reason=f"{reason}; measure all in one run: {COMMAND}")
    try:
        found = max_rate(points)
    except ValueError:
        reason = "times do not grow with the size and the pairs as the model says"
        return lacking._replace(reason=f"{reason}; measure larger sizes: -s 64K..4M")
    return MaxRateFit(
        setting,
        times.over,
        pairs,
        found,
        together_least=_least(found.together, found.per_pair, numbers[-1]),
        per_pair_least=_least(found.per_pair, found.together, 1 / numbers[0]),
    )


def _least(wanted: Estimate | None, other: Estimate | None, share: float) -> float | None:
    """The lower bound of a rate that never was the limit: `share` times the lower end of the other
    one; None where the rate is known, or the other has no interval."""
    if wanted is not None or other is None or math.isnan(other.low):
        return None
    return share * other.low


def _pairs(pairs: Sequence[int]) -> str:
    if not pairs:
        return "no pair"
    return "one pair at a time" if pairs == (1,) else f"{pairs[0]} pairs at once, always"
