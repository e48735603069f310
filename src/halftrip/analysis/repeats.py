"""The repeats of a row, which show how it would vary if all were measured again: the times of its
launches, or of the slices of a single launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from halftrip.analysis.like_states import MeasuredRow, Part
from halftrip.analysis.summaries import is_over_all_time, stated_estimate
from halftrip.results.configuration import Configuration
from halftrip.results.counts import delivered_share
from halftrip.results.records import Measurement
from halftrip.stats.estimate import Estimate
from halftrip.stats.interval import SliceMedian, interval, of_launch
from halftrip.stats.median import median, median_if_known
from halftrip.stats.quantile import quantile_of_ordered
from halftrip.stats.summary import SliceTimes


class Repeats(NamedTuple):
    """The one-way times of a message of a row, ns: of each launch where there are several
    `launches`, else of each slice; and the core-to-core round trip in each, ns (NaN: not known).

    `numbers` are those of the launches. `arrived` is the share of the messages that arrived.
    `stated` is the interval of a single figure that its source states, if it does.
    """

    numbers: Sequence[int]
    times: Sequence[SliceMedian]
    rtts: Sequence[float]
    arrived: float
    stated: Estimate | None = None

    @property
    def launches(self) -> int:
        return len(self.numbers)

    @property
    def estimate(self) -> Estimate:
        """The median of the times, with its 95 % interval, if there is one."""
        bounds = interval(self.times)
        return self.stated or Estimate(self.middle, *(bounds or ()))

    @property
    def middle(self) -> float:
        return median(self.values)

    @property
    def values(self) -> list[float]:
        return [each.median for each in self.times]

    @property
    def rtt(self) -> float:
        """The median core-to-core round trip, ns; NaN where that of any time is not known."""
        return median_if_known(self.rtts)

    @property
    def spread(self) -> float:
        """The standard deviation of the logarithms of the times; NaN of a single one."""
        if len(self.times) < 2 or min(self.values) <= 0:
            return math.nan
        logarithms = [math.log(value) for value in self.values]
        mean = sum(logarithms) / len(logarithms)
        square = sum((each - mean) ** 2 for each in logarithms)
        return math.sqrt(square / (len(logarithms) - 1))

    def moved(self, exponent: float, rtt: float) -> Repeats:
        """The same at a core-to-core round trip of `rtt` ns, if a round trip that is 1 % longer
        goes with times that are `exponent` % longer."""
        factors = [(rtt / each) ** exponent for each in self.rtts]
        moved = [
            SliceMedian(time.median * factor, time.half_width * factor, time.step * factor)
            for time, factor in zip(self.times, factors, strict=True)
        ]
        return self._replace(times=moved)


def repeats(configuration: Configuration, measurements: Sequence[Measurement]) -> Repeats | None:
    """The repeats of a row, whatever state the machine was in; see `repeats_in`."""
    row = MeasuredRow(configuration, measurements, None)
    return repeats_in(row, row.whole)


def repeats_in(row: MeasuredRow, part: Part, quantile: float | None = None) -> Repeats | None:
    """The repeats of a row in a part of its slices. As in its summary, slices of a path that was
    still warming up do not count. With `quantile`, 0 < quantile < 1, times are this quantile of
    single messages and not their median. None where nothing was measured, and of a quantile where
    samples are of several messages."""
    configuration, measurements = row.configuration, part.measurements
    times, delivery = row.times_of(part), part.delivery
    over_all_time = is_over_all_time(configuration, delivery)
    single = all(each.iterations == 1 and each.reported is None for each in measurements)
    if quantile is not None and (over_all_time or not single or configuration.is_rate):
        return None
    sampled = [each for each in measurements if each.is_sampled]
    launches: dict[int, list[tuple[SliceMedian, float]]] = {}
    every = zip(sampled, times.launches, times.slices, times.counted, strict=True)
    for measurement, launch, of_slice, counts in every:
        if counts:
            time = of_slice.median
            if over_all_time:
                time = SliceMedian(_time_over_all(measurement))
            elif quantile is not None:
                time = _quantile(of_slice, quantile)
            launches.setdefault(launch, []).append((time, of_slice.rtt))
    if not launches:
        return None
    found = next(iter(launches.values()))
    if len(launches) > 1:
        found = [
            (of_launch([time for time, _ in each]), median_if_known([rtt for _, rtt in each]))
            for each in launches.values()
        ]
    reported = [each.reported for each in measurements if each.reported is not None]
    stated = stated_estimate(found[0][0].median, reported)
    return Repeats(
        list(launches),
        [time for time, _ in found],
        [rtt for _, rtt in found],
        delivered_share(configuration, delivery),
        None if math.isnan(stated.low) else stated,
    )


def _time_over_all(measurement: Measurement) -> float:
    """The time for each message that arrived, over all of a slice; infinite where none did."""
    configuration = measurement.configuration
    sent = measurement.samples.size * measurement.iterations * configuration.messages_per_iteration
    arrived = sent * delivered_share(configuration, measurement.delivery)
    return float(measurement.samples.sum()) / arrived if arrived else math.inf


def _quantile(of_slice: SliceTimes, quantile: float) -> SliceMedian:
    return SliceMedian(quantile_of_ordered(np.sort(of_slice.times), quantile))


# Why launches or slices of a row do not count.
LeftOut = Literal[
    "launches in another state",
    "launches that were cut short",
    "launches without samples",
    "slices in which the state changed",
    "slices while the path was still warming up",
]


def left_out_of(row: MeasuredRow, part: Part) -> frozenset[LeftOut]:
    """Why launches or slices of a row are not among the repeats of a part of it."""
    times, host = row.times_of(part), row.host
    sampled = {each.launch for each in row.times.recorded}
    found: set[LeftOut] = set()
    if {each.launch for each in row.measurements} - sampled:
        found.add("launches without samples")
    if row.times.cut_short:
        found.add("launches that were cut short")
    if sampled - row.times.cut_short - {each.launch for each in times.recorded}:
        found.add("launches in another state")
    if host is not None and any(host.held(each).changed for each in part.left):
        found.add("slices in which the state changed")
    counted = zip(times.launches, times.counted, strict=True)
    if any(not counts and launch not in times.cut_short for launch, counts in counted):
        found.add("slices while the path was still warming up")
    return frozenset(found)
