"""The summary of a case over its slices and launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from halftrip.results.case import Case
from halftrip.results.delivery import Delivery, add_deliveries, delivered_share
from halftrip.results.records import Measurement
from halftrip.stats import series
from halftrip.stats.median import median
from halftrip.stats.series import CaseTimes
from halftrip.stats.summary import Summary
from halftrip.stats.variance import Components, variance_components


def case_times(measurements: Sequence[Measurement]) -> CaseTimes:
    """The times of a case; `measurements` are its slices of all launches, at least one."""
    messages = measurements[0].case.messages_per_exchange
    # Samples are whole nanoseconds.
    unit = 1.0 / (messages * max(measurement.exchanges for measurement in measurements))
    return series.case_times([measurement.series for measurement in measurements], unit)


def summarize_case(measurements: Sequence[Measurement], times: CaseTimes | None = None) -> Summary:
    """The summary of a case over the slices that count; `times` is the result of `case_times`, if
    it is known already. Where `is_over_all_time`, the bandwidth is of all samples."""
    case = measurements[0].case
    delivery = add_deliveries(measurement.delivery for measurement in measurements)
    delivered = delivered_share(case, delivery)
    summary = series.summarize_case(
        times or case_times(measurements),
        size=case.size,
        first=measurements[0].first / case.messages_per_exchange,
        delivered=delivered,
        single=all(measurement.exchanges == 1 for measurement in measurements),
    )
    if not is_over_all_time(case, delivery):
        return summary
    sent = sum(m.samples.size * m.exchanges * case.messages_per_exchange for m in measurements)
    elapsed = sum(int(m.samples.sum()) for m in measurements)
    bandwidth = case.size * delivered * sent / elapsed * 1e9 if elapsed else math.nan
    return summary._replace(bandwidth=bandwidth)


def is_over_all_time(case: Case, delivery: Delivery | None) -> bool:
    """Whether the bandwidth of a case is all bytes that arrived over all the time, and not that of
    the median window. It is so at a rate, where a sender that makes up for lost time is faster in
    many windows; and in a stream that lost datagrams, where a queue that fills up accepts for a
    while what it cannot deliver."""
    return case.rate is not None or (case.is_rate and delivery is not None and delivery.lost > 0)


def launch_components(times: CaseTimes) -> Components | None:
    """The standard deviations between the launches of a case and between slices of one, as
    shares of the median; None with fewer than two launches. Where a launch has one slice, its
    two halves stand for slices."""
    launches = [
        [each.times for each in slices if each.times.size > 1]
        for slices in times.by_launch.values()
    ]
    launches = [slices for slices in launches if slices]
    if len(launches) < 2:
        return None
    medians = [
        [median(part) for part in (parts if len(parts) > 1 else np.array_split(parts[0], 2))]
        for parts in launches
    ]
    latency = median([median(launch) for launch in medians])
    components = variance_components(medians)
    if not latency > 0:
        return None
    return Components(components.between / latency, components.within / latency)
