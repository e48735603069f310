"""What was read beside each slice, and goes with the times of the slices: then it is the cause of a
wide interval, whatever the sum of the row says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from halftrip.analysis.flags.flag import Evidence, Finding, percent, us
from halftrip.analysis.flags.machine import can_move, core_at
from halftrip.results.records import Measurement
from halftrip.results.usage import Usage
from halftrip.stats.association import association
from halftrip.stats.median import median
from halftrip.units import significant

# The share of rows for which chance names any of the quantities.
_LEVEL = 0.05


class Companion(NamedTuple):
    """A quantity read beside each slice: its value for an end (NaN: not known), the `least` by
    which it has to vary to matter, as a factor, or as a difference where it is a share; what is
    said of it, with its `{values}` and the `{core}`; a value as text; and whether times rise with
    it or fall. `of_pair`: both ends have the same."""

    read: Callable[[Measurement, int], float]
    least: float
    phrase: str
    text: Callable[[float], str]
    is_share: bool = False
    rises: bool = True
    of_pair: bool = False

    def varies(self, low: float, high: float) -> bool:
        """Whether it is much higher at `high` than at `low`."""
        return high - low > self.least if self.is_share else high > self.least * low > 0

    def says(self, row: Evidence, end: int, *values: float) -> str:
        """What is said of its lowest and highest value, or of one."""
        texts = " to ".join(dict.fromkeys(map(self.text, values)))
        core = "" if self.of_pair else core_at(row, end)
        return self.phrase.format(values=texts, core=core)


def _usage(share: Callable[[Usage], float | None]) -> Callable[[Measurement, int], float]:
    def read(measurement: Measurement, end: int) -> float:
        usage = measurement.usage
        found = None if usage is None else share(usage[end])
        return math.nan if found is None else found

    return read


def _rtt(measurement: Measurement, _end: int) -> float:
    rtts = measurement.core_to_core_rtts
    return median(rtts) if rtts else math.nan


OTHERS = Companion(
    _usage(lambda usage: usage.others_share),
    0.1,
    "other programs had {values} of {core}",
    percent,
    is_share=True,
)
STEAL = Companion(
    _usage(lambda usage: usage.steal_share),
    0.1,
    "the hypervisor did not run {core} for {values} of the time",
    percent,
    is_share=True,
)
THROTTLED = Companion(
    _usage(lambda usage: usage.throttled_share),
    0.1,
    "a CPU quota stopped the rank on {core} for {values} of the time",
    percent,
    is_share=True,
)
INTERRUPTS = Companion(
    _usage(lambda usage: usage.interrupts_share),
    0.1,
    "interrupts had {values} of {core}",
    percent,
    is_share=True,
)
FREQUENCY = Companion(
    _usage(lambda usage: None if usage.core is None else usage.core.hertz),
    1.05,
    "{core} ran at {values} GHz",
    lambda hertz: significant(hertz / 1e9, 2),
    rises=False,
)
# Probes at one moment differ by as much.
ROUND_TRIP = Companion(
    _rtt,
    1.05,
    "the core-to-core round trip took {values} ns",
    lambda ns: f"{ns:.0f}",
    of_pair=True,
)
COMPANIONS = (OTHERS, STEAL, THROTTLED, INTERRUPTS, FREQUENCY, ROUND_TRIP)


class _Goes(NamedTuple):
    """A quantity that the slices go with, at one end."""

    companion: Companion
    end: int
    share: float
    between: bool
    low: float
    high: float


def _that_go(row: Evidence) -> list[_Goes]:
    """All quantities that the times of the slices go with, those that account for most first."""
    varying = []
    shared = {each.rank for each in row.ranks if each.oversubscribed}
    is_used = all(measurement.usage is not None for measurement, _ in row.counted)
    for companion in COMPANIONS if is_used else (ROUND_TRIP,):
        # Within a state the round trip wanders a little, and it is the only one that was kept to.
        if companion is ROUND_TRIP and row.state is not None:
            continue
        for end in range(1 if companion.of_pair else 2):
            # Where ranks share a core, another rank is what had it.
            if companion is OTHERS and row.configuration.pair[end] in shared:
                continue
            values = [companion.read(measurement, end) for measurement, _ in row.counted]
            known = [value for value in values if not math.isnan(value)]
            if len(known) == len(values) and known and companion.varies(min(known), max(known)):
                varying.append((companion, end, values))
    times = [math.log(max(each.median.median, 1e-9)) for _, each in row.counted]
    launches = [measurement.launch for measurement, _ in row.counted]
    found = []
    for companion, end, values in varying:
        signed = values if companion.rises else [-value for value in values]
        goes = association(signed, launches, times, _LEVEL / len(varying))
        if goes is not None:
            ends = min(values), max(values)
            found.append(_Goes(companion, end, goes.share, goes.between, *ends))
    return sorted(found, key=lambda each: -each.share)


def goes_with(companion: Companion) -> Callable[[Evidence], Finding | None]:
    """The rule that finds that the slices of a row go with a quantity."""

    def find(row: Evidence) -> Finding | None:
        found = [each for each in row.found_by(_that_go) if each.companion is companion]
        if not found:
            return None
        medians = [each.median.median for _, each in row.counted]
        several = len(row.times.by_launch) > 1
        where = " between launches" * found[0].between if several else ""
        where = where or " within launches" * several
        said = " and ".join(companion.says(row, each.end, each.low, each.high) for each in found)
        return Finding(
            f"from {us(min(medians))} to {us(max(medians))}{where}: {said}", found[0].share
        )

    return find


contention = goes_with(OTHERS)
steal = goes_with(STEAL)
quota = goes_with(THROTTLED)
interrupts = goes_with(INTERRUPTS)
frequency = goes_with(FREQUENCY)
with_round_trip = goes_with(ROUND_TRIP)


def moved(row: Evidence) -> Finding | None:
    """The slices go with the round trip between cores, which only those can do that move: on others
    the clock rate changes it."""
    if not any(map(can_move, row.ranks)) or row.found_by(frequency) is not None:
        return None
    return row.found_by(with_round_trip)


def unlike_others(row: Evidence, odd: Sequence[Measurement], others: Sequence[Measurement]) -> str:
    """What was seen beside some slices of a row, and not beside its others; empty where nothing
    was."""
    said = []
    cores = [_cores(row, {each.launch for each in part}) for part in (odd, others)]
    if all(cores) and not cores[0] & cores[1]:
        said.append(f"it ran on cores {_named(cores[0])}, the others on {_named(cores[1])}")
    for companion in COMPANIONS:
        for end in range(1 if companion.of_pair else 2):
            one, rest = (
                np.array([companion.read(each, end) for each in part]) for part in (odd, others)
            )
            if np.isnan(one).any() or np.isnan(rest).any():
                continue
            value, usual = median(one), median(rest)
            pair = (usual, value) if companion.rises else (value, usual)
            if companion.varies(*pair) and companion.varies(*_nearest(rest, companion, value)):
                what = companion.says(row, end, value)
                said.append(f"{what}, in the others {companion.text(usual)}")
    return "; ".join(said)


def _nearest(rest: np.ndarray, companion: Companion, value: float) -> tuple[float, float]:
    """The value of the others that is nearest, and this one, the lower first."""
    return (float(rest.max()), value) if companion.rises else (value, float(rest.min()))


def _cores(row: Evidence, launches: set[int]) -> set[tuple[int, ...]]:
    """The cores of both ends in each of these launches; empty where one is not known."""
    found = set()
    for launch in launches:
        ranks = [each for each in row.ranks if each.launch == launch]
        cores = tuple(each.core for each in sorted(ranks, key=lambda each: each.rank))
        if len(cores) != 2 or None in cores:
            return set()
        found.add(tuple(core for core in cores if core is not None))
    return found


def _named(cores: set[tuple[int, ...]]) -> str:
    return " or ".join(" and ".join(map(str, each)) for each in sorted(cores))
