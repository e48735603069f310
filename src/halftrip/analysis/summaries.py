"""What the measurements of a case come to, over its repetitions and launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halftrip.results.case import Case
from halftrip.results.delivery import Delivery, add_deliveries, delivered_share
from halftrip.results.records import Measurement
from halftrip.results.usage import Usage, add_usages
from halftrip.stats.states import State, block_states, states
from halftrip.stats.summary import Summary, summarize
from halftrip.stats.variance import Components, variance_components

Floats = npt.NDArray[np.float64]


def one_way_times(measurement: Measurement) -> Floats:
    """The samples as one-way times of one message, shape (n,), ns, in time order."""
    messages = measurement.exchanges * measurement.case.messages_per_exchange
    return np.asarray(measurement.samples, dtype=np.float64) / messages


class CaseTimes(NamedTuple):
    """The samples of a case, and in which state of the machine they were taken.

    `times` are the one-way times of each of `measurements`, ns, in time order; `states` those that
    the machine was in meanwhile, and `split` the times of each measurement by these, where there
    are several; `main` the state that the case's summary is of, None where there are no two.
    """

    measurements: Sequence[Measurement]
    times: list[Floats]
    states: list[State]
    split: list[list[Floats]]
    main: int | None

    @property
    def steady(self) -> list[Floats]:
        """The times of each measurement that were taken in the main state; some may be empty."""
        return self.times if self.main is None else [times[self.main] for times in self.split]


def case_times(measurements: Sequence[Measurement]) -> CaseTimes:
    """What `measurements`, the repetitions of a case of all launches, at least one, have to say.

    The main state is the one in which most was measured, where every launch counts alike, however
    many samples it took: the noisier takes more.
    """
    times = [one_way_times(measurement) for measurement in measurements]
    known = line_states(measurements)
    if len(known) < 2:
        return CaseTimes(measurements, times, known, [], None)
    split = times_by_state(measurements, times, known)
    votes: dict[int, Floats] = {}
    for measurement, parts in zip(measurements, split, strict=True):
        counts = np.array([part.size for part in parts], dtype=np.float64)
        votes[measurement.launch] = votes.get(measurement.launch, 0.0) + counts
    shares = [counts / counts.sum() for counts in votes.values() if counts.any()]
    main = int(np.argmax(np.sum(shares, axis=0))) if shares else None
    return CaseTimes(measurements, times, known, split, main)


def summarize_case(measurements: Sequence[Measurement]) -> Summary:
    """The summary of one case; `measurements` are its repetitions of all launches, at least one, in
    order."""
    return summarize_times(case_times(measurements))


def summarize_times(known: CaseTimes) -> Summary:
    """The summary of one case.

    Where the machine was in several states, it is of the main one: what was taken in others is left
    out. What got lost does not count, see `over_all_time`.
    """
    measurements = known.measurements
    case = measurements[0].case
    delivery = add_deliveries(measurement.delivery for measurement in measurements)
    delivered = delivered_share(case, delivery)
    launches: dict[int, list[Floats]] = {}
    for measurement, times in zip(measurements, known.steady, strict=True):
        if times.size:
            launches.setdefault(measurement.launch, []).append(times)
    summary = summarize(
        list(launches.values()),
        size=case.size,
        first=measurements[0].first / case.messages_per_exchange,
        delivered=delivered,
    )
    if len(launches) == 1 and len({measurement.launch for measurement in measurements}) > 1:
        # One of several launches says nothing of the others.
        summary = summary._replace(low=math.nan, high=math.nan)
    if not over_all_time(case, delivery):
        return summary
    sent = sum(len(m.samples) * m.exchanges * case.messages_per_exchange for m in measurements)
    time = sum(sum(m.samples) for m in measurements)
    bandwidth = case.size * delivered * sent / time * 1e9 if time else math.nan
    return summary._replace(bandwidth=bandwidth)


def launch_components(known: CaseTimes) -> Components | None:
    """By how much the launches of a case differ and by how much repetitions of one do, standard
    deviations as shares of the median; None of one launch. A launch of a single repetition has the
    two halves of it in their place."""
    launches: dict[int, list[Floats]] = {}
    for measurement, times in zip(known.measurements, known.steady, strict=True):
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
    none where the line is not known. Of an old file, or one whose blocks and lines do not match,
    they are those before and after it."""
    line = measurement.line
    if line is None:
        return []
    return [line.before, *(measurement.lines if _has_blocks(measurement) else [line.after])]


def _has_blocks(measurement: Measurement) -> bool:
    """Whether it is known which block each line was probed after."""
    return len(measurement.blocks) == len(measurement.lines) > 0


def times_by_state(
    measurements: Sequence[Measurement], all_times: Sequence[Floats], known: Sequence[State]
) -> list[list[Floats]]:
    """For each of `measurements`, whose one-way times are `all_times`, ns, those of the blocks that
    were taken in each of the states `known`; those in between are of none."""
    split = []
    for measurement, times in zip(measurements, all_times, strict=True):
        probes = line_probes(measurement)
        if not probes:
            split.append([times, *[times[:0]] * (len(known) - 1)])
            continue
        ends = measurement.blocks if _has_blocks(measurement) else [times.size]
        blocks = np.split(times, np.cumsum(ends)[:-1])
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


