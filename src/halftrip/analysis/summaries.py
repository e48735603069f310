"""What the measurements of a case come to, over its repetitions and launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halftrip.results.case import Case
from halftrip.results.delivery import Delivery, add_deliveries, delivered_share
from halftrip.results.records import Measurement
from halftrip.stats import main_state
from halftrip.stats.main_state import CaseTimes
from halftrip.stats.summary import Summary
from halftrip.stats.variance import Components, variance_components

Floats = npt.NDArray[np.float64]


def case_times(measurements: Sequence[Measurement]) -> CaseTimes:
    """The times of a case; `measurements` are its repetitions of all launches, at least one."""
    return main_state.case_times([measurement.series for measurement in measurements])


def summarize_case(measurements: Sequence[Measurement], known: CaseTimes | None = None) -> Summary:
    """The summary of a case in the main state of the machine; `known` is what `case_times` gave, if
    that has been called. Where `is_over_all_time`, the bandwidth is of all samples."""
    case = measurements[0].case
    delivery = add_deliveries(measurement.delivery for measurement in measurements)
    delivered = delivered_share(case, delivery)
    summary = main_state.summarize_case(
        known or case_times(measurements),
        size=case.size,
        first=measurements[0].first / case.messages_per_exchange,
        delivered=delivered,
    )
    if not is_over_all_time(case, delivery):
        return summary
    sent = sum(m.samples.size * m.exchanges * case.messages_per_exchange for m in measurements)
    time = sum(int(m.samples.sum()) for m in measurements)
    bandwidth = case.size * delivered * sent / time * 1e9 if time else math.nan
    return summary._replace(bandwidth=bandwidth)


def is_over_all_time(case: Case, delivery: Delivery | None) -> bool:
    """Whether the bandwidth of a case is all bytes that arrived over all the time, not that of the
    median window: where there is a rate, since a sender that makes up for lost time is faster in
    many windows; and where a stream has lost datagrams, since a queue that fills up accepts for a
    while what it cannot deliver."""
    return case.rate is not None or (case.is_rate and delivery is not None and delivery.lost > 0)


def launch_components(known: CaseTimes) -> Components | None:
    """The standard deviations between the launches of a case and between repetitions of one, as
    shares of the median; None of one launch. Where a launch has one repetition, its two halves
    stand for repetitions."""
    launches = [
        [times for times in repetitions if times.size > 1]
        for repetitions in known.by_launch.values()
    ]
    launches = [repetitions for repetitions in launches if repetitions]
    if len(launches) < 2:
        return None
    medians = [
        [
            float(np.median(part))
            for part in (parts if len(parts) > 1 else np.array_split(parts[0], 2))
        ]
        for parts in launches
    ]
    usual = float(np.median([np.median(launch) for launch in medians]))
    found = variance_components(medians)
    return Components(found.between / usual, found.within / usual) if usual > 0 else None
