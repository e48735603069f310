"""The max-rate model of a run whose pairs talked at the same time (`stats.max_rate`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from halftrip.results.configuration import Configuration
from halftrip.results.records import Aggregate, Measurement
from halftrip.results.run import Run
from halftrip.stats import max_rate
from halftrip.stats.curve_times import Over
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval
from halftrip.stats.max_rate import FEWEST_SIZES, MaxRate, Point
from halftrip.stats.median import median

# What measures several numbers of pairs.
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
    the configurations that `has` selects: a round of pairs by its first."""
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

    def points(self) -> list[Point]:
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
                found.append(Point(pairs, size, Estimate(middle, *bounds)))
        return found


def _times_of(settings: dict[Configuration, _Times], configuration: Configuration) -> _Times | None:
    """The times of the setting of a configuration; None of one that the model does not describe."""
    c = configuration
    if c.directions > 1 or c.delay or c.rate is not None or not c.size_known or not c.size:
        return None
    return settings.setdefault(c.setting.curve, _Times())


def _fit(setting: Configuration, times: _Times) -> MaxRateFit:
    pairs = tuple(sorted({pairs for pairs, _ in times.by_point}))
    lacking = MaxRateFit(setting, None, pairs, None)
    if len(pairs) < 2:
        said = f"{_pairs(pairs)}, where the model needs several numbers of pairs"
        return lacking._replace(reason=f"{said}; measure them: {COMMAND}")
    points = times.points()
    numbers = sorted({point.pairs for point in points})
    sizes = {point.size for point in points}
    if len(numbers) < 2:
        return lacking._replace(reason="no intervals; measure several slices or launches")
    if len(sizes) < FEWEST_SIZES:
        return lacking._replace(reason="fewer than three sizes; measure more: -s 8,1K,64K,1M")
    if len(points) < len(numbers) * len(sizes):
        said = "not every number of pairs has every size, with an interval"
        return lacking._replace(reason=f"{said}; measure all in one run: {COMMAND}")
    try:
        found = max_rate.max_rate(points)
    except ValueError:
        said = "times do not grow with the size and the pairs as the model says"
        return lacking._replace(reason=f"{said}; measure larger sizes: -s 64K..4M")
    return MaxRateFit(
        setting,
        times.over,
        pairs,
        found,
        together_least=_least(found.together, found.per_pair, numbers[-1]),
        per_pair_least=_least(found.per_pair, found.together, 1 / numbers[0]),
    )


def _least(wanted: Estimate | None, other: Estimate | None, share: float) -> float | None:
    """The least that a rate may be that never was the limit: that many times the other; None where
    it is known, or where the other has no bound."""
    if wanted is not None or other is None or math.isnan(other.low):
        return None
    return share * other.low


def _pairs(pairs: Sequence[int]) -> str:
    if not pairs:
        return "no pair"
    return "one pair at a time" if pairs == (1,) else f"{pairs[0]} pairs at once, always"