# What the ends of a pair are called, in the order of its ranks.
ENDS = ("initiator", "responder")


def usages(measurements: Iterable[Measurement]) -> tuple[Usage, Usage] | None:
    """What a case has cost its initiator and its responder in all; None where nobody looked."""
    known = [m.usage for m in measurements if m.usage is not None]
    if not known:
        return None
    one, other = (add_usages(those) for those in zip(*known, strict=True))
    return one, other


def cpu_per_gigabyte(case: Case, usage: Usage, delivered: float = 1.0) -> float:
    """CPU time of an end for 10^9 bytes of payload, all ways together, of which the share
    `delivered` arrived, s; NaN where there was none."""
    messages = usage.exchanges * case.messages_per_exchange * case.directions
    payload = messages * case.size * delivered
    return usage.busy / payload * 1e9 if payload else math.nan


def usage_figures(
    case: Case, ends: tuple[Usage, Usage] | None, delivered: float = 1.0
) -> dict[str, Any]:
    """The figures of both ends by names that end in their unit; None where one does not exist."""
    figures: dict[str, Any] = {}
    for name, usage in zip(ENDS, ends or (None, None), strict=True):
        core = usage.core if usage is not None else None
        of_end: dict[str, Any] = {
            "load": usage and usage.load,
            "elapsed_s": usage and usage.elapsed,
            "user_s": usage and usage.user,
            "system_s": usage and usage.system,
            "kernel_share": usage and usage.kernel_share,
            "cpu_s_per_gb": usage and cpu_per_gigabyte(case, usage, delivered),
            "busy_poll": usage and usage.is_busy_poll,
            "voluntary_switches": usage and usage.voluntary,
            "involuntary_switches": usage and usage.involuntary,
            "minor_faults": usage and usage.minor_faults,
            "major_faults": usage and usage.major_faults,
            "peak_memory_bytes": usage and usage.peak_memory,
            "waited_share": usage and usage.waited_share,
            "others_share": usage and usage.others_share,
            "stolen_share": usage and usage.stolen_share,
            "instructions": usage and usage.instructions,
            "cycles": usage and usage.cycles,
            "instructions_per_cycle": usage and usage.instructions_per_cycle,
            "counted": usage and usage.counted,
            "core": core and core.number,
            "culprit": core and core.culprit and core.culprit.name,
            "frequency_hz": core and core.hertz,
            "energy_j": core and core.joules,
        }
        figures |= {
            f"{name}_{figure}": None if value != value else value  # noqa: PLR0124 (NaN)
            for figure, value in of_end.items()
        }
    return figures


# The shortest pause that others are taken to make, ns.
_SHORTEST_PAUSE = 1e6


def count_marked(measurements: Sequence[Measurement]) -> int | None:
    """How many samples are `marked`; None where nothing is known of any."""
    if not any(m.usage or m.preemptions for m in measurements):
        return None
    return sum(int(marked(m).sum()) for m in measurements)


def marked(measurement: Measurement) -> npt.NDArray[np.bool_]:
    """Which samples were taken, as far as can be told, while an end had lost its core to other
    tasks, or to the hypervisor, shape (n,).

    Looking in the midst of a block would be a disturbance of its own. What is known is how often
    each end lost its core in a block: of its samples, which are the longer the more it hits them,
    as many of the longest are marked, if they are longer than the median of all. And it is known
    for how long the ends waited for their cores, and how much was stolen from these, in all: as
    many more of the longest are marked as that explains, if they are longer than the median by as
    much again, or by a millisecond.
    """
    samples = np.asarray(measurement.samples, dtype=np.float64)
    marks = np.zeros(samples.size, dtype=np.bool_)
    if not samples.size:
        return marks
    excess = samples - np.median(samples)
    ends = np.cumsum(measurement.blocks)
    for begin, end, lost in zip((0, *ends[:-1]), ends, measurement.preemptions, strict=False):
        longest = begin + np.argsort(excess[begin:end])[::-1][: sum(lost)]
        marks[longest[excess[longest] > 0]] = True
    pause = min(float(np.median(samples)), _SHORTEST_PAUSE)
    rest = np.flatnonzero(~marks & (excess > 0) & (excess >= pause))
    rest = rest[np.argsort(excess[rest])[::-1]]
    unexplained = _lost_ns(measurement) - excess[marks].sum()
    marks[rest[np.cumsum(excess[rest]) <= unexplained]] = True
    return marks


def _lost_ns(measurement: Measurement) -> float:
    """For how long the ends had no core that they wanted, as far as is known."""
    ends = measurement.usage or ()
    # One that sleeps waits a little whenever it is woken up, which is no loss.
    waited = sum(u.waited or 0.0 for u in ends if u.hardly_sleeps or u.taken_share)
    # The same pause may have hit both.
    stolen = max(((u.stolen_share or 0.0) * u.elapsed for u in ends), default=0.0)
    return (waited + stolen) * 1e9
