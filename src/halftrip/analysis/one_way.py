"""How long a message takes there, and how long its reply takes back, by the clocks of both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halftrip.results.block import Block
from halftrip.results.records import ClockComparison, Measurement
from halftrip.results.run import Run
from halftrip.stats.clock_line import ClockLine, Reading
from halftrip.stats.median import FEWEST_FOR_INTERVAL, median
from halftrip.stats.quantile import Floats

# One-way times are known where the error of the clocks is no more than this share of the latency.
LARGEST_SHARE = 0.1
# Each end's timestamps are known as CLOCK_MONOTONIC_RAW to about 50 ns.
_CONVERSION_NS = 100.0
# Of several slices, clocks have to be known well enough in this share.
_FEWEST_SLICES = 0.5
# One way takes longer than the other where it takes this many times as long, in all slices.
_UNEVEN = 1.25


class OneWay(NamedTuple):
    """The median time of a message from the initiator to the responder, and that of its reply, ns.
    The clocks of both ends are known to `error` ns: if one way takes that much longer, the other
    takes that much less. `is_known`: that is little enough for them to mean something.
    `is_uneven`: one way takes longer than the other, beyond the error, in all slices."""

    there: float
    back: float
    error: float
    is_known: bool
    is_uneven: bool


class Clocks:
    """The clocks of all ranks of a run, in all its launches."""

    def __init__(self, run: Run) -> None:
        self._hosts = {(each.launch, each.rank): each.host for each in run.environments}
        self._resolutions = {
            (each.launch, each.rank): each.clock.resolution for each in run.environments
        }
        by_host: dict[tuple[int, int], list[ClockComparison]] = {}
        for each in run.clock_comparisons:
            by_host.setdefault((each.launch, each.rank), []).append(each)
        # Those of ranks on rank 0's host are not among them.
        self._lines: dict[tuple[int, int], ClockLine] = {}
        for (launch, _), compared in by_host.items():
            line = ClockLine(each.comparison for each in compared)
            self._lines |= dict.fromkeys(((launch, rank) for rank in compared[0].ranks), line)

    def ahead(self, launch: int, pair: tuple[int, int], moment: int) -> Reading | None:
        """How far the clock of the second rank of a pair is ahead of that of the first, at a moment
        of the first one's, ns; None where they were not compared."""
        first, second = (self._lines.get((launch, rank)) for rank in pair)
        # Clocks that were not compared are those of rank 0's host, unless a part of the file is
        # lost.
        own = [rank for rank, line in zip(pair, (first, second), strict=True) if line is None]
        if len({self._hosts.get((launch, rank)) for rank in (0, *own)}) > 1:
            return None
        if first is second:
            return Reading(0, self._least_error(launch, pair))
        moment_0 = moment if first is None else _reference_moment(first, moment)
        readings = [
            Reading(0, 0.0) if line is None else line.at(moment_0) for line in (first, second)
        ]
        return Reading(
            readings[1].ahead - readings[0].ahead,
            readings[0].error + readings[1].error + self._least_error(launch, pair),
        )

    def _least_error(self, launch: int, pair: tuple[int, int]) -> float:
        """What reading the clocks of a pair adds to the error, ns."""
        steps = (self._resolutions.get((launch, rank), 0.0) for rank in pair)
        return _CONVERSION_NS + sum(steps)


def _reference_moment(line: ClockLine, moment: int) -> int:
    """When the clock of a line shows `moment`, by the clock that it is compared with."""
    found = line.first
    # Each step is 5,000 times as exact as the one before, or more: see MOST_DRIFT.
    for _ in range(3):
        found = moment - line.at(found).ahead
    return found


def one_way(clocks: Clocks, measurements: Sequence[Measurement], latency: float) -> OneWay | None:
    """The one-way times of a configuration, whose `latency` is ns: the medians over these slices of
    their medians; None where the responder did not say when messages arrived, or the clocks are not
    known at all."""
    found = [each for m in measurements if (each := _of_slice(clocks, m)) is not None]
    if not found:
        return None
    known = [each for each in found if each.error <= LARGEST_SHARE * latency]
    is_known = len(known) >= _FEWEST_SLICES * len(found)
    if not is_known:
        known = found
    there, back = (median([each[end] for each in known]) for end in (0, 1))
    error = max(each.error for each in known) if is_known else median([e.error for e in known])
    return OneWay(there, back, error, is_known, is_known and _is_uneven(known))


class _Slice(NamedTuple):
    there: float
    back: float
    error: float


def _of_slice(clocks: Clocks, measurement: Measurement) -> _Slice | None:
    """The medians of a slice, ns, and the largest error of the clocks in it."""
    pair, launch = measurement.configuration.pair, measurement.launch
    there, back, errors = [], [], []
    for block in measurement.blocks:
        if block.start is None or block.end is None or not block.arrivals.size:
            continue
        readings = [clocks.ahead(launch, pair, moment) for moment in (block.start, block.end)]
        if readings[0] is None or readings[1] is None:
            return None
        times = one_way_times(block, readings[0].ahead, readings[1].ahead)
        there.append(times[0])
        back.append(times[1])
        errors += [readings[0].error, readings[1].error]
    if not there:
        return None
    return _Slice(median(np.concatenate(there)), median(np.concatenate(back)), max(errors))


def one_way_times(block: Block, first: int, last: int) -> tuple[Floats, Floats]:
    """The times of each message there and of its reply back, ns, shape (n,) each, of a block that
    has `arrivals`. The responder's clock is ahead by `first` ns when the first sample begins, and
    by `last` when the last one ends."""
    start, end, peer_start = block.start or 0, block.end or 0, block.peer_start or 0
    moments = np.concatenate(([0.0], np.cumsum(block.times, dtype=np.float64)))
    # The times of samples are by a rate that was calibrated before.
    moments *= (end - start) / max(moments[-1], 1.0)
    drift = (last - first) / max(end - start, 1)
    arrived = float(peer_start - start - first) + np.cumsum(block.arrivals, dtype=np.float64)
    arrived -= drift * moments[:-1]
    return arrived - moments[:-1], moments[1:] - arrived


def _is_uneven(slices: Sequence[_Slice]) -> bool:
    """Whether the same way takes longer in all slices, and by much."""
    if len(slices) < FEWEST_FOR_INTERVAL:
        return False
    there, back = (median([each[end] for each in slices]) for end in (0, 1))
    short, long = sorted((there, back))
    sign = 1.0 if there > back else -1.0
    beyond = all(sign * (each.there - each.back) > 2 * each.error for each in slices)
    return beyond and long >= _UNEVEN * short
