"""What the measurements of a case come to, over its repetitions and launches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from halftrip.model import Case, Delivery, Measurement, add_deliveries, delivered_share
from halftrip.stats.states import State, block_states, states
from halftrip.stats.summary import Summary, summarize
from halftrip.stats.variance import Components, variance_components

Floats = npt.NDArray[np.float64]


def one_way_times(measurement: Measurement) -> Floats:
    """The samples as one-way times of one message, shape (n,), ns, in time order."""
    messages = measurement.exchanges * measurement.case.messages_per_exchange
    return np.asarray(measurement.samples, dtype=np.float64) / messages


def summarize_case(measurements: Sequence[Measurement]) -> Summary:
    """The summary of one case; `measurements` are its repetitions of all launches, at least one, in
    order.

    Where the machine was in several states, it is of the one in which most samples were taken:
    those of others are left out. What got lost does not count, see `over_all_time`.
    """
    case = measurements[0].case
    delivery = add_deliveries(measurement.delivery for measurement in measurements)
    delivered = delivered_share(case, delivery)
    launches: dict[int, list[Floats]] = {}
    for measurement, times in zip(measurements, times_of_main_state(measurements), strict=True):
        if times.size:
            launches.setdefault(measurement.launch, []).append(times)
    summary = summarize(
        list(launches.values()),
        size=case.size,
        first=measurements[0].first / case.messages_per_exchange,
        delivered=delivered,
    )
    if not over_all_time(case, delivery):
        return summary
    sent = sum(len(m.samples) * m.exchanges * case.messages_per_exchange for m in measurements)
    time = sum(sum(m.samples) for m in measurements)
    bandwidth = case.size * delivered * sent / time * 1e9 if time else math.nan
    return summary._replace(bandwidth=bandwidth)


def launch_components(measurements: Sequence[Measurement]) -> Components | None:
    """By how much the launches of a case differ and by how much repetitions of one do, standard
    deviations as shares of the median; None of one launch. A launch of a single repetition has the
    two halves of it in their place."""
    launches: dict[int, list[Floats]] = {}
    for measurement, times in zip(measurements, times_of_main_state(measurements), strict=True):
        if times.size > 1:
            launches.setdefault(measurement.launch, []).append(times)
    if len(launches) < 2:
        return None
    medians = [
        [
            float(np.median(part))
            for part in (parts if len(parts) > 1 else np.array_split(parts[0], 2))
        ]
        for parts in launches.values()
    ]
    usual = float(np.median([np.median(launch) for launch in medians]))
    found = variance_components(medians)
    return Components(found.between / usual, found.within / usual) if usual > 0 else None


def over_all_time(case: Case, delivery: Delivery | None) -> bool:
    """Whether the bandwidth of a case is all that arrived over all the time, not that of the median
    window: at a rate, where a sender that makes up for time it has lost is faster for many a
    window; and where a stream has lost some, since a queue that fills up takes for a while what it
    cannot deliver."""
    return case.rate is not None or (case.is_rate and delivery is not None and delivery.lost > 0)


def line_states(measurements: Sequence[Measurement]) -> list[State]:
    """The states of the machine while these were taken, the fastest first; none where the line is
    not known."""
    return states([probe for m in measurements for probe in line_probes(m)])


def line_probes(measurement: Measurement) -> list[float]:
    """The cache-line round trips before a measurement and after each of its blocks, ns, in order;
    none where the line is not known. Of an old file they are those before and after it."""
    line = measurement.line
    return [] if line is None else [line.before, *(measurement.lines or [line.after])]


def times_by_state(
    measurements: Sequence[Measurement], known: Sequence[State]
) -> list[list[Floats]]:
    """For each of `measurements`, the one-way times, ns, of the blocks that were taken in each of
    the states `known`; those in between are of none."""
    split = []
    for measurement in measurements:
        times = one_way_times(measurement)
        probes = line_probes(measurement)
        if not probes:
            split.append([times, *[times[:0]] * (len(known) - 1)])
            continue
        blocks = np.split(times, np.cumsum(measurement.blocks or [times.size])[:-1])
        numbers = block_states(known, probes)
        split.append(
            [
                np.concatenate(
                    [times[:0], *(b for b, n in zip(blocks, numbers, strict=True) if n == state)]
                )
                for state in range(len(known))
            ]
        )
    return split


def times_of_main_state(measurements: Sequence[Measurement]) -> list[Floats]:
    """For each of `measurements`, the one-way times, ns, of the state in which most samples of all
    of them were taken; all times where there is one state only, or none that can be told."""
    known = line_states(measurements)
    if len(known) < 2:
        return [one_way_times(measurement) for measurement in measurements]
    split = times_by_state(measurements, known)
    counts = [sum(times[state].size for times in split) for state in range(len(known))]
    main = int(np.argmax(counts))
    if counts[main] == 0:
        return [one_way_times(measurement) for measurement in measurements]
    return [times[main] for times in split]
